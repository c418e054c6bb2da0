// Returns the stages of a layer in a reader's model, runs the layer token by token, and computes
// the effect of changing one number in a projection. Used in the model's worker.

import { Decoder } from '../../core/decode.js';
import { changes } from '../../core/edit.js';
import { joinHeads, splitHeads } from '../../core/heads.js';
import { attentionOf, rowsOf } from './ownStages.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').LanguageModel} LanguageModel */

/** The matrices of a layer are sent only if they have at most this many numbers (64 MB). */
const mostSent = 2 ** 24;

/** Largest number of heads whose weights are drawn. */
const mostHeads = 16;

/** Discarded when another layer or another sentence is requested. @type {Decoder | undefined} */
let decoder;
/** Its layer. */
let decodes = -1;

/**
 * Runs a layer token by token with a cache.
 * @param {import('attn').Attn} attn
 * @param {LanguageModel} model
 * @param {number} at the layer
 * @param {Tensor} x its input, (n, E)
 */
export function decoded(attn, model, at, x) {
  if (decodes !== at) {
    decoder?.dispose();
    decoder = new Decoder(attn, /** @type {any} */ ({}), model.layers[at]);
    decodes = at;
  }
  return /** @type {Decoder} */ (decoder).decode(x);
}

/**
 * Every matrix of a layer, keyed by stage id, for all heads or for the group that contains `head`.
 * @param {LanguageModel} model
 * @param {number} at the layer
 * @param {Tensor} x its input, (n, E)
 * @param {import('attn').ExclusionOptions} exclusion
 * @param {number} head a head to include
 * @returns {import('../../core/block.js').BlockRun & { firstHead: number, heads:
 *   number }}
 */
export function inBlock(model, at, x, exclusion, head) {
  const { gatedFeedForward, normFirst, normOutputs, numHeads } = model.description.layers[at];
  const last = gatedFeedForward ? 'down_proj.output' : 'linear2.output';
  const names = {
    ...{ x: 'resid_pre', sum1: 'resid_mid', hidden: 'hidden', sum2: 'resid_post' },
    attention: normOutputs ? 'output_norm1.output' : 'self_attn.output',
    feedForward: normOutputs ? 'output_norm2.output' : last,
    ...(normFirst || !normOutputs ? { norm1: 'norm1.output', norm2: 'norm2.output' } : {}),
    ...(gatedFeedForward ? { gate: 'gate_proj.output', up: 'up_proj.output' } : {}),
  };
  const byHead = {
    ...{ q: 'self_attn.q', k: 'self_attn.k', v: 'self_attn.v', heads: 'self_attn.head_output' },
  };
  const [weights, scores] = ['self_attn.weights', 'self_attn.scaled_scores'];
  const { intermediates } = model.layers[at].forward(x, {
    attention: exclusion,
    intermediates: [...Object.values(names), ...Object.values(byHead), weights, scores],
  });
  /** @type {Record<string, Tensor>} */
  const stages = {};
  for (const [id, name] of Object.entries(names)) stages[id] = intermediates[name];
  for (const [id, name] of Object.entries(byHead)) stages[id] = joinHeads(intermediates[name]);
  const heads = Math.min(numHeads, mostHeads);
  const firstHead = Math.floor(head / heads) * heads;
  const some = (/** @type {string} */ name) =>
    Object.fromEntries(
      splitHeads(intermediates[name])
        .slice(firstHead, firstHead + heads)
        .map(({ data, shape }, i) => [`weights${firstHead + i}`, { data: data.slice(), shape }]),
    );
  const shown = some(weights);
  return {
    stages: { ...stages, ...shown },
    scores: some(scores),
    ...{ firstHead, heads: Object.keys(shown).length },
  };
}

/**
 * The matrices and vectors of a layer's products and norms, keyed by stage id. If the matrices have
 * too many numbers, the result contains only the vectors of the norms.
 * @param {LanguageModel} model
 * @param {number} at the layer
 * @returns {Record<string, Tensor>}
 */
