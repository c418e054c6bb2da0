// npm test: sets everything up and runs all suites, or those named: npm test -- native wasm
// A name that no suite has stands for every suite that begins with it. Some suites take too long for
// every run and have to be named. What fails shows its output.

import { mkdirSync, rmSync } from 'node:fs';
import { inspect } from 'node:util';

import { kLockFile, provideNpmPackages } from '../wasm/toolchain/checkout.js';
import { buildEnvironment, nativeEnvironment } from '../wasm/toolchain/env.js';
import { withLock } from '../wasm/toolchain/lock.js';
import { reportSetupError, requireAll, SetupError } from '../wasm/toolchain/system.js';
import { kReportFolder, kSuites } from './suites.js';

/** @import { Result, Suite } from './suites.js' */

const kNameWidth = 27;

/**
 * @param {string[]} names
 * @returns {Suite[]}
 */
function choose(names) {
  for (const name of names) {
    if (kSuites.some((suite) => suite.name.startsWith(name))) continue;
    const known = kSuites.map((suite) => suite.name).join(', ');
    throw new SetupError(`There is no test suite ${name}; there are ${known}.`);
  }
  if (names.length === 0) return kSuites.filter(({ onRequest }) => !onRequest);
  const isMeant = (/** @type {Suite} */ suite, /** @type {string} */ name) =>
    kSuites.some((other) => other.name === name)
      ? suite.name === name
      : suite.name.startsWith(name) && !suite.onRequest;
  return kSuites.filter((suite) => names.some((name) => isMeant(suite, name)));
}

/**
 * @param {Suite[]} suites
 * @returns {Promise<{ ready: Suite[], left: { name: string, reason: string }[], env: Record<string, string> }>}
 */
async function setUp(suites) {
  await provideNpmPackages();
  const left = [];
  const ready = [];
  await requireAll(
    'for the tests',
    suites.filter(({ optional }) => !optional).flatMap(({ needs = [] }) => needs),
  );
  for (const suite of suites) {
    try {
      await requireAll(`for the test suite ${suite.name}`, suite.needs ?? []);
      ready.push(suite);
    } catch (error) {
      if (!suite.optional || !(error instanceof SetupError)) throw error;
      left.push({ name: suite.name, reason: error.message });
    }
  }
  const needsEmscripten = ready.some((suite) => suite.needsEmscripten);
  return { ready, left, env: await (needsEmscripten ? buildEnvironment() : nativeEnvironment()) };
}

/**
 * @param {string} name
 * @param {Result} result
 * @param {number} seconds
 */
function summaryLine(name, { passed, failed, skipped }, seconds) {
  const counts = `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
  return `${name.padEnd(kNameWidth)} ${counts}, ${seconds.toFixed(1)} s`;
}

async function runAll() {
  const { ready, left, env } = await setUp(choose(process.argv.slice(2)));
  rmSync(kReportFolder, { recursive: true, force: true });
  mkdirSync(kReportFolder, { recursive: true });

  const lines = [];
  const total = { passed: 0, failed: 0 };
  for (const { name, run } of ready) {
    const start = performance.now();
    process.stdout.write(name.padEnd(kNameWidth));
    const step = (/** @type {string} */ text) => process.stdout.write(` ${text} …`);
    /** @type {Result} */
    let result;
    try {
      result = await run(step, env);
    } catch (error) {
      // A build that fails counts as one failed test, and the other suites still run.
      const output = error instanceof SetupError ? error.message : inspect(error);
      result = { passed: 0, failed: 1, skipped: 0, output };
    }
    const line = summaryLine(name, result, (performance.now() - start) / 1000);
    process.stdout.write(`${line.slice(kNameWidth)}\n`);
    if (result.failed > 0) console.log(`\n${result.output.trim()}\n`);
    lines.push(line);
    total.passed += result.passed;
    total.failed += result.failed;
  }
  for (const { name, reason } of left) lines.push(`${name.padEnd(kNameWidth)} left out: ${reason}`);

  console.log(`\n${lines.join('\n')}\n\n${total.passed} passed, ${total.failed} failed`);
  if (total.failed > 0) process.exitCode = 1;
}

try {
  await withLock(kLockFile, runAll);
} catch (error) {
  reportSetupError(error);
}
