/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */

/**
 * A·Bᵀ, all dot products between the rows, computed as a linear layer whose weight is B.
 * @param {Attn} attn
 * @param {Tensor} a (n, d)
 * @param {Tensor} b (m, d)
 * @returns {Tensor} (n, m)
 */
export function product(attn, a, b) {
  const linear = linearOf(attn, b);
  try {
    return linear.forward(a);
  } finally {
    linear.dispose();
  }
}

/** Number of multiplications per step. */
const perStep = 2 ** 23;

/**
 * Computes A·Bᵀ a few rows per step.
 * @param {Attn} attn
 * @param {Tensor} a (n, d)
 * @param {Tensor} b (m, d)
 * @returns {Generator<undefined, Tensor>} (n, m)
 */
export function* productInSteps(attn, a, b) {
  const [[n, d], [m]] = [a.shape, b.shape];
  const data = new Float32Array(n * m);
  const rows = Math.max(1, Math.floor(perStep / (m * d)));
  const linear = linearOf(attn, b);
  try {
    for (let first = 0; first < n; first += rows) {
      const last = Math.min(n, first + rows);
      const some = { data: a.data.subarray(first * d, last * d), shape: [last - first, d] };
      data.set(linear.forward(some).data, first * m);
      yield;
    }
  } finally {
    linear.dispose();
  }
  return { data, shape: [n, m] };
}

/** @param {Attn} attn @param {Tensor} weight (m, d) */
function linearOf(attn, weight) {
  const [outFeatures, inFeatures] = weight.shape;
  const linear = new attn.Linear({ inFeatures, outFeatures, bias: false });
  linear.setParameter('weight', weight);
  return linear;
}
