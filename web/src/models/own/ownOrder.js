// The effect of token order on a reader's model. Used in the model's worker.

import { difference } from '../../core/difference.js';
import { orderEffects } from '../../core/effects.js';
import { joinHeads } from '../../core/heads.js';
import { product } from '../../core/product.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').LanguageModel} LanguageModel */

/** Largest number of logits for a sentence (64 MB). */
const mostLogits = 2 ** 24;

/**
 * The rows that a table of positions adds, (n, E). Null if the model does not add positions.
 * @param {import('attn').Attn} attn
 * @param {LanguageModel} model
 * @param {number} length
 * @returns {Tensor | null}
 */
export function addedPlaces(attn, model, length) {
  const { maxPositions, sinusoidal, layers } = model.description;
  if (sinusoidal) return attn.sinusoidalEncoding({ length, dModel: layers[0].dModel });
  if (!maxPositions) return null;
  const { data, shape } = model.parameter('positions.weight');
  // The first rows of some tables are reserved for padding.
  const first = shape[0] - maxPositions;
  return {
    data: data.slice(first * shape[1], (first + length) * shape[1]),
    shape: [length, shape[1]],
  };
}

/**
 * The input of the first layer.
 * @param {LanguageModel} model
 * @param {{ ids: readonly number[] } | { x: Tensor }} given
 * @returns {Tensor}
 */
function embedded(model, given) {
  const asked = { needLogits: false, intermediates: ['embedded'] };
  const { intermediates } =
    'ids' in given ? model.forward([...given.ids], asked) : model.forwardVectors(given.x, asked);
  return intermediates.embedded;
}

/**
 * The embeddings of tokens before positions are added: (n, E).
 * @param {LanguageModel} model
 * @param {readonly number[]} ids
 * @param {Tensor} places
 * @param {readonly number[]} [types] token types, if not all are the first type; the model adds
 *   the first type together with the positions
 */
function wordsOf(model, ids, places, types) {
  // If a model normalises its embeddings, the positions cannot be subtracted from the result. Such
  // a model does not scale its embeddings, so the rows of the table are used directly.
  if (!model.parameterNames().includes('embedding_norm.weight')) {
    return difference(embedded(model, { ids }), places);
  }
  const { data, shape } = model.parameter('embedding.weight');
  const rows = new Float32Array(ids.length * shape[1]);
  ids.forEach((id, i) => {
    rows.set(data.subarray(id * shape[1], (id + 1) * shape[1]), i * shape[1]);
  });
  const table = types && model.parameter('token_types.weight').data;
  types?.forEach((type, i) => {
    for (let column = 0; table && column < shape[1]; column++) {
      rows[i * shape[1] + column] += table[type * shape[1] + column] - table[column];
    }
  });
  return { data: rows, shape: [ids.length, shape[1]] };
}

/**
 * The output of the first layer's attention, computed without rotating queries and keys.
 * @param {import('attn').Attn} attn
 * @param {LanguageModel} model
 * @param {Tensor} x (n, E)
 * @param {boolean} causal
 * @returns {Tensor} (n, E)
 */
function unturned(attn, model, x, causal) {
  const { numHeads, numKvHeads, scale, softcap, sinks, qkNorm } = model.description.layers[0];
  const prefix = 'self_attn.';
  const names = qkNorm ? ['q_norm.output', 'k_norm.output'] : ['projected_q', 'projected_k'];
  const { intermediates } = model.layers[0].forward(x, {
    intermediates: [...names, 'v'].map((name) => prefix + name),
  });
  const [n] = x.shape;
  const [q, k, v] = [...names, 'v'].map((name) => {
    const shown = intermediates[prefix + name];
    // Normalised queries and keys already have their heads side by side.
    const { data } = name.includes('norm') ? shown : joinHeads(shown);
    return { data, shape: [1, n, data.length / n] };
  });
  const { output } = attn.scaledDotProductAttention(q, k, v, {
    ...{ numHeads, numKvHeads, softcap, causal },
    ...(scale === undefined ? {} : { scale }),
    ...(sinks ? { sinks: model.parameter('encoder.layers.0.self_attn.sinks').data } : {}),
  });
  const all = { data: output.data, shape: [n, output.data.length / n] };
  const projected = product(
    attn,
    all,
    model.parameter('encoder.layers.0.self_attn.out_proj.weight'),
  );
  if (!model.layers[0].parameterNames().includes('self_attn.out_proj.bias')) return projected;
  const bias = model.parameter('encoder.layers.0.self_attn.out_proj.bias').data;
  return { ...projected, data: projected.data.map((value, i) => value + bias[i % bias.length]) };
}

/**
 * The effect of token order on the output of the first layer's attention, without and with
 * positions. The layer's attention window is disabled, because a window alone would reveal the
 * order.
 * @param {import('attn').Attn} attn
 * @param {LanguageModel} model
 * @param {{ ids: readonly number[], types?: readonly number[], causal: boolean, order: number[]
 *   }} given
 */
export function orderedBy(attn, model, { ids, types, causal, order }) {
  const places = addedPlaces(attn, model, ids.length);
  const everything = { left: ids.length, right: ids.length };
  const first = (/** @type {Tensor} */ x) =>
    model.layers[0].forward(x, {
      attention: { causal, window: everything },
      intermediates: ['self_attn.output'],
    }).intermediates['self_attn.output'];
  if (places) {
    // The model always adds the positions. For a result without positions, subtract them first.
    return orderEffects(
      (x, positions) => first(embedded(model, { x: positions ? x : difference(x, places) })),
      wordsOf(model, ids, places, types),
      order,
    );
  }
  const turns = model.rotaryFrequencies(0) !== undefined;
  return orderEffects(
    (x, positions) => (positions || !turns ? first(x) : unturned(attn, model, x, causal)),
    embedded(model, { ids }),
    order,
  );
}

/**
 * The model's losses in nats per token: for the tokens in their original order, for the tokens in
 * the given order, and, if the model adds positions to embeddings, for the tokens without
 * positions.
 * @param {import('attn').Attn} attn
 * @param {LanguageModel} model
 * @param {{ ids: readonly number[], order: number[] }} given
 * @returns {Generator<null, { losses: number[], length: number }>}
 */
export function* lossesOf(attn, model, { ids: all, order: places }) {
  const { vocabSize, maxPositions } = model.description;
  const most = Math.min(maxPositions || Infinity, Math.floor(mostLogits / vocabSize), all.length);
  const ids = all.slice(0, most);
  const order = places.filter((place) => place < most);
  const lossOf = (/** @type {readonly number[]} */ read, /** @type {Tensor} */ { data }) => {
    let sum = 0;
    for (let i = 1; i < read.length; i++) {
      const row = data.subarray((i - 1) * vocabSize, i * vocabSize);
      const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
      const total = row.reduce((total, value) => total + Math.exp(value - largest), 0);
      sum += Math.log(total) + largest - row[read[i]];
    }
    return sum / (read.length - 1);
  };
  const losses = [];
  for (const read of [ids, order.map((place) => ids[place])]) {
    losses.push(lossOf(read, model.forward([...read]).logits));
    yield null;
  }
  const added = addedPlaces(attn, model, ids.length);
  if (added) {
    const x = difference(wordsOf(model, ids, added), added);
    losses.push(lossOf(ids, model.forwardVectors(x).logits));
  }
  return { losses, length: ids.length };
}
