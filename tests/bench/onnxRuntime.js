// ONNX Runtime as a peer of the native half. It runs in this process.

import { createRequire } from 'node:module';

import { floats, secondsSince } from './nativeJobs.js';
import {
  attentionModel,
  groupQueryAttentionModel,
  multiHeadAttentionModel,
  swapMiddle,
} from './onnxModel.js';

/** @import { Solver } from './nativeJobs.js' */
/** @import { AttentionShape } from './works.js' */

/**
 * @typedef {{ data: Float32Array | Int32Array | Int8Array, shape: readonly number[] }} Input
 */

const require = createRequire(import.meta.url);

/** @type {Record<string, string>} */
const kTypeNames = { Float32Array: 'float32', Int32Array: 'int32', Int8Array: 'int8' };

/** @type {any} */
let onnxRuntime;
function loadOnnxRuntime() {
  if (onnxRuntime) return onnxRuntime;
  // Uses ONNX Runtime's synchronous binding instead of its public interface, so that the times do
  // not include promises.
  const [{ binding, initOrt }, { Tensor, env }] = [
    'onnxruntime-node/dist/binding.js',
    'onnxruntime-common',
  ].map((peer) => require(`./node_modules/${peer}`));
  env.logLevel = 'error';
  initOrt();
  return (onnxRuntime = { InferenceSession: binding.InferenceSession, Tensor });
}

/**
 * @param {string} name
 * @param {Uint8Array} model
 * @param {number} threads
 * @param {Record<string, Input>} inputs
 * @param {readonly number[]} outputShape
 * @param {(output: Float32Array) => Float32Array} [arrange]  rearranges the output to attn's layout
 * @param {Record<string, Input>} [otherOutputs]
 * @returns {Solver}
 */
export function onnxSolver(
  name,
  model,
  threads,
  inputs,
  outputShape,
  arrange = (output) => output,
  otherOutputs = {},
) {
  const { InferenceSession, Tensor } = loadOnnxRuntime();
  const session = new InferenceSession();
  session.loadModel(model.buffer, model.byteOffset, model.byteLength, {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const tensors = (/** @type {Record<string, Input>} */ all) =>
    Object.fromEntries(
      Object.entries(all).map(([name, { data, shape }]) => [
        name,
        new Tensor(kTypeNames[data.constructor.name], data, shape),
      ]),
    );
  const feeds = tensors(inputs);
  const output = floats(outputShape.reduce((a, b) => a * b));
  const fetches = tensors({ output: { data: output, shape: outputShape }, ...otherOutputs });
  return {
    name,
    run(repeats) {
      const start = process.hrtime.bigint();
      for (let i = 0; i < repeats; ++i) session.run(feeds, fetches, {});
      return secondsSince(start);
    },
    output: () => arrange(output),
    dispose: () => session.dispose(),
  };
}

/**
 * The operators that compute attention. All of them return attn's layout, (B, H, N, D).
 * @param {AttentionShape} shape
 * @param {number} threads
 * @param {Float32Array} q
 * @param {Float32Array} k
 * @param {Float32Array} v
 * @returns {Solver[]}
 */
export function onnxAttentionSolvers(shape, threads, q, k, v) {
  const { batch, heads, queries, keys, dim, causal, kvHeads = heads } = shape;
  const key = { data: k, shape: [batch, kvHeads, keys, dim] };
  const value = { data: v, shape: key.shape };
  const query = { data: q, shape: [batch, heads, queries, dim] };
  const flatQuery = {
    data: swapMiddle(q, batch, heads, queries, dim, floats(q.length)),
    shape: [batch, queries, heads * dim],
  };
  const flat = (/** @type {Float32Array} */ x) => ({
    data: swapMiddle(x, batch, heads, keys, dim, floats(x.length)),
    shape: [batch, keys, heads * dim],
  });
  const isOneQuery = queries === 1 && !causal;
  return [
    onnxSolver(
      'ONNX Runtime Attention',
      attentionModel(shape),
      threads,
      { query, key, value },
      query.shape,
    ),
    ...(kvHeads === heads ? [false, true] : []).map((headsFirst) =>
      onnxSolver(
        `ONNX Runtime MultiHeadAttention${headsFirst ? ' (B,H,N,D)' : ''}`,
        multiHeadAttentionModel(shape, headsFirst),
        threads,
        {
          query: flatQuery,
          key: headsFirst ? key : flat(k),
          value: headsFirst ? value : flat(v),
        },
        flatQuery.shape,
        (output) => swapMiddle(output, batch, queries, heads, dim),
      ),
    ),
    ...(batch === 1 && (isOneQuery || (causal && queries === keys))
      ? [groupQueryAttentionSolver(shape, threads, q, k, v)]
      : []),
  ];
}

/**
 * GroupQueryAttention of one sequence: causal self-attention, or one query over a cache. With
 * int8, the cache has a single scale, which is coarser than attn's scale for each row.
 * @param {AttentionShape} shape
 * @param {number} threads
 * @param {Float32Array} q
 * @param {Float32Array} k
 * @param {Float32Array} v
 * @param {boolean} [isInt8]
 */
export function groupQueryAttentionSolver(shape, threads, q, k, v, isInt8 = false) {
  const { heads, queries, keys, dim, kvHeads = heads } = shape;
  const size = kvHeads * dim;
  const last = (/** @type {Float32Array} */ x) => ({
    data: swapMiddle(x, 1, kvHeads, keys, dim).slice((keys - queries) * size),
    shape: [1, queries, size],
  });
  const [kScale, vScale] = [k, v].map((x) => largest(x) / 127);
  const cache = (/** @type {Float32Array} */ x, /** @type {number} */ scale) => ({
    data: isInt8 ? Int8Array.from(x, (number) => Math.round(number / scale)) : floats(x.length),
    shape: [1, kvHeads, keys, dim],
  });
  const past = { past_key: cache(k, kScale), past_value: cache(v, vScale) };
  if (!isInt8) {
    past.past_key.data.set(k);
    past.past_value.data.set(v);
  }
  return onnxSolver(
    `ONNX Runtime GroupQueryAttention${isInt8 ? ' (int8)' : ''}`,
    groupQueryAttentionModel(shape, isInt8),
    threads,
    {
      query: {
        data: swapMiddle(q, 1, heads, queries, dim, floats(q.length)),
        shape: [1, queries, heads * dim],
      },
      ...{ key: last(k), value: last(v) },
      seqlens_k: { data: Int32Array.of(keys - 1), shape: [1] },
      total_sequence_length: { data: Int32Array.of(keys), shape: [1] },
      ...(keys > queries && past),
      ...(isInt8 && {
        k_scale: { data: Float32Array.of(kScale), shape: [1] },
        v_scale: { data: Float32Array.of(vScale), shape: [1] },
      }),
    },
    [1, queries, heads * dim],
    (output) => swapMiddle(output, 1, queries, heads, dim),
    // The new keys and values are written to the cache in place.
    { present_key: past.past_key, present_value: past.past_value },
  );
}

const largest = (/** @type {Float32Array} */ x) =>
  x.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
