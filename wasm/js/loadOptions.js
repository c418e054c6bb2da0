/** @import { LoadOptions } from './loader.js' */
/** @import { Names } from './options.js' */

/** @type {Names<LoadOptions>} */
export const kLoadOptions = {
  variant: true,
  threads: true,
  training: true,
  models: true,
  wasmUrl: true,
  wasm: true,
  signal: true,
};
