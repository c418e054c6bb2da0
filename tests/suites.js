// The test suites: what each needs, builds and runs.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { arch, availableParallelism } from 'node:os';
import { join } from 'node:path';

import { buildCppReference, buildPackage, buildSite, kVariants } from '../wasm/toolchain/build.js';
import { kBuildFolder, kRoot } from '../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../wasm/toolchain/cmake.js';
import { formatCpp, formatJavaScript } from '../wasm/toolchain/format.js';
import { nodeFlags } from '../wasm/toolchain/node.js';
import { command, CommandError, findChromium, SetupError } from '../wasm/toolchain/system.js';

/** @import { RequirementName } from '../wasm/toolchain/system.js' */

/**
 * @typedef {object} Result
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string} output
 *
 * @typedef {object} Suite
 * @property {string} name
 * @property {RequirementName[]} [needs]
 * @property {boolean} [needsEmscripten]
 * @property {boolean} [optional]  left out where its needs cannot be met, with the reason
 * @property {boolean} [onRequest]  takes too long for every run: only when it is named
 * @property {(step: (name: string) => void, env: Record<string, string>) => Promise<Result>} run
 */

export const kReportFolder = join(kBuildFolder, 'reports');
const kCountingReporter = './tests/countingReporter.js';
const kTestTimeoutSeconds = 300;
/** A file opens dozens of pages, one after the other. */
const kBrowserTimeoutSeconds = 900;
/** Projects that use attn by its sources compile it whole, one after the other. */
const kConsumerTimeoutSeconds = 1800;
const kSuiteTimeout = 90 * 60 * 1000;
const kMaxOutput = 100 * 1024 * 1024;

/** @type {RequirementName[]} */
const kNativeNeeds = ['cmake', 'ninja', 'compiler', 'googletest'];
/** @type {RequirementName[]} */
const kCrossNeeds = ['cmake', 'ninja', 'aarch64', 'googletest'];
/** @type {RequirementName[]} */
const kWasmNeeds = ['cmake', 'ninja', 'googletest'];

/**
 * A filter of GoogleTest's: on x86-64 AVX2 stands for all instruction sets. The loops around the
 * kernels, which ThreadSanitizer looks at, are the same, and the kernels themselves are instances of
 * the same templates.
 */
const kOneInstructionSet = '-*/avx512:*/sse4_1:*/scalar';
/**
 * Says the same in every build: the tests' reference beside what PyTorch computed and beside
 * differences, and a header of 100 MB.
 */
const kSameEverywhere = 'RecordedTest.*:LargeNumbersTest.of_a_header*:*ReferenceGradientTest.*';
/** An instruction that is emulated takes a minute; other tests show its kernels to two threads. */
const kErrorsOfEmulation = 'Bf16AttentionTest.is_within_the_stated_bound*';
/**
 * SSE4.1's vectors and rows are as many as those of the scalar kernels, whose arithmetic the sanitizer
 * of undefined behaviour sees, and its vectors a step as many as AVX2's.
 */
