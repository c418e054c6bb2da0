// Replaces `src/host/host.js` in the single file, which contains all parts of the page. The page
// makes no request, because browsers do not let a page from the disk fetch other files.

import { singleFile } from '../src/texts/openModel.js';
import { saving as texts } from '../src/texts/frame.js';
import { readPart, withoutModel } from './parts.js';

/** True if this file was opened from the disk, false if a server sent it. */
const onDisk = location.protocol === 'file:';

/** The address of the language model, once it has been read. */
let model = '';

/**
 * Reads a part of this file. Files without the language model lack some parts.
 * @param {string} name
 */
function partOf(name) {
  if (!document.getElementById(`part:${name}`)) throw new Error(texts.lacks(name));
  return readPart(name);
}

/** @type {typeof import('../src/host/host.js').host} */
export const host = {
  async read(name) {
    const content = await partOf(name).blob();
    if (name === 'model.safetensors') model ||= URL.createObjectURL(content);
    return new Response(content);
  },

  async template(withModel) {
    const file = /** @type {any} */ (globalThis).__FILE__;
    return withModel ? file : withoutModel(file);
  },

  modelAddress: () => model,

  async module({ variant = 'simd128', ...options }) {
    if (variant !== 'simd128') {
      throw new Error(
        `this file does not contain the variant ${variant}; open the page from a web server to measure it`,
      );
    }
    const flavour = options.training ? 'training' : options.models ? 'models' : 'attn';
    return { ...options, variant, wasm: await partOf(`${flavour}.wasm`).arrayBuffer() };
  },

  async startWorker() {
    const script = await readPart('worker.js').text();
    const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
    const worker = new Worker(address);
    worker.addEventListener('message', () => URL.revokeObjectURL(address), { once: true });
    return worker;
  },

  hub: null,
  whyNoHub: singleFile,

  keepOffline: () => Promise.resolve(),
  keepFiles: () => Promise.resolve(),

  // For a file on the disk, returns only its name, because its folders exist only on this computer.
  address: () =>
    onDisk ? location.pathname.replace(/.*\//, '') : location.href.replace(/#.*/, ''),

  copied: {
    link: onDisk ? 'link copied; it opens this file on this computer' : 'link copied',
    embedCode: onDisk
      ? 'embed code copied; put this file next to the page that embeds it'
      : 'embed code copied',
  },

  hasOtherPages: false,
};
