/**
 * Returns the result of a call of the core and the time that it took.
 * @template T
 * @param {() => T} call
 * @returns {{ value: T, milliseconds: number }}
 */
export function timed(call) {
  const start = performance.now();
  const value = call();
  return { value, milliseconds: performance.now() - start };
}