const kNoSse = `-*/sse4_1:${kSameEverywhere}`;
/** So many that no core is left alone with the longest of them. */
const kShards = 8;
const kAsan = {
  // With its sanitizers GCC takes more than three minutes for one kernel table, Clang half a one.
  settings: { CXX: 'clang++-19' },
  shards: kShards,
};
const kTsan = {
  settings: { CXX: 'clang++-19', TSAN_OPTIONS: 'halt_on_error=1' },
  // GoogleTest's program alone.
  targets: ['attn_tests'],
  tests: '^shard_',
  shards: kShards,
};
const kNeon = {
  // Without what fuzzing has found, which goes through the loops around the kernels.
  targets: ['attn_tests', 'attn_accuracy'],
  tests: '^(shard_|Accuracy|Kernels)',
  shards: kShards,
};
/** @type {Suite[]} */
const kAllSuites = [
  { name: 'format', needs: ['clangFormat'], run: checks(formatCpp, formatJavaScript) },
  { name: 'lint', needs: ['doxygen'], run: checks(eslint, cppReference) },
  { name: 'types', run: checks(svelteCheck) },
  // Its objects are compiled once more, as parts of other projects, unless there is a cache.
  { name: 'native', needs: [...kNativeNeeds, 'compilerCache'], run: googleTest('release') },
  {
    name: 'asan',
    needs: [...kNativeNeeds, 'clang'],
    run: googleTest('asan', { ...kAsan, filter: kNoSse }),
  },
  {
    name: 'asan-whole',
    needs: [...kNativeNeeds, 'clang'],
    onRequest: true,
    run: googleTest('asan', kAsan),
  },
  {
    name: 'tsan',
    needs: [...kNativeNeeds, 'clang'],
    run: googleTest('tsan', {
      ...kTsan,
      filter: `${kOneInstructionSet}:${kSameEverywhere}:${kErrorsOfEmulation}`,
    }),
  },
  {
    name: 'tsan-whole',
    needs: [...kNativeNeeds, 'clang'],
    onRequest: true,
    run: googleTest('tsan', kTsan),
  },
  {
    name: 'memcheck',
    needs: [...kNativeNeeds, 'valgrind'],
    onRequest: true,
    run: memcheck,
  },
  {
    name: 'consumer',
    needs: [...kNativeNeeds, 'compilerCache', 'mpi'],
    run: nodeTest(
      'consumer',
      ['tests/consumer'],
      (env) => cmakeBuild('release', ['attn', 'attn_train_language_model'], env),
      { timeoutSeconds: kConsumerTimeoutSeconds },
    ),
  },
  {
    name: 'neon',
    needs: kCrossNeeds,
    optional: true,
    // The scalar kernels are those of x86-64.
    run: googleTest('neon', { ...kNeon, filter: `-*/scalar:${kSameEverywhere}` }),
  },
  {
    name: 'neon-whole',
    needs: kCrossNeeds,
    optional: true,
    onRequest: true,
    run: googleTest('neon', kNeon),
  },
  ...kVariants.map(
    /** @returns {Suite} */ (variant) => ({
      name: `wasm-${variant}`,
      needs: kWasmNeeds,
      needsEmscripten: true,
      run: googleTest('wasm', { variant, shards: 2, filter: `-${kSameEverywhere}` }),
    }),
  ),
  {
    name: 'wasm-safe-heap',
    needs: kWasmNeeds,
    needsEmscripten: true,
    onRequest: true,
    run: googleTest('wasm', {
      variant: 'safe-heap',
      targets: ['attn_tests_safe-heap'],
      shards: 2,
      filter: `-${kSameEverywhere}`,
    }),
  },
  {
    name: 'javascript',
    needs: kWasmNeeds,
    needsEmscripten: true,
    run: nodeTest(
      'javascript',
      ['tests/wasm', 'tests/package', 'tests/bench', 'web'],
      buildPackage,
    ),
  },
  {
    name: 'browser',
    needs: [...kWasmNeeds, 'chromium', 'firefox'],
    needsEmscripten: true,
    run: browserTest('browser'),
  },
  {
    name: 'browser-whole',
    needs: [...kWasmNeeds, 'chromium', 'firefox'],
    needsEmscripten: true,
    onRequest: true,
    // The pictures of all chapters.
    run: browserTest('browser-whole', { settings: { ATTN_EVERYTHING: '1' } }),
  },
  {
    name: 'timing',
    needs: [...kWasmNeeds, 'chromium'],
    needsEmscripten: true,
    onRequest: true,
    run: browserTest('timing', { folder: 'tests/timing' }),
  },
];

// An aarch64 machine runs the NEON kernels natively.
export const kSuites = kAllSuites.filter(
  ({ name }) => !name.startsWith('neon') || arch() === 'x64',
);

/**
 * A suite of a preset's GoogleTest program, run by CTest.
 * @param {string} preset
 * @param {object} [options]
 * @param {string} [options.variant]  one program of several: that of a WebAssembly variant
 * @param {string[]} [options.targets]  what to build; everything by default
 * @param {string} [options.tests]  a regular expression of CTest's: which tests to run of what is built
 * @param {number} [options.shards]  how many processes share its tests, two of them side by side,
 * instead of one for each of GoogleTest's suites: for what takes long to start
 * @param {string} [options.filter]  GoogleTest's
 * @param {Record<string, string>} [options.settings]  further environment variables
 * @returns {Suite['run']}
 */
