// The query–key and output–value circuits of a head (Elhage et al. 2021): for one token of a
// sentence, the tokens of the vocabulary that its query matches, and the tokens that its value
// promotes. All rows come straight from the embedding, as if no earlier layer had changed them.

import { headRows } from '../core/layer.js';
import { product } from '../core/product.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./model.js').Scored} Scored */

/** Number of tokens whose keys are computed per step. */
const perStep = 1024;

/**
 * A layer of a model that normalises rows before attention, and the layers around it.
 * @typedef {object} Around
 * @property {InstanceType<Attn['TransformerEncoderLayer']>} layer
 * @property {import('attn').LanguageModelLayer} described
 * @property {(name: string) => Tensor} parameter a parameter of the layer
 * @property {(begin: number, end: number, position: number) => Tensor} rows the rows that the first
 *   layer would read if these tokens were at a position, (end − begin, E)
 * @property {(x: Tensor) => Tensor} unembed the last normalisation and the output layer
 * @property {number} vocabularySize V
 * @property {number} turned number of a head's columns that positions rotate; 0 without rotary positions
 * @property {number} [factor] factor of the rotated columns
 * @property {(id: number) => string} label
 */

/**
 * @param {Attn} attn
 * @param {Around} around
 * @param {Omit<import('./model.js').CircuitsGiven, 'layer' | 'encoding'>} given
 * @returns {Generator<undefined, import('./model.js').CircuitsAnswer>}
 */
export function* circuits(attn, around, { token, head, query, key, drawn }) {
  const { rows, vocabularySize, label } = around;
  const row = rows(token, token + 1, query);
  const scores = yield* matches(attn, around, { row, head, query, key });
  const zero = { data: new Float32Array(row.data.length), shape: row.shape };
  const logits = around.unembed(written(attn, around, row, head)).data;
  // The last normalisation turns a row of zeros into its bias, which every row receives.
  const biases = around.unembed(zero).data;
  const promoted = logits.map((logit, id) => logit - biases[id]);
  const ids = Array.from({ length: vocabularySize }, (_, id) => id);
  const extremes = (/** @type {Float32Array} */ values) => {
    if (!values.every(Number.isFinite)) return null;
    const order = ids.toSorted((a, b) => values[b] - values[a] || a - b);
    const listed = (/** @type {number[]} */ some) =>
      some.map((id) => ({ id, label: label(id), value: values[id] }));
    return { most: listed(order.slice(0, drawn)), least: listed(order.slice(-drawn).reverse()) };
  };
  return { matches: extremes(scores), promotes: extremes(promoted) };
}

/**
 * Yields while it computes the scores, (V): how well the query of one token matches the key of each token of the
 * vocabulary.
 * @param {Attn} attn
 * @param {Around} around
 * @param {{ row: Tensor, head: number, query: number, key: number }} given row: the token's row, (1, E)
 * @returns {Generator<undefined, Float32Array>}
 */
export function* matches(attn, around, { row, head, query, key }) {
  const { layer, described, parameter, rows, vocabularySize, turned, factor = 1 } = around;
  const { dModel, headDim, scale = 1 / Math.sqrt(headDim), softcap, qkNorm } = described;
  // Rotary scores depend only on the distance of the two positions. It is therefore enough to rotate the query by this
  // distance; the keys stay at position 0.
  const { intermediates } = layer.forward(row, {
    ...(turned ? { positions: [query - key] } : {}),
    intermediates: ['self_attn.q'],
  });
  const all = intermediates['self_attn.q'].data.subarray(head * headDim, (head + 1) * headDim);
  const q = {
    data: all.map((value, i) => value * scale * (i < turned ? factor : 1)),
    shape: [1, headDim],
  };
  const { name, first, bias } = headRows(described, 'k', head);
  const projection = new attn.Linear({ inFeatures: dModel, outFeatures: headDim });
  const norm = normOf(attn, around, 'norm1', dModel);
  const ofKeys = qkNorm && normOf(attn, around, 'self_attn.k_norm', headDim, true);
  try {
    const data = parameter(`self_attn.${name}`).data;
    const weight = data.slice(first * dModel, (first + headDim) * dModel);
    projection.setParameter('weight', { data: weight, shape: [headDim, dModel] });
    const biases = namesOf(around).has('self_attn.in_proj_bias')
      ? parameter('self_attn.in_proj_bias').data.slice(bias, bias + headDim)
      : new Float32Array(headDim);
    projection.setParameter('bias', { data: biases, shape: [headDim] });
    const scores = new Float32Array(vocabularySize);
    for (let begin = 0; begin < vocabularySize; begin += perStep) {
      const end = Math.min(vocabularySize, begin + perStep);
      const keys = projection.forward(norm.forward(rows(begin, end, key)));
      scores.set(product(attn, q, ofKeys ? ofKeys.forward(keys) : keys).data, begin);
      yield;
    }
    return softcap ? scores.map((score) => softcap * Math.tanh(score / softcap)) : scores;
  } finally {
    for (const each of [projection, norm, ofKeys]) if (each) each.dispose();
  }
}

/**
 * What a head writes into the residual stream if a query attends only to this row, without biases:
 * (1, E).
 * @param {Attn} attn
 * @param {Around} around
 * @param {Tensor} row (1, E)
 * @param {number} head
 */
function written(attn, around, row, head) {
  const { described, parameter } = around;
  const { dModel, headDim, numHeads, normOutputs } = described;
  const { name, first } = headRows(described, 'v', head);
  const all = parameter(`self_attn.${name}`).data;
  const weight = {
    data: all.slice(first * dModel, (first + headDim) * dModel),
    shape: [headDim, dModel],
  };
  const { data: joined } = parameter('self_attn.out_proj.weight');
  const columns = Float32Array.from({ length: dModel * headDim }, (_, i) => {
    const [at, column] = [Math.floor(i / headDim), i % headDim];
    return joined[(at * numHeads + head) * headDim + column];
  });
  const norms = [normOf(attn, around, 'norm1', dModel)];
  if (normOutputs) norms.push(normOf(attn, around, 'output_norm1', dModel));
  try {
    const value = product(attn, norms[0].forward(row), weight);
    const output = product(attn, value, { data: columns, shape: [dModel, headDim] });
    return norms[1]?.forward(output) ?? output;
  } finally {
    for (const norm of norms) norm.dispose();
  }
}

/** @param {Around} around */
const namesOf = ({ layer }) => new Set(layer.parameterNames());

/**
 * A norm of the layer. The caller must dispose of it.
 * @param {Attn} attn
 * @param {Around} around
 * @param {string} path
 * @param {number} width
 * @param {boolean} [ofHead] true for a norm of queries or keys, which is always an RMSNorm
 */
function normOf(attn, around, path, width, ofHead = false) {
  const { rmsNorm, zeroCentredNorm: zeroCentredWeight, normEps: eps } = around.described;
  const norm =
    rmsNorm || ofHead
      ? new attn.RMSNorm({ width, eps, zeroCentredWeight })
      : new attn.LayerNorm({ width, eps });
  for (const name of norm.parameterNames()) {
    if (namesOf(around).has(`${path}.${name}`)) {
      norm.setParameter(name, around.parameter(`${path}.${name}`));
    }
  }
  return norm;
}
