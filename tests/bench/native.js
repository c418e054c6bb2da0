// Runs the native half of the benchmark: attn, ONNX Runtime and the machine's bare loops, in this
// process.

import { spawnSync } from 'node:child_process';

import { SetupError } from '../../wasm/toolchain/system.js';
import { fewerBytesSolvers } from './fewerBytes.js';
import { attentionRow, maxAbsDifference, takeTurns } from './measure.js';
import { attnNode, floats, normal, secondsSince, solver } from './nativeJobs.js';
import { layerModel, productModel } from './onnxModel.js';
import { onnxAttentionSolvers, onnxSolver } from './onnxRuntime.js';
import { judge } from './result.js';
import { kVocabulary } from './works.js';

/** @import { Contestant, Pace } from './measure.js' */
/** @import { Solver } from './nativeJobs.js' */
/** @import { PyTorch } from './pytorch.js' */
/** @import { MeasuredRow } from './result.js' */
/** @import { AttentionShape, DocumentsWork, GradientsWork, StepWork, Work } from './works.js' */

const kPeaks = { operations: 2e8, beyondCaches: 2 ** 28 };

/**
 * Largest allowed difference between the results of two contestants, in float32 and in smaller
 * types. The results are about 1.
 */
const kTolerance = 1e-4;
const kTypeTolerances = { bfloat16: 2e-2, float16: 2e-3, int8: 2e-2 };

/**
 * @typedef {object} Solvers  all contestants for a work, attn first
 * @property {Solver[]} solvers
 * @property {(output: Float32Array) => number} [check]  the largest difference from a
 *   double-precision reference
 * @property {Contestant[]} [parts]  parts of the workload, timed separately for attn
 * @property {string} [note]  why a peer is missing
 */

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Waits until no thread of this process spins any more. The threads of a pool spin before they
 * sleep.
 */
export async function settle() {
  const kStepMs = 4;
  for (let waited = 0; waited < 400; waited += kStepMs) {
    const start = process.cpuUsage();
    await sleep(kStepMs);
    const { user, system } = process.cpuUsage(start);
    if (user + system < 0.25 * kStepMs * 1000) return;
  }
}

// Works

/**
 * @param {Work} work
 * @param {object} context
 * @param {number} threads
 * @param {PyTorch | undefined} pytorch
 * @returns {Solvers | Promise<Solvers>}
 */
function solversFor(work, context, threads, pytorch) {
  switch (work.kind) {
    case 'gradients':
      return gradientsSolvers(work, context, threads, pytorch);
    case 'step':
      return stepSolvers(work, context, threads, pytorch);
    case 'stored attention':
    case 'stored cache':
    case 'stored weights':
      return fewerBytesSolvers(work, context, threads, pytorch);
    case 'attention':
      return attentionSolvers(work.shape, work.hasPeers ?? false, context, threads);
    case 'documents':
      return documentsSolvers(work, context);
    case 'layer': {
      const { tokens, width } = work.shape;
      const deviation = 1 / Math.sqrt(width);
      const inProjWeight = normal(3 * width * width, 1, deviation);
      const outProjWeight = normal(width * width, 2, deviation);
      const x = normal(tokens * width, 3);
      const output = floats(x.length);
      const args = [inProjWeight, outProjWeight, x, output];
      const shape = [1, tokens, width];
      return {
        solvers: [
          solver('attn', attnNode().layer(context, work.shape, ...args), output, args),
          .../** @type {const} */ (['Attention', 'MultiHeadAttention', 'fused']).map((operator) =>
            onnxSolver(
              `ONNX Runtime ${operator}`,
              layerModel(operator, work.shape, inProjWeight, outProjWeight),
              threads,
              { x: { data: x, shape } },
              shape,
            ),
          ),
        ],
      };
    }
    case 'product': {
      const { rows, depth, columns } = work.shape;
      const weight = normal(columns * depth, 1, 1 / Math.sqrt(depth));
      const x = normal(rows * depth, 2);
      const output = floats(rows * columns);
      const args = [weight, x, output];
      return {
        solvers: [
          solver('attn', attnNode().linear(context, work.shape, ...args), output, args),
          onnxSolver(
            'ONNX Runtime MatMul',
            productModel(work.shape, weight),
            threads,
            { x: { data: x, shape: [rows, depth] } },
            [rows, columns],
          ),
        ],
      };
    }
    case 'token': {
      const logits = floats(work.shape.vocabulary);
      const job = attnNode().token(context, work.shape, logits);
      return { solvers: [solver('attn', job, logits, [logits])] };
    }
    case 'sinusoid': {
      const { rows, width } = work.shape;
      const output = floats(rows * width);
      return {
        solvers: [
          solver('attn', attnNode().sinusoid(context, work.shape, output), output, [output]),
        ],
        check: (output) => {
          let largest = 0;
          for (let i = 0; i < rows; i += 37) {
            for (let c = 0; c < width; ++c) {
              const angle = i / 10000 ** ((c - (c % 2)) / width);
              const exact = c % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
              largest = Math.max(largest, Math.abs(output[i * width + c] - exact));
            }
          }
          return largest;
        },
      };
    }
  }
}

