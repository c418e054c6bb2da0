// Tensors for tests. No layer computed them. In most of them, every element has a different value.

/** @typedef {import('attn').Tensor} Tensor */

/**
 * Numbers starting at `first`, in steps of 1/8. They are printed and parsed without rounding.
 * @param {number[]} shape
 * @param {number} first
 * @returns {Tensor}
 */
export function counted(shape, first) {
  const length = shape.reduce((product, size) => product * size);
  return { data: Float32Array.from({ length }, (_, i) => first + i / 8), shape };
}

/** @param {Tensor} tensor @returns {import('../../../web/src/drawing/matrix.js').Matrix} */
const asMatrix = ({ data, shape: [rows, columns] }) => ({ data, rows, columns });

/** @param {Tensor} tensor @param {number} [index] @returns {number[][]} */
export function rowsOf({ data, shape }, index = 0) {
  const [rows, columns] = shape.slice(-2);
  return Array.from({ length: rows }, (_, row) => {
    const first = (index * rows + row) * columns;
    return [...data.subarray(first, first + columns)];
  });
}

export const tokens = ['zu', 'Fuß', 'gehen'];

/** Attention weights of two heads, which no softmax would produce. */
export const weights = {
  data: Float32Array.of(
    ...[0.5, 0.25, 0.25, 0, 1, 0, 0.125, 0.125, 0.75],
    ...[1, 0, 0, 1, 0, 0, 0.5, 0, 0.5],
  ),
  shape: [2, 3, 3],
};

/** A layer with E = 4, two heads of width 2, and biases. */
export const x = counted([3, 4], 1);
export const parameters = {
  in_proj_weight: counted([12, 4], -3),
  in_proj_bias: counted([12], 0.5),
  'out_proj.weight': counted([4, 4], 2),
  'out_proj.bias': counted([4], -1),
};
const square = (/** @type {number} */ first) => asMatrix(counted([3, 3], first));
export const stages = {
  query: asMatrix(counted([3, 2], 10)),
  key: asMatrix(counted([3, 2], 20)),
  value: asMatrix(counted([3, 2], 30)),
  ...{ scores: square(40), scaled: square(50), masked: square(60) },
  weights: asMatrix({ data: weights.data.subarray(9), shape: [3, 3] }),
  attended: asMatrix(counted([3, 4], 70)),
  output: asMatrix(counted([3, 4], 80)),
};

/** A positional encoding with 4 columns, which is added to the embeddings. */
export const positions = counted([3, 4], -0.75);

/** A translation model's source and target words, with the weights between them. */
export const alignment = {
  source: ['on', 'foot'],
  weights: { data: Float32Array.of(0.75, 0.25, 0, 1, 0.5, 0.5), shape: [3, 2] },
  queries: counted([3, 4], 0),
  keys: counted([2, 4], 1),
};

/** Dot products of a learned encoding. They are neither constant along diagonals nor symmetric. */
export const products = counted([5, 5], -1);

/** A decoder of three tokens, whose two query heads share their keys and values. */
export const decoding = {
  ...{ x, q: counted([3, 4], 20), keys: counted([3, 2], 30), values: counted([3, 2], 40) },
  weights: [
    { data: Float32Array.of(1, 1), shape: [2, 1] },
    { data: Float32Array.of(0.25, 0.75, 0.5, 0.5), shape: [2, 2] },
    { data: Float32Array.of(0.5, 0.5, 0, 1, 0, 0), shape: [2, 3] },
  ],
  ...{ output: counted([3, 4], 50), whole: counted([3, 4], 50) },
  differences: Float32Array.of(0, 0.125, 0.25),
};

/** The losses of a model on eight tokens, which it reads in two different orders. */
export const losses = [
  { name: 'in order', text: 'zu Fuß gehen', loss: 1.5 },
  { name: 'backwards', text: 'gehen Fuß zu', loss: 3 },
];

/** @param {string} label @param {number} probability */
const likely = (label, probability) => ({ id: label.length, label, probability });
const [log2, known] = [Math.LN2, [likely('Fuß', 0.5), likely('gehen', 0.25)]];

/** Different tokens may have the same label. */
const scored = [0.5, -0.25].map((value, id) => ({ id, label: 'Fuß', value }));

/**
 * A model's answers for the figures: one set of numbers, and one set in which some results are not
 * numbers.
 * @type {Record<'numbers' | 'broken', {
 *   change: import('../../../web/src/models/model.js').ChangeAnswer,
 *   ranking: import('../../../web/src/models/model.js').RankAnswer,
 *   next: Omit<import('../../../web/src/models/model.js').Next, 'at'>,
 *   lens: import('../../../web/src/models/model.js').LensAnswer,
 *   contributions: import('../../../web/src/models/model.js').ContributionsAnswer,
 *   circuits: import('../../../web/src/models/model.js').CircuitsAnswer,
 * }>}
 */
