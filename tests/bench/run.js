// npm run bench: times attn and its peers alternately, on the same inputs, and prints a table.
//
//   npm run bench                          everything
//   npm run bench -- --native --quick      the native half, with fewer rounds
//   npm run bench -- attention causal      workloads whose name contains one of these words
//
// --native, --wasm     only the native half or only the browser half
// --micro              Google Benchmark's micro-benchmarks of the native kernels; arguments after a
//                      second -- are passed to that program
// --quick              fewer rounds, without the longest workloads
// --threads 1,2        thread counts; by default 1, and also 2 if there are at least two cores
// --isa avx2           instruction set of the native half; by default the machine's best
// --python <command>   starts a Python with PyTorch, the peer for training and bfloat16; by default
//                      python3. Without PyTorch, rows do not have this peer
// --tinygpt <folder>   a checkout of sarthakagrawal927/tinygpt, whose .wasm becomes a peer for training
// --variants simd128   variants of the browser half: simd128, relaxed-simd, or by default both
// --json <file>        file for the results; by default build/bench/results.json
// --markdown <file>    also writes the table as Markdown

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch as machineArch, availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

import { kBuildFolder } from '../../wasm/toolchain/checkout.js';
import { say } from '../../wasm/toolchain/progress.js';
import { reportSetupError, SetupError } from '../../wasm/toolchain/system.js';
import { measureInBrowser, measureLoading, wasmSizes } from './browser.js';
import { measureMachine, measureMemory, measureNative, settle } from './native.js';
import { PyTorch } from './pytorch.js';
import {
  derivedLine,
  describeMachine,
  failureLines,
  headingLine,
  markdown,
  peakLine,
  rowLine,
} from './report.js';
import { besideNative, derive, kWasmPeer } from './result.js';
import { chooseVariants, kBenchFolder, setUp } from './setup.js';
import { kNativeWorks, kTinyGptSteps } from './works.js';

/** @import { Pace } from './measure.js' */
/** @import { DerivedRow, MeasuredRow } from './result.js' */
/** @import { Results } from './report.js' */

const kMemoryTokens = 65536;

/** @type {Pace} */
const kFullPace = { rounds: 9, batchSeconds: 0.06, sampleSeconds: 2e-4, settle };
/** @type {Pace} */
const kQuickPace = { ...kFullPace, rounds: 4, batchSeconds: 0.02 };

// In the browser, samples are longer because a page's clock has a resolution of 5 µs, and there is
// a warm-up because V8 recompiles code that runs often.
const kBrowserPace = { rounds: 7, batchSeconds: 0.1, sampleSeconds: 5e-3, warmUpSeconds: 0.3 };
const kQuickBrowserPace = { ...kBrowserPace, rounds: 3, batchSeconds: 0.03 };

function parse() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      native: { type: 'boolean', default: false },
      wasm: { type: 'boolean', default: false },
      micro: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      threads: { type: 'string', default: availableParallelism() > 1 ? '1,2' : '1' },
      isa: { type: 'string', default: '' },
      python: { type: 'string' },
      tinygpt: { type: 'string' },
      variants: { type: 'string', default: '' },
      json: { type: 'string', default: join(kBuildFolder, 'bench/results.json') },
      markdown: { type: 'string' },
    },
  });
  const threads = values.threads.split(',').map(Number);
  if (threads.some((count) => !(Number.isInteger(count) && count >= 1))) {
    throw new SetupError(
      `--threads: ${values.threads} must be a comma-separated list of positive whole numbers.`,
    );
  }
  const everything = !values.native && !values.wasm && !values.micro;
  return {
    ...values,
    native: values.native || everything,
    wasm: values.wasm || everything,
    threads,
    variants: chooseVariants(values.variants.split(',').filter(Boolean), threads),
    names: positionals,
  };
}

/**
 * @template {{ name: string, isLong?: boolean }} T
 * @param {readonly T[]} works
 * @param {{ names: string[], quick: boolean }} options
 */
function choose(works, { names, quick }) {
  return works.filter(
    ({ name, isLong }) =>
      !(quick && isLong) && (names.length === 0 || names.some((part) => name.includes(part))),
  );
}

/** @param {ReturnType<typeof parse>} options */
async function runBrowser(options) {
  const pace = options.quick ? kQuickBrowserPace : kBrowserPace;
  console.log(`\nIn the browser\n${headingLine()}`);
  /** @type {MeasuredRow[]} */
  const rows = [];
  const chromium = await measureInBrowser(
    (works) => choose(works, options),
    options.threads,
    options.variants,
    pace,
    options.tinygpt,
    (row) => {
      rows.push(row);
      console.log(rowLine(row));
    },
  );
  if (options.names.length > 0) return { rows, chromium, others: [] };
  const others = [...wasmSizes(options.variants), ...(await measureLoading(options.variants))];
  return { rows, chromium, others };
}

