/**
 * Runs all steps without interruption and returns the result.
 * @template T
 * @param {Generator<unknown, T>} steps
 * @returns {T}
 */
export function finish(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
