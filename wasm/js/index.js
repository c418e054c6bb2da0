/** @packageDocumentation Self-attention and positional encoding: a C++ core as WebAssembly. */

export { AttnError } from './errors.js';
export { load } from './loader.js';
export { Attn } from './attn.js';

/** @typedef {import('./errors.js').AttnErrorCode} AttnErrorCode */
/** @typedef {import('./loader.js').LoadOptions} LoadOptions */