/**
 * @param {AttentionShape} shape
 * @param {boolean} hasPeers
 * @param {object} context
 * @param {number} threads
 */
function attentionSolvers(shape, hasPeers, context, threads) {
  const { batch, heads, queries, keys, dim, causal, window, kvHeads = heads } = shape;
  const q = normal(batch * heads * queries * dim, 1);
  const k = normal(batch * kvHeads * keys * dim, 2);
  const v = normal(batch * kvHeads * keys * dim, 3);
  const output = floats(q.length);
  const args = [q, k, v, output];
  const options = {
    ...{ batch, heads, kvHeads, queries, keys, dim, causal: Number(causal ?? false) },
    ...(window && { left: window - 1, right: 0 }),
    columnSums: Number(shape.columnSums ?? false),
  };
  const solvers = [solver('attn', attnNode().attention(context, options, ...args), output, args)];
  if (shape.columnSums) {
    const own = floats(q.length);
    const args = [q, k, v, own];
    const job = attnNode().attention(context, { ...options, columnSums: 0 }, ...args);
    solvers.push(solver('attn without column sums', job, own, args));
  }
  if (hasPeers) solvers.push(...onnxAttentionSolvers(shape, threads, q, k, v));
  const rows = batch * heads * queries;
  const check = (/** @type {Float32Array} */ output) => {
    let largest = 0;
    for (let i = 0; i < 7; ++i) {
      const row = Math.floor((i * (rows - 1)) / 6);
      const exact = attentionRow(shape, q, k, v, row);
      const got = output.subarray(row * dim, (row + 1) * dim);
      largest = Math.max(largest, maxAbsDifference(got, exact));
    }
    return largest;
  };
  return { solvers, check };
}

/**
 * @param {DocumentsWork} work
 * @param {object} context
 * @returns {Solvers}
 */
function documentsSolvers({ shape, separation }, context) {
  const count = shape.heads * shape.keys * shape.dim;
  const inputs = [1, 2, 3].map((seed) => normal(count, seed));
  const solve = (/** @type {string} */ name, /** @type {number} */ by, each = shape.each) => {
    const output = floats(count);
    const args = [...inputs, output];
    const job = attnNode().documents(context, { ...shape, each, separation: by }, ...args);
    return solver(name, job, output, args);
  };
  if (separation === 'cu_seqlens') {
    return { solvers: [solve('attn', 1), solve('separate calls', 2)] };
  }
  // The contestant without a mask attends to all keys, so its output is not compared.
  const whole = solve('without a mask', 2, shape.keys);
  return { solvers: [solve('attn', 0), { ...whole, output: undefined }] };
}

/**
 * @param {GradientsWork} work
 * @param {object} context
 * @param {number} threads
 * @param {PyTorch | undefined} pytorch
 * @returns {Promise<Solvers>}
 */
async function gradientsSolvers({ kind, shape, withForward }, context, threads, pytorch) {
  const count = shape.heads * shape.keys * shape.dim;
  const [q, k, v, outputGradient] = [1, 2, 3, 4].map((seed) => normal(count, seed));
  const output = floats(3 * count);
  const options = { ...shape, causal: Number(shape.causal), withForward: Number(withForward) };
  const args = [q, k, v, outputGradient, output];
  const solvers = [solver('attn', attnNode().gradients(context, options, ...args), output, args)];
  const peer = await pytorch?.solver({ kind, shape, withForward }, threads, {
    ...{ q, k, v, outputGradient },
  });
  return { solvers: peer ? [...solvers, { ...peer, output: peer.gradients }] : solvers };
}

/**
 * @param {StepWork} work
 * @param {object} context
 * @param {number} threads
 * @param {PyTorch | undefined} pytorch
 * @returns {Promise<Solvers>}
 */
