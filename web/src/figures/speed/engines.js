import { engines as texts } from '../../texts/figures/engines.js';

/** @typedef {import('../../measurement/workloads.js').Job} Job */
/** @typedef {import('../../measurement/run.svelte.js').Result} Result */
/** @typedef {import('attn').Variant} Variant */

/** Shape of the attention that is timed. */
export const shape = { heads: 8, dim: 64 };

export const lengths = [64, 128, 256, 512, 1024, 2048, 4096];

/**
 * Length at which results are compared with results in double precision, which would take too long
 * at greater lengths.
 */
export const comparedAt = 256;

/**
 * Number of multiplications and additions. Each head computes two products, each with N² · D
 * multiply-adds.
 * @param {number} length
 */
export const operations = (length) => 4 * shape.heads * length ** 2 * shape.dim;

/**
 * @typedef {object} Engine
 * @property {string} id
 * @property {string} name
 * @property {string} note
 * @property {Variant | null} variant  null for JavaScript
 */

/**
 * The engines to time. Whether this browser supports an engine is known only after loading it.
 * @param {Variant} best the best variant that this browser supports; the threaded engine has the
 *   same instructions
 * @returns {Engine[]}
 */
export function enginesFor(best) {
  const single = /** @type {'simd128' | 'relaxed-simd'} */ (best.replace('-threads', ''));
  return [
    { id: 'javascript', ...texts.javascript, variant: null },
    { id: 'simd128', ...texts.simd128, variant: 'simd128' },
    { id: 'relaxed', ...texts.relaxed, variant: 'relaxed-simd' },
    {
      id: 'threads',
      name: texts.threads.name,
      note: single === 'simd128' ? texts.threads.simd128 : texts.threads.relaxed,
      variant: `${single}-threads`,
    },
  ];
}

/** @param {Engine[]} engines @returns {Job[]} */
export const jobsOf = (engines) =>
  engines.map(({ id, variant }) => ({
    id,
    work: variant ? 'attention' : 'scalarAttention',
    ...(variant ? { variant } : { threads: 1 }),
    shape,
    lengths,
    power: 2,
    compareAt: comparedAt,
  }));

/**
 * The largest length that every engine has reached, at which all engines can be compared.
 * @param {Result[]} results
 */
export function commonLength(results) {
  const reached = results.filter(({ points }) => points.length);
  if (reached.length === 0) return null;
  return Math.min(...reached.map(({ points }) => points[points.length - 1].length));
}

/**
 * @typedef {object} Row
 * @property {Engine} engine
 * @property {number} threads
 * @property {number | null} gflops  null if not measured
 * @property {number | null} speedup  relative to JavaScript
 * @property {number | null} difference  the largest |result − result in doubles|
 * @property {string} failure
 */

/**
 * The measurements at one length.
 * @param {Engine[]} engines
 * @param {Result[]} results
 * @param {number | null} length
 * @returns {Row[]}
 */
export function rowsAt(engines, results, length) {
  const secondsOf = (/** @type {string} */ id) =>
    results.find((result) => result.id === id)?.points.find((point) => point.length === length)
      ?.seconds ?? null;
  const javascript = secondsOf('javascript');
  return engines.map((engine) => {
    const result = results.find(({ id }) => id === engine.id);
    const seconds = secondsOf(engine.id);
    return {
      engine,
      threads: result?.threads ?? 1,
      gflops: seconds && length ? operations(length) / seconds / 1e9 : null,
      speedup: seconds && javascript ? javascript / seconds : null,
      difference: result?.comparison?.difference ?? null,
      failure: result?.failure ?? '',
    };
  });
}
