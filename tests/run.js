// Runs test suites one after another and prints a line for each.
//
//   npm test                    the suites to run before a pull request
//   npm run test:all            the suites that npm test leaves out; CI runs both
//   npm run test:platforms      other compilers and machines
//   npm test -- native browser  suites by name
//   npm test -- tests/wasm/alibi.test.js    files, each in the first suite that contains it

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';

import {
  buildCppReference,
  buildNativeTypes,
  buildPackage,
  buildPageFile,
  buildSite,
  kVariants,
} from '../wasm/toolchain/build.js';
import { kBuildFolder, kLockFile, kRoot, provideNpmPackages } from '../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../wasm/toolchain/cmake.js';
import { buildEnvironment } from '../wasm/toolchain/env.js';
import { formatCpp, formatJavaScript } from '../wasm/toolchain/format.js';
import { withLock } from '../wasm/toolchain/lock.js';
import { step } from '../wasm/toolchain/progress.js';
import { reportSetupError, requireAll, SetupError } from '../wasm/toolchain/system.js';
import { checks, ctest, memcheck, nodeProgram, nodeTest } from './runners.js';
import { passedAt, rememberPassed, stateFor } from './unchanged.js';

/** @import { RequirementName } from '../wasm/toolchain/system.js' */
/** @import { Environment, Result, Run } from './runners.js' */

/** @typedef {'test' | 'all' | 'platforms' | 'named'} Tier  `named`: runs only by name */
/**
 * @typedef {object} Suite
 * @property {Tier} tier
 * @property {RequirementName[]} [needs]
 * @property {string[]} [folders]  folders with test files
 * @property {string} [packages]  a folder with a package.json, whose packages the suite needs
 * @property {string[]} [unread]  folders that the suite does not read. `npm test` skips the suite if
 *   it has passed and nothing outside these folders has changed since
 * @property {Run} run
 */

/** @type {RequirementName[]} */
const kNative = ['cmake', 'ninja', 'compiler', 'googletest', 'compilerCache'];
/** @type {RequirementName[]} */
const kWasm = ['cmake', 'ninja', 'googletest'];
/** @type {RequirementName[]} */
const kClang = [...kNative, 'clang'];
/** @type {RequirementName[]} */
const kCross = ['cmake', 'ninja', 'googletest', 'compilerCache'];
/** @type {RequirementName[]} */
const kNeon = [...kCross, 'aarch64'];

// GoogleTest filters for tests that another suite already covers.
/**
 * Tests of the reference itself and of a 100 MB header. Their outcome does not depend on the build.
 */
const kOnce = 'RecordedTest.*:LargeNumbersTest.of_a_header*:*ReferenceGradientTest.*';
/**
 * Every instruction set except AVX2. All instruction sets share the threaded loops around the
 * kernels.
 */
const kOtherSets = '*/avx512:*/sse4_1:*/scalar';
/**
 * The test of the error bound of bfloat16 attention takes a minute, because it emulates
 * instructions. Other tests run the same kernel on two threads.
 */
const kEmulation = 'Bf16AttentionTest.is_within_the_stated_bound*';

/**
 * With sanitizers, GCC takes minutes to compile a kernel table, whereas Clang takes half a minute.
 */
const kAsan = { env: { CXX: 'clang++-19' }, shards: 8 };
const kTsan = {
  env: { CXX: 'clang++-19', TSAN_OPTIONS: 'halt_on_error=1' },
  targets: ['attn_tests'],
  label: 'unit',
  shards: 8,
};
const kEmulated = {
  targets: ['attn_tests', 'attn_accuracy'],
  label: 'unit|accuracy|symbols',
  shards: 8,
};
const kUnit = { targets: ['attn_tests'], label: 'unit', shards: 8 };
const kWine = {
  drive: 'Z:',
  env: {
    WINEPREFIX: join(kBuildFolder, 'wine'),
    WINEDEBUG: '-all',
    // Without these overrides, Wine offers to download Mono and Gecko.
    WINEDLLOVERRIDES: 'mscoree,mshtml=',
  },
};

const simd128 = (/** @type {Environment} */ env) => buildPackage(env, { variants: ['simd128'] });
const checked = (/** @type {Environment} */ env) => simd128({ ...env, ATTN_CHECK_ADDRESSES: 'ON' });
const simd128Site = (/** @type {Environment} */ env) => simd128(env).then(buildSite);
const site = (/** @type {Environment} */ env) => buildPackage(env).then(buildSite);
const siteAndFile = (/** @type {Environment} */ env) => site(env).then(buildPageFile);
const library = (/** @type {Environment} */ env) =>
  cmakeBuild('release', ['attn', 'attn_selftest', 'attn_train_language_model'], env);
const kOtherVariants = { ATTN_VARIANTS: kVariants.filter((name) => name !== 'simd128').join() };

const kEslintCache = ['--cache', '--cache-location', join(kBuildFolder, 'eslint-cache')];

