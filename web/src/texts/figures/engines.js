/** Text shown in the table of engines. */

export const title = 'The same attention, computed in four ways';
export const nothing = 'Nothing has been measured yet; press Run to start.';
/** @param {number | null} length @param {{ name: string, gflops: string }[]} engines */
export const summary = (length, engines) =>
  `Billions of operations per second at ${length} tokens: ${engines
    .map(({ name, gflops }) => `${name} ${gflops}`)
    .join(', ')}.`;
export const hint = 'A run takes about 20 seconds, in a worker. The page stays responsive.';
export const engine = 'engine';
export const rate = 'GFLOP/s';
export const rateAt = (/** @type {string} */ length) => `GFLOP/s at N = ${length}`;
export const speedup = 'times as fast as JavaScript';
export const off = 'off by at most';
export const failed = (/** @type {string} */ why) => `unavailable: ${why}`;
/** @param {{ heads: number, dim: number, comparedAt: number, first: string, last: string }} of */
export const about = ({ heads, dim, comparedAt, first, last }) =>
  `H = ${heads} heads of width D = ${dim}. “Off by” is the largest difference between a result and the same result in double precision, at N = ${comparedAt}. The speeds include everything that one call from JavaScript does, such as copying inputs and results. Choose a point of the curve below to see another N, from ${first} to ${last}.`;

/** Names of the engines, and notes on them. */
export const engines = {
  javascript: { name: 'JavaScript', note: 'scalar, double precision' },
  simd128: { name: 'SIMD128', note: 'four floats at a time' },
  relaxed: { name: 'relaxed SIMD', note: 'fused multiply-add where the processor has it' },
  threads: {
    name: 'threads',
    simd128: 'SIMD128 on each thread',
    relaxed: 'relaxed SIMD on each thread',
  },
};
