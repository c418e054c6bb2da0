import { here } from './here.js';

/** Loads the language model into the worker for later tasks. */
export const languageTask = {
  name: /** @type {const} */ ('language'),
  reads: [],
  /** @param {import('attn').Attn} attn @param {Uint8Array} bytes contents of its file */
  run: async (attn, bytes) => {
    const [{ LanguageModel }, { Pages }] = await Promise.all([
      import('../../models/language/languageModel.js'),
      import('../../models/language/pages.js'),
    ]);
    here.pages = new Pages(attn, new LanguageModel(attn, bytes));
  },
};