export const answers = {
  numbers: {
    change: {
      ...{ weights, before: known, after: [likely('gehen', 0.5), likely('zu', 0.25)] },
      chosen: { id: 5, label: 'gehen', before: -2 * log2, after: -log2, change: log2 },
      moved: [
        { divergence: 0, isSame: true, change: 0 },
        { divergence: 0, isSame: false, change: 0 },
        { divergence: 0.5, isSame: false, change: null },
      ],
    },
    ranking: {
      ...{ chosen: { id: 5, label: 'gehen', before: -log2 }, total: 3, time: 1 },
      changes: [
        { layer: 0, part: 0, change: 0.25 },
        { layer: 0, part: 1, change: -0.5 },
        { layer: 0, part: 'mlp', change: 0.125 },
      ],
    },
    next: {
      ...{ first: 0, probabilities: [NaN, 0.5, 0.25], weights: Float32Array.of(0.5, 0.25, 0.25) },
      candidates: known.map((each) => ({ ...each, text: each.label })),
    },
    lens: { first: 0, layers: [Array(3).fill([known[1]]), Array(3).fill(known)] },
    circuits: {
      matches: { most: scored, least: scored },
      promotes: { most: scored, least: scored },
    },
    contributions: {
      ...{ chosen: known[1], likely: known, total: 82.625 },
      parts: Array.from({ length: 30 }, (_, layer) => ({
        ...{ kind: /** @type {const} */ ('feedForward'), layer, head: 0 },
        value: layer === 2 ? -0.5 : 1 + layer / 8,
      })),
    },
  },
  broken: {
    change: {
      ...{ before: known, after: [] },
      weights: { ...weights, data: weights.data.with(8, NaN) },
      chosen: { id: 5, label: 'gehen', before: -2 * log2, after: NaN, change: NaN },
      moved: [
        { divergence: 0, isSame: true, change: 0 },
        { divergence: 0.5, isSame: false, change: 0 },
        { divergence: NaN, isSame: false, change: null },
      ],
    },
    ranking: {
      ...{ chosen: { id: 5, label: 'gehen', before: -log2 }, total: 3, time: 1 },
      changes: [
        { layer: 0, part: 0, change: NaN },
        { layer: 0, part: 1, change: -0.5 },
        { layer: 0, part: 'mlp', change: 0.125 },
      ],
    },
    next: {
      ...{ first: 1, probabilities: [NaN, NaN, NaN], weights: Float32Array.of(NaN, NaN, NaN) },
      candidates: [],
    },
    lens: { first: 0, layers: [Array(3).fill(known), [known, known, []]] },
    contributions: { chosen: null, likely: [], total: NaN, parts: [] },
    circuits: { matches: null, promotes: { most: scored, least: [] } },
  },
};

/**
 * Two sentences of three tokens in a model with one layer.
 * @type {import('../../../web/src/models/model.js').CompareAnswer}
 */
export const comparison = {
  ...{ total: 3, tokens: ['zu', 'Hause', 'gehen'], ids: [1, 2, 3] },
  compared: {
    ...{ chosen: { ...known[1], first: -log2, second: -2 * log2 }, likely: [known, known] },
    distances: counted([3, 2], 0),
  },
};

/**
 * An answer after four of six patches have been computed.
 * @type {import('../../../web/src/models/model.js').PatchAnswer}
 */
export const patches = {
  cells: [-2, -1, -2, -1.5].map((value) => ({ value: value * log2, likely: known[0] })),
  ...{ total: 6, time: 1 },
};

/** A pre-norm block with one head and a hidden layer three times as wide. */
export const block = {
  run: {
    stages: {
      ...{ x, norm1: counted([3, 4], 2), q: counted([3, 4], 3), k: counted([3, 4], 4) },
      ...{ v: counted([3, 4], 5), heads: counted([3, 4], 6), attention: counted([3, 4], 7) },
      weights0: { data: weights.data.subarray(0, 9), shape: [3, 3] },
      ...{ sum1: counted([3, 4], 8), norm2: counted([3, 4], 9), hidden: counted([3, 12], 10) },
      ...{ feedForward: counted([3, 4], 12), sum2: counted([3, 4], 13) },
    },
    scores: { weights0: counted([3, 3], -2) },
  },
  parameters: {
    ...{ q: counted([4, 4], 0), k: counted([4, 4], 1), v: counted([4, 4], 2) },
    ...{ attention: counted([4, 4], 3), hidden: counted([12, 4], 4) },
    feedForward: counted([4, 12], 5),
  },
};
