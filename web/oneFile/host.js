// The page in a single file reads its parts from that file. It makes no request: browsers do not
// let a page that was opened from a file fetch others.

import { readPart } from './parts.js';

/** @type {Promise<string> | undefined} */
let model;

/** @type {typeof import('../src/host/host.js').host} */
export const host = {
  read: (name) => Promise.resolve(readPart(name)),

  modelAddress: () =>
    (model ??= readPart('model.safetensors')
      .blob()
      .then((blob) => URL.createObjectURL(blob))),

  async module({ variant = 'simd128', ...options }) {
    if (variant !== 'simd128') {
      throw new Error(
        `this file does not contain the variant ${variant}; open the page from a web server to measure it`,
      );
    }
    const flavour = options.training ? 'training' : options.models ? 'models' : 'attn';
    return { ...options, variant, wasm: await readPart(`${flavour}.wasm`).arrayBuffer() };
  },

  async startWorker() {
    const script = await readPart('worker.js').text();
    const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
    const worker = new Worker(address);
    worker.addEventListener('message', () => URL.revokeObjectURL(address), { once: true });
    return worker;
  },

  keepOffline: () => Promise.resolve(),
  keepFiles: () => Promise.resolve(),

  // Only the name of the file, because its folders mean nothing to other people.
  address: () => decodeURIComponent(location.pathname.replace(/.*\//, '')),

  linkCopied: 'link copied; it opens this file on this computer',

  references: () => '',
};
