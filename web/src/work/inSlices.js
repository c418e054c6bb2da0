/** Longest time that one slice may block the page, in ms. */
const slice = 8;

/**
 * Runs the steps of a generator on this thread, in slices between which the page stays responsive.
 * @template T
 * @param {Generator<unknown, T>} steps
 * @param {AbortSignal} signal
 * @returns {Promise<{ value: T, milliseconds: number } | null>} the result and the time that the
 *   steps took; null if cancelled
 */
export async function inSlices(steps, signal) {
  let milliseconds = 0;
  while (!signal.aborted) {
    const start = performance.now();
    let now;
    do {
      const { done, value } = steps.next();
      now = performance.now();
      if (done) return { value, milliseconds: milliseconds + now - start };
    } while (now - start < slice);
    milliseconds += now - start;
    await new Promise((resolve) => setTimeout(resolve));
  }
  steps.return(/** @type {any} */ (undefined));
  return null;
}
