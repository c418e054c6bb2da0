// Runs suites: checks of the sources, tests with CTest, and tests with Node's test runner.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from '../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../wasm/toolchain/cmake.js';
import { nodeFlags } from '../wasm/toolchain/node.js';
import { command, CommandError, findChromium } from '../wasm/toolchain/system.js';

/**
 * @typedef {{ passed: number, failed: number, skipped: number, output: string }} Result
 * @typedef {Record<string, string>} Environment
 * @typedef {(update: (state: string) => void, env: Environment, files: string[]) => Promise<Result>} Run
 *   If `files` is given, only these test files of the suite run.
 */

const kReportFolder = join(kBuildFolder, 'reports');
const kSuiteTimeoutMs = 40 * 60 * 1000;
const kCTestTimeout = 1200;
const kNodeTestTimeoutMs = 600 * 1000;

/**
 * Runs a command. Does not throw if the command fails.
 * @param {string} program
 * @param {string[]} args
 * @param {Environment} env
 * @param {(line: string) => void} [onLine]  receives each line of output as it is printed
 * @returns {Promise<{ code: number | undefined, hasFailed: boolean, output: string }>}
 */
async function outcomeOf(program, args, env, onLine) {
  try {
    const options = { cwd: kRoot, env, timeoutMs: kSuiteTimeoutMs, onLine };
    return { code: 0, hasFailed: false, output: await command(program, args, options) };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { code: error.code, hasFailed: true, output: error.message };
  }
}

/**
 * Checks the sources with commands that run in parallel.
 * @param {...((env: Environment) => Promise<unknown>)} functions  each throws a CommandError if it
 *   finds a problem
 * @returns {Run}
 */
