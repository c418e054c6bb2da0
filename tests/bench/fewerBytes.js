// Times attention, caches and weights in types smaller than float32. Compares attn with PyTorch or
// ONNX Runtime, and with attn in float32.

import { attnNode, floats, normal, solver } from './nativeJobs.js';
import { groupQueryAttentionSolver } from './onnxRuntime.js';

/** @import { Contestant } from './measure.js' */
/** @import { Solver } from './nativeJobs.js' */
/** @import { PyTorch } from './pytorch.js' */
/** @import { FewerBytesWork, StoredAttentionWork, StoredCacheWork, StoredWeightsWork } from './works.js' */

/** The values of attn::ElementType. */
const kTypes = { float32: 0, float16: 1, bfloat16: 2, int8: 3 };

/** Name of the contestant that runs the same workload in attn with float32 numbers. */
const kFloat32 = 'float32';

/** Number of keys of a cache that fits in any processor's second-level cache. */
const kKeysInCache = 1024;

/** Name of the part that shows how long the computation takes without waiting for memory. */
const kComputation = 'computation';

const kNoFastPath = 'no fast path in this build';

/**
 * @param {FewerBytesWork} work
 * @param {object} context
 * @param {number} threads
 * @param {PyTorch | undefined} pytorch
 * @returns {Promise<{ solvers: Solver[], parts?: Contestant[], note?: string }>}
 */
export async function fewerBytesSolvers(work, context, threads, pytorch) {
  if (work.kind === 'stored cache') return cache(work, context, threads);
  // Comparing with a PyTorch that multiplies bfloat16 numbers one at a time would say nothing.
  const isSlow = pytorch?.hasFastBFloat16 === false;
  const peer = isSlow ? undefined : pytorch;
  const solvers =
    work.kind === 'stored attention'
      ? await attention(work, context, threads, peer)
      : await weights(work, context, threads, peer);
  return { solvers, ...(isSlow && { note: `PyTorch: ${kNoFastPath}` }) };
}

/**
 * @param {StoredAttentionWork} work
 * @param {object} context
 * @param {number} threads
 * @param {PyTorch | undefined} pytorch
 */
async function attention({ kind, shape, type }, context, threads, pytorch) {
  const count = shape.heads * shape.keys * shape.dim;
  const [q, k, v] = [1, 2, 3].map((seed) => normal(count, seed));
  const stored = [q, k, v].map((x) => attnNode().narrow(words(count), x));
  const storedOutput = words(count);
  const options = { ...shape, causal: Number(shape.causal ?? false) };
  const output = floats(count);
  const args = [...stored, storedOutput];
  const job = attnNode().attention(context, { ...options, type: kTypes[type] }, ...args);
  const own = solver('attn', job, output, args);
  const inFloats = [q, k, v, floats(count)];
  const peer = await pytorch?.solver({ kind, shape }, threads, { q, k, v });
  return [
    { ...own, output: () => attnNode().widen(output, storedOutput) },
    solver(kFloat32, attnNode().attention(context, options, ...inFloats), inFloats[3], inFloats),
    ...(peer ? [peer] : []),
  ];
}

/** @param {StoredCacheWork} work @param {object} context @param {number} threads */
function cache({ shape, type }, context, threads) {
  const { heads, keys, dim } = shape;
  const q = normal(heads * dim, 1);
  const [k, v] = [2, 3].map((seed) => normal(heads * keys * dim, seed));
  const own = /** @type {const} */ ([type, 'float32']).map((stored) => {
    const output = floats(q.length);
    const job = attnNode().decode(context, { ...shape, type: kTypes[stored] }, q, k, v, output);
    return solver(stored === type ? 'attn' : kFloat32, job, output, [q, output]);
  });
  const solvers =
    // ONNX Runtime's caches are float32, float16 or int8. With float16, its query is float16, too.
    type === 'int8' ? [...own, groupQueryAttentionSolver(shape, threads, q, k, v, true)] : own;
  // The same number of keys from the processor's caches.
  const output = floats(dim);
  const [few, fewK, fewV] = [
    q.subarray(0, dim),
    ...[k, v].map((x) => x.subarray(0, kKeysInCache * dim)),
  ];
  const small = { ...shape, heads: 1, keys: kKeysInCache, type: kTypes[type] };
  const job = attnNode().decode(context, small, few, fewK, fewV, output);
  const times = (heads * keys) / kKeysInCache;
  const { run } = solver('', job, output, [few, output]);
  const computation = {
    name: kComputation,
    run: async (/** @type {number} */ repeats) => times * (await run(repeats)),
  };
  return { solvers, parts: [computation] };
}

/**
 * @param {StoredWeightsWork} work
 * @param {object} context
 * @param {number} threads
 * @param {PyTorch | undefined} pytorch
 */
async function weights({ kind, shape, type }, context, threads, pytorch) {
  const { rows, depth, columns } = shape;
  const weight = normal(columns * depth, 1, 1 / Math.sqrt(depth));
  const x = normal(rows * depth, 2);
  const own = [kTypes[type], kTypes.float32].map((stored) => {
    const output = floats(rows * columns);
    const options = { ...shape, type: stored };
    const job = attnNode().linear(context, options, weight, x, output);
    return solver(stored === kTypes[type] ? 'attn' : kFloat32, job, output, [x, output]);
  });
  const peer = await pytorch?.solver({ kind, shape }, threads, { x, weight });
  return [...own, ...(peer ? [peer] : [])];
}

/**
 * Two-byte numbers, aligned to a cache line.
 * @param {number} count
 */
const words = (count) => {
  const { buffer, byteOffset } = floats(Math.ceil(count / 2));
  return new Uint16Array(buffer, byteOffset, count);
};
