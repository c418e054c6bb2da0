// Returns the flags that this Node needs to run every variant of the module. Node 20 supports
// relaxed SIMD, but only behind a flag that newer versions may no longer accept.

import { execFileSync } from 'node:child_process';

const kRelaxedSimdFlag = '--experimental-wasm-relaxed-simd';

// (func (result v128) (i8x16.relaxed_swizzle (i8x16.splat (i32.const 1)) (i8x16.splat …)))
const kRelaxedSimdModule = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15,
  65, 2, 253, 15, 253, 128, 2, 11,
]);

/** @returns {string[]} */
export function nodeFlags() {
  if (WebAssembly.validate(kRelaxedSimdModule)) return [];
  const script = `process.exit(WebAssembly.validate(new Uint8Array([${kRelaxedSimdModule}])) ? 0 : 1)`;
  try {
    execFileSync(process.execPath, [kRelaxedSimdFlag, '-e', script], { stdio: 'ignore' });
    return [kRelaxedSimdFlag];
  } catch {
    return [];
  }
}
