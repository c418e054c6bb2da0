// The stages between input and output of one attention head in a reader's model. Used in the
// model's worker.

import { joinHeads } from '../../core/heads.js';
import { headRows } from '../../core/layer.js';
import { matrixOf } from '../../drawing/matrix.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').LanguageModelLayer} Described */
/** @typedef {import('../../core/stages.js').Affine} Affine */
/** @typedef {import('../../core/stages.js').Projections} Projections */

/** @typedef {import('../model.js').How} How */

/** Largest number of values of an output projection to send (8 MB). */
const mostSent = 2 ** 21;

/** The prefix of a layer's attention parameters. @param {number} at */
export const attentionOf = (at) => `encoder.layers.${at}.self_attn.`;

/**
 * The projections of a head.
 * @param {import('attn').LanguageModel | import('attn').EncoderDecoderModel} model
 * @param {Described} layer
 * @param {string} prefix the prefix of the attention's parameters
 * @param {number} head
 * @returns {Projections}
 */
export function projectionsOf(model, layer, prefix, head) {
  const { headDim, dModel, numHeads } = layer;
  const names = new Set(model.parameterNames());
  const has = (/** @type {string} */ name) => names.has(prefix + name);
  const biases = has('in_proj_bias') ? model.parameter(`${prefix}in_proj_bias`).data : null;
  /** @type {(which: 'q' | 'k' | 'v') => Affine} */
  const part = (which) => {
    const { name, first, bias } = headRows(layer, which, head);
    const { data } = model.parameter(prefix + name);
    return {
      weight: {
        data: data.slice(first * dModel, (first + headDim) * dModel),
        shape: [headDim, dModel],
      },
      bias: biases?.slice(bias, bias + headDim),
    };
  };
  const [q, k, v] = [part('q'), part('k'), part('v')];
  if (dModel * numHeads * headDim > mostSent) return { q, k, v };
  const bias = has('out_proj.bias') ? model.parameter(`${prefix}out_proj.bias`).data : undefined;
  return { q, k, v, o: { weight: model.parameter(`${prefix}out_proj.weight`), bias } };
}

/** The scale of scores, if it is not 1/√D. @param {Described} layer */
export function ownScaleOf({ scale, headDim }) {
  const isPlain = scale === undefined || Math.abs(scale * Math.sqrt(headDim) - 1) < 1e-6;
  return isPlain ? {} : { scale };
}

/**
 * @param {import('attn').LanguageModel} model
 * @param {{ layer: number, head: number, length: number }} given
 * @returns {How}
 */
export function howOf(model, { layer: at, head, length }) {
  const described = model.description.layers[at];
  const { numHeads, numKvHeads, headDim, softcap, sinks, qkNorm } = described;
  const turning = model.rotaryFrequencies(at, length);
  return {
    ...{ depth: headDim, kvHead: Math.floor((head * numKvHeads) / numHeads), softcap },
    ...ownScaleOf(described),
    ...(sinks ? { sink: model.parameter(`${attentionOf(at)}sinks`).data[head] } : {}),
    normalises: qkNorm,
    ...(turning && { turn: { frequencies: turning.frequencies, factor: turning.attentionFactor } }),
    projections: projectionsOf(model, described, attentionOf(at), head),
  };
}

/**
 * @param {import('attn').Attn} attn
 * @param {{ q: Tensor, k: Tensor, v: Tensor, head_output: Tensor, output: Tensor }} shown
 *   intermediates of the layer
 * @param {Described} layer
 * @param {How} how
 * @param {number} head
 * @param {import('attn').ExclusionOptions} exclusion including the layer's own window
 * @returns {import('../../core/stages.js').Stages}
 */
export function stagesOf(attn, shown, { scale }, how, head, exclusion) {
  const [query, key, value] = /** @type {const} */ (['q', 'k', 'v']).map((name) =>
    matrixOf(shown[name], name === 'q' ? head : how.kvHead),
  );
  // Compute the scores of this head only. For a long sentence, the scores of all heads would take
  // too much memory.
  const [q, k, v] = [query, key, value].map(({ data, rows, columns }) => ({
    data,
    shape: [1, rows, columns],
  }));
  const { scaledScores, cappedScores, biasedScores, weights } = attn.scaledDotProductAttention(
    ...[q, k, v],
    {
      ...exclusion,
      ...{ numHeads: 1, softcap: how.softcap },
      ...(scale === undefined ? {} : { scale }),
      ...(how.sink === undefined ? {} : { sinks: [how.sink] }),
      ...{ needScaledScores: true, needCappedScores: how.softcap > 0 },
      ...{ needBiasedScores: true, needWeights: true },
    },
  );
  const { scaledScores: scores } = attn.scaledDotProductAttention(...[q, k, v], {
    ...{ numHeads: 1, scale: 1, needScaledScores: true },
  });
  return {
    ...{ query, key, value, weights: matrixOf(weights) },
    ...{ scores: matrixOf(scores), scaled: matrixOf(scaledScores), masked: matrixOf(biasedScores) },
    ...(cappedScores ? { capped: matrixOf(cappedScores) } : {}),
    attended: matrixOf(joinHeads(shown.head_output)),
    output: matrixOf(shown.output),
  };
}