/** @param {ReturnType<typeof parse>} options */
async function runNative(options) {
  const pace = options.quick ? kQuickPace : kFullPace;
  const works = choose(kNativeWorks, options);
  console.log(`\nNative\n${headingLine()}`);
  /** @type {MeasuredRow[]} */
  const rows = [];
  const hasPeer = works.some(({ kind }) =>
    ['gradients', 'step', 'stored attention', 'stored weights'].includes(kind),
  );
  const pytorch = hasPeer ? await startPyTorch(options.python) : undefined;
  await measureNative(works, options.threads, pace, options.isa, pytorch, (row) => {
    rows.push(row);
    console.log(rowLine(row));
  });
  pytorch?.end();
  if (!options.isa && machineArch() === 'x64') {
    // The registers of `kWasmPeer` have the same width as WebAssembly's registers.
    const steps = choose(kTinyGptSteps, options);
    await measureNative(steps, options.threads, pace, kWasmPeer, undefined, (row) => {
      rows.push(row);
      console.log(rowLine(row));
    });
  }
  const peaks = options.names.length === 0 ? await measureMachine(pace, options.threads) : [];
  if (peaks.length > 0) console.log(`\nThe machine itself\n${peaks.map(peakLine).join('\n')}`);
  /** @type {DerivedRow[]} */
  const memory = [];
  if (options.names.length === 0 && !options.quick) {
    const threads = Math.max(...options.threads);
    for (const pass of /** @type {const} */ (['forward', 'gradients'])) {
      const { bytes, seconds } = measureMemory(pass, kMemoryTokens, threads, options.isa);
      // Some systems do not report a process's memory.
      if (bytes < 0) continue;
      memory.push(memoryRow(pass, bytes, seconds, threads, rows[0]?.variant ?? ''));
    }
  }
  return { rows, peaks, memory, pytorch: pytorch?.version };
}

/** @param {string | undefined} command  if given, it must start Python */
async function startPyTorch(command) {
  if (!command && spawnSync('python3', ['-c', 'import torch'], { stdio: 'ignore' }).status !== 0) {
    say(
      'PyTorch was not found, so training and bfloat16 have no peer. Install torch or pass --python.',
    );
    return undefined;
  }
  return PyTorch.start(command ?? 'python3');
}

/**
 * @param {'forward' | 'gradients'} pass
 * @param {number} bytes
 * @param {number} seconds
 * @param {number} threads
 * @param {string} variant
 * @returns {DerivedRow}
 */
function memoryRow(pass, bytes, seconds, threads, variant) {
  const beyond = pass === 'forward' ? 'inputs and output' : 'inputs, output and gradients';
  return {
    half: 'native',
    name: `memory beyond ${beyond}, one head of ${kMemoryTokens} tokens`,
    variant,
    threads,
    measured: `${(bytes / 2 ** 20).toFixed(1)} MB (in ${seconds.toFixed(1)} s)`,
  };
}

/** @returns {Record<string, string>} versions of the measured peers */
function peerVersions() {
  const versionOf = (/** @type {string} */ name) =>
    JSON.parse(readFileSync(join(kBenchFolder, `node_modules/${name}/package.json`), 'utf8'))
      .version;
  const names = [
    'onnxruntime-node',
    'onnxruntime-web',
    '@tensorflow/tfjs-backend-wasm',
    '@jax-js/jax',
  ];
  return Object.fromEntries(names.map((name) => [name, versionOf(name)]));
}

async function main() {
  const options = parse();
  await setUp(options);
  if (options.micro) {
    const program = join(kBuildFolder, 'bench/tests/bench/native/attn_microbenchmarks');
    const { status } = spawnSync(program, options.names, { stdio: 'inherit' });
    process.exitCode = status ?? 1;
  }
  /** @type {Results} */
  const results = {
    machine: describeMachine(),
    versions: peerVersions(),
    isQuick: options.quick,
    peaks: [],
    rows: [],
    derived: [],
  };
  if (options.native) {
    const { rows, peaks, memory, pytorch } = await runNative(options);
    if (pytorch) results.versions.PyTorch = pytorch;
    results.rows.push(...rows);
    results.peaks.push(...peaks);
    results.derived.push(...derive(rows), ...memory);
  }
  if (options.wasm) {
    const { rows, chromium, others } = await runBrowser(options);
    results.versions.Chromium = chromium;
    results.rows.push(...rows);
    results.derived.push(...derive(rows), ...others);
  }
  results.derived.push(...besideNative(results.rows));
  if (results.rows.length === 0) return;
  const notes = [...results.derived.map(derivedLine), ...failureLines(results.rows)];
  console.log(['', ...notes].join('\n'));
  mkdirSync(dirname(options.json), { recursive: true });
  writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
  say(`The results are in ${options.json}.`);
  if (options.markdown) writeFileSync(options.markdown, markdown(results));
}

try {
  await main();
} catch (error) {
  reportSetupError(error);
}
