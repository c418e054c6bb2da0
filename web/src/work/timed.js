/**
 * Calls the core and returns the result and the time that the call took.
 * @template T
 * @param {() => T} call
 * @returns {{ value: T, milliseconds: number }}
 */
export function timed(call) {
  const start = performance.now();
  const value = call();
  return { value, milliseconds: performance.now() - start };
}
