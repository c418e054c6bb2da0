/** Text shown in the curve of times. */

export const title = 'Twice as long, four times the time';
export const work = 'one attention';
export const growth = 'Time grows as a power of N.';
export const rate = (/** @type {string} */ gflops) => `a call, ${gflops} GFLOP/s`;
