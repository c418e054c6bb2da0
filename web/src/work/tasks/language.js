/** Loads the language model into the worker for later tasks. */
export const languageTask = {
  name: /** @type {const} */ ('language'),
  reads: [],
  /** @param {import('attn').Attn} attn @param {Uint8Array} bytes contents of its file */
  run: async (attn, bytes) => {
    const { LanguageModel } = await import('../../models/language/languageModel.js');
    here.model = new LanguageModel(attn, bytes);
  },
};

/**
 * The models in this worker: the page's or the reader's.
 * @type {{
 *   model: import('../../models/language/languageModel.js').LanguageModel | null,
 *   own: import('../../models/own/ownServer.js').OwnModel | null,
 * }}
 */
export const here = { model: null, own: null };
