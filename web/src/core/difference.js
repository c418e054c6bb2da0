/**
 * Computes a − b element by element.
 * @template {{ data: Float32Array }} T a tensor or a matrix
 * @param {T} a
 * @param {T} b a tensor or a matrix of the same shape
 * @returns {T}
 */
export function difference(a, b) {
  const data = a.data.slice();
  for (let i = 0; i < data.length; i++) data[i] -= b.data[i];
  return { ...a, data };
}

/**
 * The largest |a − b| over all elements; NaN if any difference is NaN.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b an array of the same length
 */
export function maxAbsDifference(a, b) {
  let largest = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i] - b[i]);
    if (Number.isNaN(difference)) return NaN;
    largest = Math.max(largest, difference);
  }
  return largest;
}