/** @type {Record<string, Suite>} */
const kSuites = {
  lint: {
    tier: 'test',
    needs: [...kWasm, 'clangFormat'],
    packages: 'tests/firefox/driver',
    run: checks(
      (env) =>
        buildNativeTypes(env).then(() =>
          nodeProgram('svelte-check/bin/svelte-check', '--fail-on-warnings', '--output', 'human'),
        ),
      () => nodeProgram('eslint/bin/eslint.js', '--max-warnings=0', ...kEslintCache, '.'),
      () => formatJavaScript({ check: true }),
      () => formatCpp({ check: true }),
    ),
  },
  native: {
    tier: 'test',
    needs: kNative,
    unread: [
      ...['web/src/', 'wasm/js/', 'wasm/src/', 'tests/wasm/', 'tests/golden/', 'tests/package/'],
      ...['tests/browser/', 'tests/firefox/', 'tests/pictures/', 'tests/timing/', 'tests/clients/'],
    ],
    run: ctest('release'),
  },
  javascript: {
    tier: 'test',
    needs: kWasm,
    ...nodeTest(['tests/wasm', 'tests/bench', 'web'], { build: simd128 }),
  },
  browser: {
    tier: 'test',
    needs: [...kWasm, 'chromium'],
    // Test files spend part of their time waiting for frames and messages. The suite therefore runs
    // one more file at a time than there are cores.
    ...nodeTest(['tests/browser'], {
      build: simd128Site,
      // This module needs npm packages, which may not be installed yet.
      share: () => import('./browser/site.js').then(({ shareBrowser }) => shareBrowser()),
      parallel: availableParallelism() + 1,
    }),
  },

  // Finds memory errors, leaks and undefined behaviour. It skips SSE4.1, whose kernels use the same
  // vector width and number of rows as the scalar kernels.
  asan: {
    tier: 'all',
    needs: kClang,
    run: ctest('asan', { ...kAsan, except: `*/sse4_1:${kOnce}` }),
  },
  tsan: {
    tier: 'all',
    needs: kClang,
    run: ctest('tsan', { ...kTsan, except: `${kOtherSets}:${kOnce}:${kEmulation}` }),
  },
  neon: {
    tier: 'all',
    needs: kNeon,
    run: ctest('neon', { ...kEmulated, except: `*/scalar:${kOnce}` }),
  },
  wasm: {
    tier: 'all',
    needs: kWasm,
    run: ctest('wasm', { label: 'unit|accuracy', shards: 2, except: kOnce }),
  },
  variants: {
    tier: 'all',
    needs: kWasm,
    ...nodeTest(['tests/wasm'], { build: buildPackage, env: kOtherVariants }),
  },
  // Finds tensors that JavaScript places outside of allocated memory.
  addresses: {
    tier: 'all',
    needs: kWasm,
    ...nodeTest(['tests/wasm'], { build: checked }),
  },
  package: {
    tier: 'all',
    needs: [...kWasm, 'chromium'],
    ...nodeTest(['tests/package'], { build: buildPackage }),
  },
  consumer: {
    tier: 'all',
    needs: [...kNative, 'mpi'],
    ...nodeTest(['tests/consumer'], { build: library }),
  },
  reference: {
    tier: 'all',
    needs: ['doxygen'],
    run: checks(() => buildCppReference(join(kBuildFolder, 'reference'))),
  },
  pictures: {
    tier: 'all',
    needs: [...kWasm, 'chromium'],
    ...nodeTest(['tests/pictures'], { build: site }),
  },
  firefox: {
    tier: 'all',
    needs: [...kWasm, 'chromium', 'firefox'],
    packages: 'tests/firefox/driver',
    ...nodeTest(['tests/firefox'], { build: siteAndFile }),
  },

  'clang-14': {
    tier: 'platforms',
    needs: [...kNative, 'clang14'],
    run: ctest('clang-14', { ...kUnit, except: `${kOtherSets}:${kOnce}:${kEmulation}` }),
  },
  // Compiles the kernels, tests and programs as unity builds too.
  unity: {
    tier: 'platforms',
    needs: kNative,
    run: checks((env) => cmakeBuild('unity', ['all'], env)),
  },
  mingw: {
    tier: 'platforms',
    needs: [...kCross, 'mingw'],
    run: ctest('mingw', { ...kUnit, ...kWine, except: `${kOtherSets}:${kOnce}:${kEmulation}` }),
  },
  riscv64: {
    tier: 'platforms',
    needs: [...kCross, 'riscv64'],
    // Tests with emulated bfloat16 instructions do not run here, because riscv64 has no such
    // instructions and other machines run the same tests much faster. There are many shards, because
    // emulated shards take long and CTest limits their time.
    run: ctest('riscv64', { ...kUnit, shards: 24, except: `${kOnce}:*Bf16*` }),
  },
  i686: {
    tier: 'platforms',
    needs: [...kCross, 'i686'],
    run: ctest('i686', { ...kUnit, except: `${kOnce}:${kEmulation}` }),
  },
  'neon-whole': { tier: 'platforms', needs: kNeon, run: ctest('neon', kEmulated) },

  timing: {
    tier: 'named',
    needs: [...kWasm, 'chromium'],
    ...nodeTest(['tests/timing'], { build: site }),
  },
  clients: {
    tier: 'named',
    needs: kWasm,
    ...nodeTest(['tests/clients'], { build: buildPackage }),
  },
  'asan-whole': { tier: 'named', needs: kClang, run: ctest('asan', kAsan) },
  'tsan-whole': { tier: 'named', needs: kClang, run: ctest('tsan', kTsan) },
  memcheck: {
    tier: 'named',
    needs: [...kNative, 'valgrind'],
    run: memcheck(`${kOtherSets}:${kOnce}:Exp2NonpositiveTest.*:*accurate_as_stated*`),
  },
  'wasm-safe-heap': {
    tier: 'named',
    needs: kWasm,
    run: ctest('wasm', {
      targets: ['attn_tests_safe-heap'],
      label: 'safe-heap',
      shards: 2,
      except: kOnce,
    }),
  },
};

