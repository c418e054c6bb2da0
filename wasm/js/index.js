/** @packageDocumentation Self-attention and positional encoding: a C++ core as WebAssembly. */

export { AttnError } from './errors.js';
export { load } from './loader.js';

/**
 * @typedef {import('./attentionOptions.js').Diagonal} Diagonal
 * @typedef {import('./attentionOptions.js').ExclusionOptions} ExclusionOptions
 * @typedef {import('./attentionOptions.js').Mask} Mask
 * @typedef {import('./attentionOptions.js').Window} Window
 * @typedef {import('./attn.js').Attn} Attn
 * @typedef {import('./errors.js').AttnErrorCode} AttnErrorCode
 * @typedef {import('./loader.js').LoadOptions} LoadOptions
 * @typedef {import('./multiHeadAttention.js').MultiHeadAttention} MultiHeadAttention
 * @typedef {import('./multiHeadAttention.js').MultiHeadAttentionForwardOptions} MultiHeadAttentionForwardOptions
 * @typedef {import('./multiHeadAttention.js').MultiHeadAttentionOptions} MultiHeadAttentionOptions
 * @typedef {import('./ngramEmbedding.js').NgramEmbeddingOptions} NgramEmbeddingOptions
 * @typedef {import('./positionalEncoding.js').PositionalEncodingOptions} PositionalEncodingOptions
 * @typedef {import('./scaledDotProductAttention.js').AttentionResult} AttentionResult
 * @typedef {import('./scaledDotProductAttention.js').ScaledDotProductAttentionOptions} ScaledDotProductAttentionOptions
 * @typedef {import('./shiftMatrix.js').ShiftMatrixOptions} ShiftMatrixOptions
 * @typedef {import('./shiftMatrix.js').ShiftOptions} ShiftOptions
 * @typedef {import('./sinusoidalEncoding.js').SinusoidalEncodingOptions} SinusoidalEncodingOptions
 * @typedef {import('./sinusoidalEncoding.js').SinusoidalLayout} SinusoidalLayout
 * @typedef {import('./tensor.js').Tensor} Tensor
 * @typedef {import('./tensor.js').TensorLike} TensorLike
 * @typedef {import('./variants.js').Variant} Variant
 */