function googleTest(preset, options = {}) {
  const { variant, targets = ['all'], shards, filter = '*', settings } = options;
  // Variants of one build are told apart by how their tests' names begin.
  const tests = variant ? `^${variant}[.]` : options.tests;
  return async (step, commonEnv) => {
    const env = { ...commonEnv, ...settings };
    step('building');
    await cmakeBuild(preset, targets, env);
    step('testing');
    const reports = makeReportFolder([preset, variant].filter(Boolean).join('-'));
    const args = ['--preset', preset, '--no-tests=error'];
    if (tests) args.push('--tests-regex', tests);
    args.push('--parallel', '2', '--timeout', `${kTestTimeoutSeconds}`);
    args.push('--test-output-size-failed', `${kMaxOutput}`);
    if (shards) Object.assign(env, { ATTN_TEST_SHARDS: `${shards}` });
    Object.assign(env, { ATTN_TEST_REPORTS: reports, GTEST_FILTER: filter, GTEST_BRIEF: '1' });
    const { code, output } = await outcomeOf('ctest', args, env);
    return { ...countGoogleTests(reports, code !== 0), output };
  };
}

/**
 * A suite of what valgrind finds in the native GoogleTest program, in two halves, side by side.
 * @type {Suite['run']}
 */
async function memcheck(step, env) {
  step('building');
  await cmakeBuild('release', ['attn_tests'], env);
  step('testing');
  const reports = makeReportFolder('memcheck');
  const kFound = 99;
  const args = [
    `--error-exitcode=${kFound}`,
    '--leak-check=full',
    '--errors-for-leak-kinds=definite',
    '--num-callers=30',
    // Threads that wait for others would else keep them from running.
    '--fair-sched=yes',
    // The tests have an operator new of their own, which throws; valgrind's ends the program.
    '--soname-synonyms=somalloc=nouserintercepts',
    join(kBuildFolder, 'release/tests/native/attn_tests'),
    '--gtest_brief=1',
    // Sweeps over millions of floats take long and show it nothing new.
    `--gtest_filter=${kOneInstructionSet}:${kSameEverywhere}:Exp2NonpositiveTest.*:*accurate_as_stated*`,
  ];
  const halves = await Promise.all(
    [0, 1].map((half) =>
      outcomeOf('valgrind', args, {
        ...env,
        GTEST_TOTAL_SHARDS: '2',
        GTEST_SHARD_INDEX: `${half}`,
        GTEST_OUTPUT: `json:${join(reports, `${half}.json`)}`,
      }),
    ),
  );
  const ended = halves.every(({ code }) => code === 0 || code === 1);
  const { passed, failed, skipped } = countGoogleTests(reports, !ended);
  const output = halves.map((half) => half.output).join('');
  // To valgrind a long double is a double: results cannot be compared with references in extended
  // precision, and only what it finds itself counts.
  return ended
    ? { passed, failed: 0, skipped: skipped + failed, output }
    : { passed, failed: Math.max(failed, 1), skipped, output };
}

/** @param {string} name */
function makeReportFolder(name) {
  const folder = join(kReportFolder, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * Adds up the reports of GoogleTest's programs. A program that ended before it could write one, or
 * that is none of GoogleTest's, shows in `hasFailed` alone, and counts as one test.
 * @param {string} folder
 * @param {boolean} hasFailed
 */
function countGoogleTests(folder, hasFailed) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of readdirSync(folder)) {
    const report = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    for (const { testsuite } of report.testsuites) {
      for (const { result, failures } of testsuite) {
        if (failures) counts.failed += 1;
        else if (result === 'COMPLETED') counts.passed += 1;
        else counts.skipped += 1;
      }
    }
  }
  if (counts.failed === 0 && (hasFailed || counts.passed === 0)) counts.failed = 1;
  return counts;
}