export function checks(...functions) {
  return async (_, env) => {
    const result = { passed: 0, failed: 0, skipped: 0, output: '' };
    const run = async (/** @type {(typeof functions)[number]} */ check) => {
      try {
        await check(env);
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

/**
 * Runs a program of an npm package.
 * @param {string} file  below node_modules
 * @param {...string} args
 */
export const nodeProgram = (file, ...args) =>
  command(process.execPath, [join('node_modules', file), ...args], { cwd: kRoot });

/**
 * Builds a preset and runs its tests with CTest.
 * @param {string} preset
 * @param {object} [options]
 * @param {string} [options.label]  a regular expression for the labels of the tests to run; all by
 *   default
 * @param {string} [options.except]  GoogleTest patterns of tests to skip
 * @param {string[]} [options.targets]  targets to build; everything by default
 * @param {number} [options.shards] number of CTest entries per program, instead of one for each
 *   GoogleTest suite; for programs that take long to start
 * @param {string} [options.drive]  drive letter of this machine's files in Wine, as in "Z:"
 * @param {Environment} [options.env]
 * @returns {Run}
 */
export function ctest(
  preset,
  { label, except, targets = ['all'], shards, drive = '', env: more } = {},
) {
  return async (update, commonEnv) => {
    const env = { ...commonEnv, ...more };
    await cmakeBuild(preset, targets, env, { update: (state) => update(`building ${state}`) });
    const reports = makeReportFolder(preset);
    const { hasFailed, output } = await outcomeOf(
      'ctest',
      [
        ...['--preset', preset, '--no-tests=error', '--timeout', `${kCTestTimeout}`],
        ...['--parallel', `${availableParallelism()}`],
        ...(label ? ['--label-regex', label] : []),
      ],
      {
        ...env,
        ATTN_TEST_REPORTS: drive + reports,
        ...(shards && { ATTN_TEST_SHARDS: `${shards}` }),
        GTEST_FILTER: `*-${except ?? ''}`,
        GTEST_BRIEF: '1',
      },
      // CTest prints lines such as "12/200 Test #12: LinearTest ... Passed".
      (line) => {
        const count = /^ *(\d+\/\d+) Test /.exec(line)?.[1];
        if (count) update(`testing ${count}`);
      },
    );
    return { ...countGoogleTests(reports, hasFailed), output };
  };
}

/**
 * Adds up the reports of GoogleTest programs. A program that crashed or does not use GoogleTest has
 * no report. If a program failed and no report shows a failure, one failed test is added.
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
 * Runs the test files in folders with Node's test runner.
 * @param {string[]} folders
 * @param {object} [options]
 * @param {(env: Environment) => Promise<unknown>} [options.build]  builds what the tests need
 * @param {Environment} [options.env]
 * @param {() => Promise<{ env: Environment, close: () => Promise<void> }>} [options.share]  starts
 *   a program that the test files share
 * @param {number} [options.parallel]  number of files that run at a time
 * @returns {{ folders: string[], run: Run }}
 */
export function nodeTest(
  folders,
  // By default Node reserves one core, so on a two-core machine it would run the files one at a
  // time.
  { build, env: more, share, parallel = availableParallelism() } = {},
) {
  /** @type {Run} */
  const run = async (update, commonEnv, files) => {
    const env = { ...commonEnv, ...more, CHROMIUM: findChromium() ?? '' };
    await build?.(env);
    const name = folders[0].replaceAll('/', '-');
    const report = join(makeReportFolder(name), 'spec.txt');
    let counts = { passed: 0, failed: 0, skipped: 0 };
    const shared = await share?.();
    const { hasFailed, output } = await outcomeOf(
      process.execPath,
      [
        ...nodeFlags(),
        ...['--test', `--test-timeout=${kNodeTestTimeoutMs}`],
        `--test-concurrency=${parallel}`,
        ...['--test-reporter=./tests/reporter.js', '--test-reporter-destination=stdout'],
        ...['--test-reporter=spec', `--test-reporter-destination=${report}`],
        ...(files.length > 0 ? files : folders.flatMap(testFilesIn)),
      ],
      { ...env, ...shared?.env },
      (line) => {
        if (!line.startsWith('{')) return;
        counts = JSON.parse(line);
        update(`${counts.passed + counts.failed + counts.skipped} tests`);
      },
    );
    await shared?.close();
    if (hasFailed && counts.failed === 0) counts.failed = 1;
    return { ...counts, output: hasFailed ? failuresOf(report, output) : '' };
  };
  return { folders, run };
}

/**
 * Returns the list of failures in a report that Node's reporter `spec` wrote. If the report has no
 * such list, returns the report and `output`.
 * @param {string} report the report's file
 * @param {string} output
 */
function failuresOf(report, output) {
  const text = existsSync(report) ? readFileSync(report, 'utf8') : '';
  const start = text.lastIndexOf('failing tests:');
  return start < 0 ? `${text}\n${output}` : text.slice(start);
}

/** @param {string} folder */
const testFilesIn = (folder) =>
  readdirSync(join(kRoot, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js') && !/(^|[\\/])(dist|node_modules)[\\/]/.test(file))
    .map((file) => join(folder, file))
    .sort();

/** @param {string} name */
function makeReportFolder(name) {
  const folder = join(kReportFolder, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * Runs the native tests under Valgrind, in two halves that run in parallel.
 * @param {string} except  GoogleTest patterns of tests to skip
 * @returns {Run}
 */
export function memcheck(except) {
  return async (update, env) => {
    await cmakeBuild('release', ['attn_tests'], env, {
      update: (state) => update(`building ${state}`),
    });
    const reports = makeReportFolder('memcheck');
    const args = [
      ...['--error-exitcode=99', '--leak-check=full', '--errors-for-leak-kinds=definite'],
      // Without fair scheduling, a spinning thread starves the other threads.
      ...['--num-callers=30', '--fair-sched=yes'],
      // The tests' operator new can throw. Valgrind would replace it with an operator that ends the
      // program.
      '--soname-synonyms=somalloc=nouserintercepts',
      join(kBuildFolder, 'release/tests/native/attn_tests'),
      ...['--gtest_brief=1', `--gtest_filter=*-${except}`],
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
    // Valgrind computes long double as double, so comparisons with references in extended precision
    // fail. A program with failed tests exits with code 1. Only Valgrind's own findings count here.
    const found = halves.some(({ code }) => code !== 0 && code !== 1);
    const { passed, failed, skipped } = countGoogleTests(reports, found);
    const output = halves.map((half) => half.output).join('');
    return found
      ? { passed, failed: Math.max(failed, 1), skipped, output }
      : { passed, failed: 0, skipped: skipped + failed, output };
  };
}
