/** Longest time that one slice may block the page, in ms. */
const slice = 8;

/**
 * Runs the steps of a generator on this thread, in slices. Between slices, the page can respond.
 * @template T
 * @param {Generator<unknown, T>} steps
 * @param {AbortSignal} signal
 * @returns {Promise<{ value: T } | null>} the result; null if cancelled
 */
export async function inSlices(steps, signal) {
  while (!signal.aborted) {
    const start = performance.now();
    do {
      const { done, value } = steps.next();
      if (done) return { value };
    } while (performance.now() - start < slice);
    await new Promise((resolve) => setTimeout(resolve));
  }
  steps.return(/** @type {any} */ (undefined));
  return null;
}
