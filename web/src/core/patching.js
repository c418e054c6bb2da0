/**
 * The values that are compared and patched: each token's row in the residual stream, a layer's
 * attention output, the output of its feed-forward network, or the output of one head.
 * @typedef {'residual' | 'attention' | 'mlp' | 'head'} Stage
 */

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {{ name: string, head?: number }} Value a value of the core's layers, or one head of it */

/**
 * The values of a stage, in the order in which a model computes them. The residual stream has one
 * more value than the model has layers, because it starts with the embeddings.
 * @param {Stage} stage
 * @param {number} numLayers
 * @param {number} head
 * @param {string} [path] path of the encoder, with a dot at the end
 * @returns {Value[]}
 */
export function valuesOf(stage, numLayers, head, path = '') {
  const layers = Array.from({ length: numLayers }, (_, layer) => `${path}layers.${layer}.`);
  if (stage === 'residual') {
    const names = [`${layers[0]}resid_pre`, ...layers.map((layer) => `${layer}output`)];
    return names.map((name) => ({ name }));
  }
  if (stage === 'head') return layers.map((at) => ({ name: `${at}self_attn.head_output`, head }));
  const name = stage === 'attention' ? 'attn_out' : 'mlp_out';
  return layers.map((layer) => ({ name: layer + name }));
}

/**
 * The row of a token: (E), or (D) for a head.
 * @param {Tensor} tensor (n, E) or (heads, n, D)
 * @param {number} position
 * @param {number} [head]
 */
export function rowOf({ data, shape }, position, head = 0) {
  const [rows, width] = shape.slice(-2);
  const start = (head * rows + position) * width;
  return data.subarray(start, start + width);
}

/**
 * The length of the difference between two rows, divided by the length of the first row.
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
export function relativeDistance(a, b) {
  const [between, length] = [a.map((value, i) => value - b[i]), a].map((row) =>
    row.reduce((sum, value) => sum + value * value, 0),
  );
  return between === 0 ? 0 : Math.sqrt(between / length);
}

/**
 * The share of the difference between two runs that a patch restores: 0 if the result equals the
 * second run's result, and 1 if it equals the first run's. 0 if the two runs do not differ.
 * @param {number} patched
 * @param {{ first: number, second: number }} runs
 */
export const restored = (patched, { first, second }) =>
  first === second ? 0 : (patched - second) / (first - second);

/**
 * Converts numbers in the order of columns to a row-major tensor. Missing numbers become NaN.
 * @param {readonly number[]} values
 * @param {number} rows
 * @param {number} columns
 */
export function byColumns(values, rows, columns) {
  const data = new Float32Array(rows * columns).fill(NaN);
  values.forEach((value, i) => (data[(i % rows) * columns + Math.floor(i / rows)] = value));
  return { data, shape: [rows, columns] };
}
