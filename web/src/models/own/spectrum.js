// The spectrum of a table of positions.

import { product } from '../../core/product.js';
import { centred, transposed } from './components.js';

/** @typedef {import('attn').Tensor} Tensor */

/** Number of frequencies computed at once. */
const slice = 64;

/**
 * Computes the discrete Fourier transform of each column along the rows. The core multiplies the
 * columns by cosines and sines. For each k = 1 … ⌊n/2⌋, returns the frequency's share of the
 * variance about the mean row. Frequency k has k periods over the table. The shares add up to 1.
 * @param {import('attn').Attn} attn
 * @param {Tensor} table (n, d)
 * @returns {Generator<null, number[]>}
 */
export function* spectrum(attn, table) {
  const x = centred(table);
  const [n] = x.shape;
  const across = transposed(x);
  const total = x.data.reduce((sum, value) => sum + value * value, 0);
  const shares = [];
  for (let first = 1; first <= n >> 1; first += slice) {
    const count = Math.min(slice, (n >> 1) - first + 1);
    // A row of cosines and a row of sines for each frequency.
    const waves = Float32Array.from({ length: 2 * count * n }, (_, at) => {
      const [row, i] = [Math.floor(at / n), at % n];
      // Reduce the angle modulo a full turn while it is still a whole number of steps.
      const angle = (2 * Math.PI * (((first + (row >> 1)) * i) % n)) / n;
      return row % 2 ? Math.sin(angle) : Math.cos(angle);
    });
    const { data, shape } = product(attn, { data: waves, shape: [2 * count, n] }, across);
    const size = 2 * shape[1];
    for (let k = 0; k < count; k++) {
      const power = data
        .subarray(k * size, (k + 1) * size)
        .reduce((sum, value) => sum + value * value, 0);
      // Each frequency also represents its negative, except for the last frequency of an even n.
      const twice = 2 * (first + k) === n ? 1 : 2;
      shares.push((twice * power) / n / (total || 1));
    }
    yield null;
  }
  return shares;
}