async function stepSolvers({ kind, name, shape }, context, threads, pytorch) {
  const sizes = { ...shape, vocabulary: kVocabulary };
  const gpt = attnNode().gpt(context, sizes);
  const job = attnNode().gptStep(gpt);
  const run = (/** @type {number} */ repeats) => attnNode().time(job, repeats);
  run(1);
  const elementwise = attnNode().gptElementwise(gpt);
  const peer = await pytorch?.solver({ kind, shape: sizes }, threads);
  // Losses are not compared, because attn and PyTorch draw different initial parameters. Separate
  // tests compare training runs.
  if (peer && peer.size !== attnNode().gptSize(gpt)) {
    throw new Error(
      `${name}: PyTorch's model has ${peer.size} parameters, but attn's has a different number`,
    );
  }
  return {
    solvers: [{ name: 'attn', run }, ...(peer ? [{ ...peer, output: undefined }] : [])],
    parts: [
      {
        name: 'elementwise',
        run: (repeats) => attnNode().time(elementwise, repeats),
      },
    ],
  };
}

// The machine

/**
 * @param {object} job
 * @returns {Contestant}
 */
const machineLoop = (job) => ({ name: 'machine', run: (repeats) => attnNode().time(job, repeats) });

/** @param {object[]} jobs @returns the job that is currently the fastest */
function fastest(jobs) {
  const times = jobs.map((job) => {
    let best = Infinity;
    for (let i = 0; i < 8; ++i) best = Math.min(best, attnNode().time(job, 1));
    return best;
  });
  return jobs[times.indexOf(Math.min(...times))];
}

const loopNumbers = () => Array.from({ length: attnNode().numMachineLoops() }, (_, i) => i);

/**
 * Instruction sets with loops over pairs of bfloat16 numbers. Their loops over floats are the same
 * as the loops of AVX-512.
 */
const kPairs = /^(avx512|amx)_bf16$/;

/**
 * Returns the loops with which the kernels are compared: all loops, or only the loops of the
 * instruction set that was requested.
 * @param {Work['roof']} roof
 * @param {string} instructionSet  '' for the best instruction set
 */
function loopsFor(roof, instructionSet) {
  const named = (/** @type {(name: string) => boolean} */ fits) =>
    loopNumbers().filter((loop) => fits(attnNode().machineLoopName(loop)));
  const pairs = named((name) => kPairs.test(name) && ['', name].includes(instructionSet));
  if (roof === 'bfloat16 multiply-add' && pairs.length > 0) return pairs;
  const others = named((name) => !kPairs.test(name));
  const wanted = instructionSet.replace(kPairs, 'avx512').replace('avx512_vnni', 'avx512');
  if (!wanted) return others;
  const own = named((name) => name === wanted);
  return own.length > 0 ? own : others.slice(-1);
}

/**
 * Returns the bare loop with which a workload is compared, and the amount of work that the loop
 * does.
 * @param {Work['roof']} roof
 * @param {number} threads
 * @param {number} bytes  bytes of memory to read or fill
 * @param {readonly number[]} loops
 * @returns {{ contestant: Contestant, amount: number }}
 */
function machineFor(roof, threads, bytes, loops) {
  if (roof.endsWith('multiply-add')) {
    const { operations } = kPeaks;
    const jobs = loops.map((loop) => attnNode().multiplyAdds(loop, threads, operations));
    return { contestant: machineLoop(fastest(jobs)), amount: threads * operations };
  }
  const memory = floats(bytes / 4).fill(1);
  const jobs =
    roof === 'read'
      ? loops.map((loop) => attnNode().read(loop, threads, memory))
      : [-1, ...loops].map((loop) => attnNode().fill(loop, threads, memory));
  const { name, run } = machineLoop(fastest(jobs));
  // The closure keeps the memory alive.
  return { contestant: { name, run: (n) => (memory.length ? run(n) : NaN) }, amount: bytes };
}

/**
 * Measures only the bare loops, which show the machine's limits.
 * @param {Pace} pace
 * @param {readonly number[]} threadCounts
 */
