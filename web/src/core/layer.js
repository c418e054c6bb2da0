/** @typedef {import('attn').Attn} Attn */

/** Ratio of the hidden layer's width to E. Vaswani et al. use 4. */
export const hiddenFactor = 2;

/**
 * @typedef {object} BlockOptions
 * @property {number} dModel E
 * @property {number} heads
 * @property {boolean} normFirst
 * @property {import('../state/properties/index.js').Weights} weights where attention's weights
 *   come from; the feed-forward network is always random
 * @property {number} seed
 */

/** @typedef {InstanceType<Attn['TransformerEncoderLayer']>} EncoderLayer */

/**
 * The core's encoder layer with the page's settings. With the same seed, its attention has the same
 * parameters as the page's MultiHeadAttention.
 * @param {Attn} attn
 * @param {BlockOptions} options
 */
export function encoderLayer(attn, { dModel, heads: numHeads, normFirst, weights, seed }) {
  const layer = new attn.TransformerEncoderLayer({
    ...{ dModel, numHeads, normFirst, seed },
    dimFeedforward: hiddenFactor * dModel,
    attentionBias: false,
  });
  if (weights === 'identity') {
    const attention = new attn.MultiHeadAttention({ dModel, numHeads, init: 'identity' });
    for (const name of attention.parameterNames()) {
      layer.setParameter(`self_attn.${name}`, attention.parameter(name));
    }
    attention.dispose();
  }
  return layer;
}

/**
 * Describes a standard layer in the same way as attn describes the layers of a model's files.
 * @param {Pick<BlockOptions, 'dModel' | 'heads' | 'normFirst'> & { dimFeedforward?: number,
 *   activation?: import('attn').Activation, rotaryDim?: number }} options
 * @returns {import('attn').LanguageModelLayer}
 */
export const describedLayer = ({ dModel, heads, activation = 'relu', ...others }) => ({
  ...{ dModel, numHeads: heads, numKvHeads: heads, headDim: dModel / heads, activation },
  ...{ dimFeedforward: hiddenFactor * dModel, gatedFeedForward: false, qkNorm: false },
  ...{ normOutputs: false, rmsNorm: false, zeroCentredNorm: false, normEps: 1e-5 },
  ...{ parallelResidual: false, sinks: false, softcap: 0 },
  ...others,
});

/**
 * The rows of one head in the projection to its queries, keys or values.
 * @param {import('attn').LanguageModelLayer} layer
 * @param {'q' | 'k' | 'v'} which
 * @param {number} head
 */
export function headRows({ numHeads, numKvHeads, headDim }, which, head) {
  const joined = numHeads === numKvHeads;
  const kvHead = Math.floor((head * numKvHeads) / numHeads);
  const at = (which === 'q' ? head : kvHead) * headDim;
  const before = { q: 0, k: numHeads, v: numHeads + numKvHeads }[which] * headDim;
  return {
    name: joined ? 'in_proj_weight' : `${which}_proj_weight`,
    first: joined ? before + at : at,
    /** Index of the head's first bias in the concatenated biases of queries, keys and values. */
    bias: before + at,
  };
}
