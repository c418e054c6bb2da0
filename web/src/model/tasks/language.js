/** Takes the language model into the worker, for tasks that come later. */
export const languageTask = {
  name: /** @type {const} */ ('language'),
  reads: [],
  /** @param {import('attn').Attn} attn @param {Uint8Array} bytes of its file */
  run: async (attn, bytes) => {
    const { LanguageModel } = await import('../language/languageModel.js');
    here.model = new LanguageModel(attn, bytes);
  },
};

/** The model in this worker. @type {{ model: import('../language/languageModel.js').LanguageModel | null }} */
export const here = { model: null };