/**
 * @param {string[]} words  names of suites, tiers prefixed with "--", and test files
 * @returns {[string, Suite, string[]][]}  each suite with the files to run; all files if the list
 *   is empty
 */
function chooseSuites(words) {
  /** @type {Map<string, string[]>} */
  const chosen = new Map();
  for (const word of words) {
    const names = Object.keys(kSuites).filter(
      (name) => word === name || word === `--${kSuites[name].tier}`,
    );
    const suite = Object.keys(kSuites).find((name) =>
      kSuites[name].folders?.some((folder) => word.startsWith(`${folder}/`)),
    );
    if (names.length > 0) names.forEach((name) => chosen.set(name, []));
    else if (suite && existsSync(word)) chosen.set(suite, [...(chosen.get(suite) ?? []), word]);
    else {
      const suites = Object.keys(kSuites).join(', ');
      throw new SetupError(
        `"${word}" is neither a test file nor a suite. The suites are ${suites}.`,
      );
    }
  }
  return Object.entries(kSuites)
    .filter(([name]) => chosen.has(name))
    .map(([name, suite]) => [name, suite, chosen.get(name) ?? []]);
}

/** @param {string} name @param {Omit<Result, 'output'>} result @param {number} start */
function summaryOf(name, { passed, failed, skipped }, start) {
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const rest = skipped ? `, ${skipped} skipped` : '';
  return `${name.padEnd(16)} ${passed} passed, ${failed} failed${rest}, ${seconds} s`;
}

/**
 * @param {ReturnType<typeof chooseSuites>} suites
 * @param {boolean} mayBeSkipped  whether to skip suites that passed and have not changed since
 */
async function runSuites(suites, mayBeSkipped) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines = [];
  const begin = performance.now();
  await provideNpmPackages();
  for (const folder of new Set(suites.flatMap(([, { packages = [] }]) => packages))) {
    await provideNpmPackages(join(kRoot, folder), `npm packages of ${folder}`);
  }
  await requireAll(
    'for the tests',
    suites.flatMap(([, { needs = [] }]) => needs),
  );
  const env = await buildEnvironment();
  for (const [name, { run, unread }, files] of suites) {
    const start = performance.now();
    const readState = async () =>
      unread && mayBeSkipped ? stateFor(unread, env).catch(() => undefined) : undefined;
    const state = await readState();
    const time = state && passedAt(name, state);
    if (time) {
      lines.push(
        `${name.padEnd(16)} unchanged since it passed on ${time}; npm test -- ${name} runs it`,
      );
      console.log(lines.at(-1));
      continue;
    }
    const result = await step(name, (update) => run(update, env, files)).catch((error) => {
      // A failed build counts as one failed test, and the other suites still run.
      const output = error instanceof SetupError ? error.message : inspect(error);
      return { passed: 0, failed: 1, skipped: 0, output };
    });
    if (result.failed > 0) console.log(`\n${result.output.trim()}\n`);
    lines.push(summaryOf(name, result, start));
    console.log(lines.at(-1));
    // Files that changed while the suite ran may not have been tested.
    if (state && result.failed === 0 && (await readState()) === state) rememberPassed(name, state);
    for (const key of /** @type {const} */ (['passed', 'failed', 'skipped']))
      total[key] += result[key];
  }
  console.log(`\n${lines.join('\n')}\n${summaryOf('total', total, begin)}`);
  if (total.failed > 0) process.exitCode = 1;
}

try {
  const words = process.argv.slice(2);
  const suites = chooseSuites(words.length > 0 ? words : ['--test']);
  await withLock(kLockFile, () => runSuites(suites, words.length === 0 && !process.env.CI));
} catch (error) {
  reportSetupError(error);
}
