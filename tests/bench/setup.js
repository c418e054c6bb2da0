// Sets up what the benchmark needs in addition to a build: the peers, and the native module or the
// WebAssembly variants.

import { join } from 'node:path';

import { kFlavours, kVariants } from '../../wasm/toolchain/build.js';
import { kLockFile, kRoot, provideNpmPackages } from '../../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../../wasm/toolchain/cmake.js';
import { buildEnvironment, nativeEnvironment } from '../../wasm/toolchain/env.js';
import { withLock } from '../../wasm/toolchain/lock.js';
import { buildModules } from '../../wasm/toolchain/modules.js';
import { say } from '../../wasm/toolchain/progress.js';
import { requireAll, SetupError } from '../../wasm/toolchain/system.js';

/** @import { RequirementName } from '../../wasm/toolchain/system.js' */

export const kBenchFolder = join(kRoot, 'tests/bench');

/** @type {RequirementName[]} */
const kNativeNeeds = ['cmake', 'ninja', 'compiler', 'googlebenchmark'];
/** @type {RequirementName[]} */
const kWasmNeeds = ['cmake', 'ninja', 'chromium'];

/**
 * Returns the variants that support at least one of the given thread counts.
 * @param {readonly string[]} variants
 * @param {readonly number[]} threadCounts
 */
export const variantsFor = (variants, threadCounts) =>
  variants.filter((variant) =>
    threadCounts.some((threads) => variant.endsWith('-threads') === threads > 1),
  );

/**
 * @param {readonly string[]} named  names of variants, without the suffix "-threads"; empty means
 *   all
 * @param {readonly number[]} threadCounts
 */
export function chooseVariants(named, threadCounts) {
  const plain = (/** @type {string} */ variant) => variant.replace(/-threads$/, '');
  const unknown = named.find((name) => !kVariants.map(plain).includes(name));
  if (unknown !== undefined) {
    const known = [...new Set(kVariants.map(plain))].join(', ');
    throw new SetupError(`There is no variant ${unknown}. The variants are ${known}.`);
  }
  const all = variantsFor(kVariants, threadCounts);
  return named.length === 0 ? all : all.filter((variant) => named.includes(plain(variant)));
}

/** @param {{ native: boolean, micro: boolean, wasm: boolean, variants: string[] }} parts */
export async function setUp({ native, micro, wasm, variants }) {
  await withLock(kLockFile, async () => {
    await provideNpmPackages();
    await provideNpmPackages(kBenchFolder, 'the peers that attn is compared with (about 500 MB)');
    await requireAll('for the benchmark', [
      ...(native || micro ? kNativeNeeds : []),
      ...(wasm ? kWasmNeeds : []),
    ]);
    if (native || micro) {
      say('Building the native library.');
      const targets = [
        ...(native ? ['attn_node'] : []),
        ...(micro ? ['attn_microbenchmarks'] : []),
      ];
      await cmakeBuild('bench', targets, await nativeEnvironment());
    }
    if (wasm) {
      say('Building the WebAssembly variants.');
      const targets = variants.flatMap((name) => [
        ...kFlavours.map((flavour) => `${flavour}_wasm_${name}`),
        `attn_bench_${name}`,
      ]);
      await cmakeBuild('wasm', targets, await buildEnvironment(), { tests: false });
      await buildModules(kFlavours, variants);
    }
  });
}