/**
 * A suite of test files for Node's own test runner.
 * @param {string} name
 * @param {string[]} folders
 * @param {(env: Record<string, string>) => Promise<void>} build
 * @param {object} [options]
 * @param {number} [options.timeoutSeconds]  of each file
 * @param {Record<string, string>} [options.settings]  further environment variables
 * @returns {Suite['run']}
 */
function nodeTest(
  name,
  folders,
  build,
  { timeoutSeconds = kTestTimeoutSeconds, settings = {} } = {},
) {
  return async (step, commonEnv) => {
    const env = { ...commonEnv, ...settings };
    step('building');
    await build(env);
    step('testing');
    const files = folders.flatMap(testFilesIn);
    const report = join(makeReportFolder(name), 'counts.json');
    const reporters = { spec: 'stdout', [kCountingReporter]: report };
    const args = ['--test', `--test-timeout=${timeoutSeconds * 1000}`];
    // Node's own default keeps a core for itself; of two that is one file after the other.
    args.push(`--test-concurrency=${availableParallelism()}`);
    for (const [reporter, destination] of Object.entries(reporters)) {
      args.push(`--test-reporter=${reporter}`, `--test-reporter-destination=${destination}`);
    }
    if (files.length === 0) throw new SetupError(`No *.test.js in ${folders.join(', ')}.`);
    const { output } = await outcomeOf(process.execPath, [...nodeFlags(), ...args, ...files], {
      ...env,
      CHROMIUM: findChromium() ?? '',
    });
    const counts = existsSync(report) && readFileSync(report, 'utf8');
    return { ...(counts ? JSON.parse(counts) : { passed: 0, failed: 1, skipped: 0 }), output };
  };
}

/**
 * @param {string} name
 * @param {object} [options]
 * @param {string} [options.folder]
 * @param {Record<string, string>} [options.settings]  further environment variables
 */
function browserTest(name, { folder = 'tests/browser', settings = {} } = {}) {
  const build = async (/** @type {Record<string, string>} */ env) => {
    await buildPackage(env);
    await buildSite();
  };
  return nodeTest(name, [folder], build, {
    timeoutSeconds: kBrowserTimeoutSeconds,
    settings,
  });
}

/**
 * A suite in which each function is one check. They run side by side: each keeps one core busy.
 * @param {...((options: { check: boolean }) => Promise<unknown>)} functions
 * @returns {Suite['run']}
 */
function checks(...functions) {
  return async (step) => {
    step('checking');
    const result = { passed: 0, failed: 0, skipped: 0, output: '' };
    const run = async (/** @type {(typeof functions)[number]} */ check) => {
      try {
        await check({ check: true });
        result.passed += 1;
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        result.failed += 1;
        result.output += `${error.message}\n`;
      }
    };
    await Promise.all(functions.map(run));
    return result;
  };
}

async function eslint() {
  const program = 'node_modules/eslint/bin/eslint.js';
  await command(process.execPath, [program, '--max-warnings=0', '.'], { cwd: kRoot });
}

/** Doxygen's warnings are errors. */
async function cppReference() {
  await buildCppReference(join(kBuildFolder, 'reference'));
}

async function svelteCheck() {
  const program = 'node_modules/svelte-check/bin/svelte-check';
  const args = ['--tsconfig', './tsconfig.json', '--output', 'human', '--fail-on-warnings'];
  await command(process.execPath, [program, ...args], { cwd: kRoot });
}

/**
 * How a test program ends and what it prints, whether its tests pass or not.
 * @param {string} program
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @returns {Promise<{ code: number | undefined, output: string }>}
 */
async function outcomeOf(program, args, env) {
  try {
    const output = await command(program, args, { cwd: kRoot, env, timeoutMs: kSuiteTimeout });
    return { code: 0, output };
  } catch (error) {
    if (error instanceof CommandError) return { code: error.code, output: error.message };
    throw error;
  }
}

/** @param {string} folder */
function testFilesIn(folder) {
  if (!existsSync(join(kRoot, folder))) return [];
  return readdirSync(join(kRoot, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js') && !/(^|[\\/])(dist|node_modules)[\\/]/.test(file))
    .map((file) => join(folder, file))
    .sort();
}