export async function measureMachine(pace, threadCounts) {
  attnNode();
  const peaks = [];
  const memory = floats(kPeaks.beyondCaches / 4).fill(1);
  for (const threads of threadCounts) {
    const contestants = [];
    for (const loop of loopNumbers()) {
      const name = attnNode().machineLoopName(loop);
      const multiplyAdds = attnNode().multiplyAdds(loop, threads, kPeaks.operations);
      contestants.push({ ...machineLoop(multiplyAdds), name: `multiply-add, ${name}` });
      // On instruction sets that add only bfloat16 instructions to AVX-512, the loops that read and
      // fill memory are the same as on AVX-512.
      if (kPairs.test(name)) continue;
      contestants.push(
        { ...machineLoop(attnNode().read(loop, threads, memory)), name: `read 256 MB, ${name}` },
        { ...machineLoop(attnNode().fill(loop, threads, memory)), name: `fill 256 MB, ${name}` },
      );
    }
    contestants.push({
      ...machineLoop(attnNode().fill(-1, threads, memory)),
      name: 'fill 256 MB, memset',
    });
    const times = await takeTurns(contestants, pace);
    for (const { name } of contestants) {
      const isCompute = name.startsWith('multiply-add');
      const amount = isCompute ? threads * kPeaks.operations : kPeaks.beyondCaches;
      peaks.push({
        name,
        threads,
        rate: amount / times[name].best / 1e9,
        unit: isCompute ? 'GFLOP/s' : 'GB/s',
      });
    }
  }
  return peaks;
}

/**
 * @param {readonly Work[]} works
 * @param {readonly number[]} threadCounts
 * @param {Pace} pace
 * @param {string} instructionSet  '' for the best instruction set
 * @param {PyTorch | undefined} pytorch
 * @param {(row: MeasuredRow) => void} report
 */
export async function measureNative(works, threadCounts, pace, instructionSet, pytorch, report) {
  attnNode();
  const contexts = new Map(
    threadCounts.map((threads) => [threads, attnNode().context(threads, instructionSet)]),
  );
  for (const work of works) {
    const loops = loopsFor(work.roof, instructionSet);
    for (const threads of threadCounts) {
      const context = contexts.get(threads);
      const {
        solvers,
        check,
        parts = [],
        note,
      } = await solversFor(work, context, threads, pytorch);
      const machine = machineFor(work.roof, threads, work.amount, loops);
      const differences = [];
      /** @type {Float32Array | undefined} */
      let own;
      for (const { name, run, output } of solvers) {
        await run(1);
        const result = await output?.();
        if (!result) continue;
        own ??= result;
        if (check) differences.push(requireAgreement(work, name, check(result)));
        if (result !== own) {
          const difference = maxAbsDifference(result, own);
          differences.push(requireAgreement(work, name, difference));
        }
      }
      const times = await takeTurns([...solvers, ...parts, machine.contestant], pace);
      for (const { dispose } of solvers) await dispose?.();
      const isa = attnNode().instructionSet(context);
      const difference = differences.length > 0 ? Math.max(...differences) : undefined;
      const row = {
        half: /** @type {const} */ ('native'),
        work,
        variant: isa,
        threads,
        times,
        note,
      };
      report(judge({ ...row, parts: parts.map(({ name }) => name), difference, machine }));
    }
  }
}

/**
 * @param {Work} work
 * @param {string} name
 * @param {number} difference
 */
function requireAgreement(work, name, difference) {
  if (difference <= ('type' in work ? kTypeTolerances[work.type] : kTolerance)) return difference;
  throw new Error(`${work.name}: results of ${name} differ by ${difference}`);
}

/**
 * Memory that one head with many tokens needs in addition to its inputs and outputs, measured in a
 * separate process.
 * @param {'forward' | 'gradients'} pass  `gradients` includes the forward pass
 * @param {number} tokens
 * @param {number} threads
 * @param {string} instructionSet
 */
export function measureMemory(pass, tokens, threads, instructionSet) {
  const args = [import.meta.filename, pass, String(tokens), String(threads), instructionSet];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new SetupError(`Measuring the memory failed:\n${stderr}`);
  return /** @type {{ bytes: number, seconds: number }} */ (JSON.parse(stdout));
}

if (process.argv[1] === import.meta.filename) {
  attnNode();
  const [pass, ...rest] = process.argv.slice(2);
  const [tokens, threads] = rest.map(Number);
  const shape = { batch: 1, heads: 1, queries: tokens, keys: tokens, dim: 64 };
  const [q, k, v, outputGradient] = [1, 2, 3, 4].map((seed) => normal(tokens * 64, seed));
  const output = floats((pass === 'gradients' ? 3 : 1) * tokens * 64).fill(1);
  const context = attnNode().context(threads, rest[2] ?? '');
  const job =
    pass === 'gradients'
      ? attnNode().gradients(context, { ...shape, withForward: 1 }, q, k, v, outputGradient, output)
      : attnNode().attention(context, shape, q, k, v, output);
  const start = process.hrtime.bigint();
  const bytes = attnNode().peakMemory(job);
  const seconds = secondsSince(start);
  console.log(JSON.stringify({ bytes, seconds, checksum: q[0] + k[0] + v[0] + output[0] }));
}
