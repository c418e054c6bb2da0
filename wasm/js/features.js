// Detects the WebAssembly features of this engine by validating modules of a few bytes.

/** @param {number[]} sections */
const validates = (...sections) =>
  typeof WebAssembly === 'object' &&
  WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, ...sections]));

/**
 * True if the engine supports an instruction. Validates a module with this function: (func (result
 * v128) (instruction (i8x16.splat (i32.const 0))))
 * @param {number[]} code  bytes of the instruction
 */
const hasInstruction = (...code) =>
  validates(
    ...[1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
    ...[10, code.length + 8, 1, code.length + 6, 0, 65, 0, 253, 15, ...code, 11],
  );

/**
 * @typedef {object} Features
 * @property {boolean} simd128
 * @property {boolean} relaxedSimd
 * @property {boolean} threads
 */

/** @returns {Features} */
export const detectFeatures = () => ({
  simd128: hasInstruction(253, 98), // i8x16.popcnt
  relaxedSimd: hasInstruction(253, 129, 2), // i32x4.relaxed_trunc_f32x4_s
  // Browsers share memory only if the page is cross-origin isolated. Node has no such restriction.
  threads:
    typeof SharedArrayBuffer === 'function' &&
    globalThis.crossOriginIsolated !== false &&
    validates(5, 4, 1, 3, 1, 1), // (memory 1 1 shared)
});
