/** @packageDocumentation Self-attention and positional encoding: a C++ core as WebAssembly. */

export { Attn } from './attn.js';
export { AttnError } from './errors.js';
export { load } from './loader.js';

/**
 * @typedef {import('./attentionOptions.js').Diagonal} Diagonal
 * @typedef {import('./attentionOptions.js').ExclusionOptions} ExclusionOptions
 * @typedef {import('./attentionOptions.js').Mask} Mask
 * @typedef {import('./attentionOptions.js').Window} Window
 * @typedef {import('./errors.js').AttnErrorCode} AttnErrorCode
 * @typedef {import('./loader.js').LoadOptions} LoadOptions
 * @typedef {import('./scaledDotProductAttention.js').AttentionResult} AttentionResult
 * @typedef {import('./scaledDotProductAttention.js').ScaledDotProductAttentionOptions} ScaledDotProductAttentionOptions
 * @typedef {import('./tensor.js').Tensor} Tensor
 * @typedef {import('./tensor.js').TensorLike} TensorLike
 * @typedef {import('./variants.js').Variant} Variant
 */
