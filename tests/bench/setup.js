// What the benchmark needs besides what building needs: the peers, and the native module or the
// WebAssembly variants.

import { join } from 'node:path';

import { buildPackage, kVariants } from '../../wasm/toolchain/build.js';
import { kLockFile, kRoot, provideNpmPackages } from '../../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../../wasm/toolchain/cmake.js';
import { buildEnvironment, nativeEnvironment } from '../../wasm/toolchain/env.js';
import { withLock } from '../../wasm/toolchain/lock.js';
import { requireAll, say } from '../../wasm/toolchain/system.js';

/** @import { RequirementName } from '../../wasm/toolchain/system.js' */

export const kBenchFolder = join(kRoot, 'tests/bench');

/** @type {RequirementName[]} */
const kNativeNeeds = ['cmake', 'ninja', 'compiler', 'googlebenchmark'];
/** @type {RequirementName[]} */
const kWasmNeeds = ['cmake', 'ninja', 'chromium'];

/** @param {{ native: boolean, micro: boolean, wasm: boolean }} parts */
export async function setUp({ native, micro, wasm }) {
  await withLock(kLockFile, async () => {
    provideNpmPackages();
    provideNpmPackages(kBenchFolder, 'the peers that attn is compared with (about 500 MB)');
    requireAll('for the benchmark', [
      ...(native || micro ? kNativeNeeds : []),
      ...(wasm ? kWasmNeeds : []),
    ]);
    if (native || micro) {
      say('Building the native library.');
      const targets = [
        ...(native ? ['attn_node'] : []),
        ...(micro ? ['attn_microbenchmarks'] : []),
      ];
      await cmakeBuild('bench', targets, nativeEnvironment());
    }
    if (wasm) {
      say('Building the WebAssembly variants.');
      const env = buildEnvironment();
      await buildPackage(env);
      for (const variant of kVariants)
        await cmakeBuild(`wasm-${variant}`, ['attn_bench_wasm'], env);
    }
  });
}
