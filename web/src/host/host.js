// Everything that depends on whether the page comes from a server or from a single file. The build
// of the single file replaces this module with `web/oneFile/host.js`.

import { keepFiles, keepOffline } from './keepOffline.js';

/** @typedef {import('attn').LoadOptions & { training?: boolean, models?: boolean }} ModuleOptions */

const files = {
  'model.safetensors': () => new URL('../../languageModel/model.safetensors', import.meta.url),
  'tokenizer.json': () => new URL('../../languageModel/tokenizer.json', import.meta.url),
};

export const host = {
  /**
   * Reads a file of the language model.
   * @param {keyof typeof files} name
   * @returns {Promise<Response>}
   */
  async read(name) {
    const response = await fetch(files[name]());
    if (!response.ok) throw new Error(`the server returned ${response.status}`);
    return response;
  },

  /**
   * Fetches the page as a single file, with or without the language model.
   * @param {boolean} withModel
   */
  async template(withModel) {
    const response = await fetch(withModel ? './attn.html' : './figure.html');
    return response.ok ? response.text() : '';
  },

  /** Returns the address from which readers can save the language model, once it is loaded. */
  modelAddress: () => files['model.safetensors']().href,

  /**
   * Completes the options for loading a WebAssembly module.
   * @param {ModuleOptions} options
   * @returns {ModuleOptions | Promise<ModuleOptions>}
   */
  module: (options) => options,

  /** @returns {Worker | Promise<Worker>} */
  startWorker: () => new Worker(new URL('../work/worker.js', import.meta.url), { type: 'module' }),

  /**
   * The hub from which readers can open models by name, or null if this page does not offer that.
   * @type {{ address: string } | null}
   */
  hub: /** @type {any} */ (globalThis).__HUB__ ?? null,
  /** Tells readers why there is no hub. Empty if there is nothing to explain. */
  whyNoHub: '',

  keepOffline,
  keepFiles,

  /** Returns the page's address without its fragment, as pictures and programs name it. */
  address: () => location.href.replace(/#.*/, ''),

  /** Messages to the reader. */
  copied: { link: 'link copied', embedCode: 'embed code copied' },

  /** True if the pages that this page links to are next to it. @type {boolean} */
  hasOtherPages: true,
};