export function blockParameters(model, at) {
  const layer = model.description.layers[at];
  const { dModel, headDim, numHeads, numKvHeads, dimFeedforward, gatedFeedForward } = layer;
  const all = new Set(model.layers[at].parameterNames());
  const of = (/** @type {string} */ name) =>
    all.has(name) ? model.parameter(`encoder.layers.${at}.${name}`) : undefined;
  /** @type {Record<string, Tensor | undefined>} */
  const found = {
    ...{ norm1: of('norm1.weight'), norm1Bias: of('norm1.bias') },
    ...{ norm2: of('norm2.weight'), norm2Bias: of('norm2.bias') },
  };
  const size =
    dModel * (2 * headDim * (numHeads + numKvHeads) + dimFeedforward * (gatedFeedForward ? 3 : 2));
  if (size <= mostSent) {
    for (const which of /** @type {const} */ (['q', 'k', 'v'])) {
      const { name, first, bias } = rowsOf(layer, which, 0);
      const rows = (which === 'q' ? numHeads : numKvHeads) * headDim;
      const { data } = /** @type {Tensor} */ (of(`self_attn.${name}`));
      found[which] = {
        data: data.slice(first * dModel, (first + rows) * dModel),
        shape: [rows, dModel],
      };
      const biases = of('self_attn.in_proj_bias');
      if (biases) {
        found[`${which}Bias`] = { data: biases.data.slice(bias, bias + rows), shape: [rows] };
      }
    }
    const [wide, narrow] = gatedFeedForward ? ['', 'down_proj'] : ['linear1', 'linear2'];
    Object.assign(found, {
      ...{
        attention: of('self_attn.out_proj.weight'),
        attentionBias: of('self_attn.out_proj.bias'),
      },
      ...{ hidden: of(`${wide}.weight`), hiddenBias: of(`${wide}.bias`) },
      ...{ feedForward: of(`${narrow}.weight`), feedForwardBias: of(`${narrow}.bias`) },
    });
  }
  return /** @type {Record<string, Tensor>} */ (
    Object.fromEntries(Object.entries(found).filter(([, tensor]) => tensor))
  );
}

/**
 * The effect of changing one number in a projection, within the part that belongs to one head. The
 * model is restored afterwards.
 * @param {LanguageModel} model
 * @param {Pick<import('../../core/sentence.js').Given, 'layer' | 'head' | 'editMatrix' | 'editCell' |
 *   'editBy'>} given
 * @param {() => { weights: Tensor, output: Tensor }} run runs the layer
 */
export function editedBy(model, { layer: at, head, editMatrix: which, editCell, editBy }, run) {
  const layer = model.description.layers[at];
  const { dModel, headDim, numHeads } = layer;
  const { name, first } =
    which === 'o' ? { name: 'out_proj.weight', first: head * headDim } : rowsOf(layer, which, head);
  const path = attentionOf(at) + name;
  const whole = model.parameter(path);
  // In the output projection, a head has columns instead of rows.
  const width = which === 'o' ? numHeads * headDim : dModel;
  const shape = which === 'o' ? [dModel, headDim] : [headDim, dModel];
  const index = (/** @type {number} */ row, /** @type {number} */ column) =>
    which === 'o' ? row * width + first + column : (first + row) * width + column;
  const projection = {
    data: Float32Array.from(
      { length: shape[0] * shape[1] },
      (_, i) => whole.data[index(Math.floor(i / shape[1]), i % shape[1])],
    ),
    shape,
  };
  const { row, column } =
    editCell && editCell.row < shape[0] && editCell.column < shape[1]
      ? editCell
      : { row: 0, column: 0 };
  const original = whole.data[index(row, column)];
  const value = Math.fround(original + editBy);
  const before = run();
  const other = whole.data.slice();
  other[index(row, column)] = value;
  model.setParameter(path, { data: other, shape: whole.shape });
  try {
    return {
      ...changes(run(), before, head),
      ...{ projection, ofHead: true, edit: { row, column, original, value } },
    };
  } finally {
    model.setParameter(path, whole);
  }
}
