/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */

/**
 * A·Bᵀ, all dot products of rows: the scores of an attention whose queries and keys they are.
 * @param {Attn} attn
 * @param {Tensor} a (n, d)
 * @param {Tensor} b (m, d)
 * @returns {Tensor} (n, m)
 */
export function product(attn, a, b) {
  const [rows] = b.shape;
  // Nobody asks for the output: values of one column cost least.
  const value = { data: new Float32Array(rows), shape: [rows, 1] };
  const { scaledScores } = attn.scaledDotProductAttention(a, b, value, {
    ...{ scale: 1, needScaledScores: true },
  });
  return /** @type {Tensor} */ (scaledScores);
}

/** Multiplications of one step. */
const perStep = 2 ** 23;

/**
 * The same in steps of some rows each.
 * @param {Attn} attn
 * @param {Tensor} a (n, d)
 * @param {Tensor} b (m, d)
 * @returns {Generator<undefined, Tensor>} (n, m)
 */
export function* productInSteps(attn, a, b) {
  const [[n, d], [m]] = [a.shape, b.shape];
  const data = new Float32Array(n * m);
  const rows = Math.max(1, Math.floor(perStep / (m * d)));
  for (let first = 0; first < n; first += rows) {
    const last = Math.min(n, first + rows);
    const some = { data: a.data.subarray(first * d, last * d), shape: [last - first, d] };
    data.set(product(attn, some, b).data, first * m);
    yield;
  }
  return { data, shape: [n, m] };
}
