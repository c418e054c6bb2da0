// What this engine's WebAssembly can do, found by validating modules of a few bytes.

const kHeader = [0, 97, 115, 109, 1, 0, 0, 0];
/** Type section: one function without parameters that returns a v128. */
const kVectorFunction = [1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0];

/** (func (result v128) (i8x16.popcnt (i8x16.splat (i32.const 0)))) */
const kSimd128 = [...kHeader, ...kVectorFunction, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];

/** (func (result v128) (i8x16.relaxed_swizzle (i8x16.splat …) (i8x16.splat …))) */
const kRelaxedSimd = [
  ...[...kHeader, ...kVectorFunction, 10, 15, 1, 13, 0],
  ...[65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11],
];

/** (memory 1 1 shared) (func (i32.atomic.load (i32.const 0)) drop) */
const kThreads = [
  ...[...kHeader, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 4, 1, 3, 1, 1],
  ...[10, 11, 1, 9, 0, 65, 0, 254, 16, 2, 0, 26, 11],
];

/** @param {number[]} bytes */
const validates = (bytes) => WebAssembly.validate(new Uint8Array(bytes));

/**
 * @typedef {object} Features
 * @property {boolean} simd128
 * @property {boolean} relaxedSimd
 * @property {boolean} threads
 */

/** @returns {Features} */
export function detectFeatures() {
  if (typeof WebAssembly !== 'object') {
    return { simd128: false, relaxedSimd: false, threads: false };
  }
  return {
    simd128: validates(kSimd128),
    relaxedSimd: validates(kRelaxedSimd),
    // Browsers share memory only between what is cross-origin isolated. Node has no such notion.
    threads:
      typeof SharedArrayBuffer === 'function' &&
      globalThis.crossOriginIsolated !== false &&
      validates(kThreads),
  };
}
