// Runs in the page. Times attn's variants, its peers and the bare loops alternately.
// tests/bench/browser.js opens the page and calls measureWork.

import { attentionRow, fillNormal, maxAbsDifference, takeTurns } from './measure.js';
import {
  attentionModel,
  layerModel,
  multiHeadAttentionModel,
  productModel,
  transpose,
  swapMiddle,
} from './onnxModel.js';

import { attnTrainer, jaxTrainer, tensorFlowTrainer, tinyGptTrainer } from './trainers.js';

/** @import { Contestant, Pace, Times } from './measure.js' */
/** @import { Trainer } from './trainers.js' */
/** @import { AttentionShape, LayerShape, ProductShape, Work } from './works.js' */

/**
 * @typedef {object} PageWork
 * @property {Work} work
 * @property {string[]} variants  variants of attn
 * @property {number} threads
 * @property {boolean} hasTinyGpt  whether the server has TinyGPT's files
 * @property {Omit<Pace, 'settle'>} pace
 *
 * @typedef {object} PageResult
 * @property {Record<string, Times>} times times of `attn <variant>`, `machine <variant>` and the
 *   peers
 * @property {Record<string, string>} failed
 * @property {number} [difference]  undefined if results are not comparable
 * @property {number} operations  operations in one call of a bare loop
 *
 * @typedef {Contestant & { output?: () => ArrayLike<number> }} Solver
 */

/** Operations that a bare loop performs on each thread. */
const kOperations = 2e8;
const kTolerance = 1e-4;
const kStoredTolerance = 5e-3;
/** How long threads of a pool may spin before they sleep. */
const kSpinMs = 120;

/** Imports an address that exists only on the server of browser.js. */
const load = (/** @type {string} */ url) => import(/* @vite-ignore */ url);

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number} length @param {number} seed @param {number} [deviation] */
const normal = (length, seed, deviation) => fillNormal(new Float32Array(length), seed, deviation);

/** @param {readonly number[]} sizes */
const count = (...sizes) => sizes.reduce((a, b) => a * b, 1);

/**
 * @param {() => unknown} call
 * @returns {Contestant['run']}
 */
const timed = (call) => (repeats) => {
  const start = performance.now();
  for (let i = 0; i < repeats; ++i) call();
  return (performance.now() - start) / 1000;
};

// Inputs

/** @param {AttentionShape} shape */
function attentionInputs({ batch, heads, queries, keys, dim }) {
  return {
    query: normal(count(batch, heads, queries, dim), 1),
    key: normal(count(batch, heads, keys, dim), 2),
    value: normal(count(batch, heads, keys, dim), 3),
  };
}

/** @param {LayerShape} shape */
function layerInputs({ tokens, width }) {
  const deviation = 1 / Math.sqrt(width);
  return {
    inProjWeight: normal(3 * width * width, 1, deviation),
    outProjWeight: normal(width * width, 2, deviation),
    x: normal(tokens * width, 3),
  };
}

/** @param {ProductShape} shape */
function productInputs({ rows, depth, columns }) {
  return {
    weight: normal(columns * depth, 1, 1 / Math.sqrt(depth)),
    x: normal(rows * depth, 2),
  };
}

// attn

/**
 * @param {Work} work
 * @param {string} variant
 * @param {number} threads
 * @returns {Promise<Solver | undefined>}
 */
async function attnSolver(work, variant, threads) {
  const name = `attn ${variant}`;
  if (work.kind === 'product') return attnProduct(work.shape, variant, threads);
  if (work.kind === 'step') return training(name, await attnTrainer(work.shape, variant, threads));
  const attn = await (await load('/attn/index.js')).load({ variant, threads });
  if (work.kind === 'stored cache') return attnCache(attn, name, work.shape, work.type);
  /** @type {Float32Array} */
  let output;
  if (work.kind === 'attention') {
    const { batch, heads, queries, keys, dim, causal = false } = work.shape;
    const { query, key, value } = attentionInputs(work.shape);
    const q = { data: query, shape: [batch, heads, queries, dim] };
    const k = { data: key, shape: [batch, heads, keys, dim] };
    const v = { data: value, shape: k.shape };
    const call = () => {
      output = attn.scaledDotProductAttention(q, k, v, { causal }).output.data;
    };
    return { name, run: timed(call), output: () => output };
  }
  if (work.kind === 'layer') {
    const { tokens, width, heads } = work.shape;
    const { inProjWeight, outProjWeight, x } = layerInputs(work.shape);
    const layer = new attn.MultiHeadAttention({ dModel: width, numHeads: heads });
    layer.setParameter('in_proj_weight', { data: inProjWeight, shape: [3 * width, width] });
    layer.setParameter('out_proj.weight', { data: outProjWeight, shape: [width, width] });
    const input = { data: x, shape: [tokens, width] };
    const call = () => {
      output = layer.forward(input).output.data;
    };
    return { name, run: timed(call), output: () => output };
  }
  return undefined;
}

/**
 * One query over a cache of the given type.
 * @param {any} attn
 * @param {string} name
 * @param {AttentionShape} shape
 * @param {string} type
 * @returns {Solver}
 */
function attnCache(attn, name, shape, type) {
  const { heads, keys, dim } = shape;
  const { query, key, value } = attentionInputs(shape);
  const cache = new attn.KeyValueCache({ numKvHeads: heads, headDim: dim, capacity: keys, type });
  cache.append(
    { data: key, shape: [1, heads, keys, dim] },
    { data: value, shape: [1, heads, keys, dim] },
  );
  const q = { data: query, shape: [1, heads, 1, dim] };
  /** @type {Float32Array} */
  let output;
  const call = () => {
    output = attn.scaledDotProductAttention(q, cache).output.data;
  };
  return { name, run: timed(call), output: () => output };
}

/**
 * A contestant that trains. Initial parameters differ between contestants, so the benchmark only
 * checks that the loss falls.
 * @param {string} name
 * @param {Trainer} trainer
 * @returns {Solver}
 */
function training(name, { step }) {
  const first = step();
  for (let i = 0; i < 3; ++i) step();
  const last = step();
  if (!(last < first)) throw new Error(`${name}: the loss went from ${first} to ${last}`);
  return { name, run: timed(step) };
}

/**
 * Loads the benchmark's own WebAssembly module for a variant.
 * @param {string} variant
 * @param {number} threads
 */
async function benchModule(variant, threads) {
  const { default: factory } = await load(`/bench-wasm/bench-${variant}.js`);
  const module = await factory({ numThreads: threads });
  module._bench_start(threads);
  return module;
}

/**
 * @param {ProductShape} shape
 * @param {string} variant
 * @param {number} threads
 * @returns {Promise<Solver>}
 */
async function attnProduct(shape, variant, threads) {
  const { rows, depth, columns } = shape;
  const { weight, x } = productInputs(shape);
  const module = await benchModule(variant, threads);
  module._bench_make_product(rows, depth, columns);
  // The memory may grow and invalidate views, so each view is created when it is needed.
  const view = (/** @type {number} */ address, /** @type {number} */ length) =>
    new Float32Array(module.wasmMemory.buffer, address, length);
  view(module._bench_product_weight(), weight.length).set(weight);
  module._bench_pack_product();
  /** @type {Float32Array} */
  let output;
  const call = () => {
    // Copy the input and output, because the package's own calls and the peers copy them too.
    view(module._bench_product_input(), x.length).set(x);
    module._bench_product();
    output = view(module._bench_product_output(), rows * columns).slice();
  };
  return { name: `attn ${variant}`, run: timed(call), output: () => output };
}

/**
 * @param {string} variant
 * @param {number} threads
 * @returns {Promise<Contestant>}
 */
async function machine(variant, threads) {
  const module = await benchModule(variant, threads);
  const run = timed(() => module._bench_multiply_adds(kOperations, threads));
  return { name: `machine ${variant}`, run };
}

// Peers

/** @typedef {{ name: string, make: () => Promise<Solver> }} Peer */

/**
 * @param {PageWork} pageWork
 * @returns {Peer[]}
 */
function peersOf({ work, threads, hasTinyGpt }) {
  if (!work.hasPeers) return [];
  if (work.kind === 'step') {
    const { shape } = work;
    const trainers = {
      'TensorFlow.js': async () => tensorFlowTrainer(await tensorFlow(threads), shape),
      'jax-js': () => jaxTrainer(shape),
      // TinyGPT always uses all cores.
      ...(threads > 1 && { TinyGPT: () => tinyGptTrainer(shape, hasTinyGpt) }),
    };
    return Object.entries(trainers).map(([name, make]) => ({
      name,
      make: async () => training(name, await make()),
    }));
  }
  const onnx = (
    /** @type {string} */ operator,
    /** @type {Uint8Array} */ model,
    /** @type {Record<string, { data: Float32Array, shape: readonly number[] }>} */ inputs,
    /** @type {(output: Float32Array) => Float32Array} */ arrange = (output) => output,
  ) => ({
    name: `ONNX Runtime Web ${operator}`,
    make: () => onnxSolver(`ONNX Runtime Web ${operator}`, model, inputs, threads, arrange),
  });
  if (work.kind === 'attention') {
    const { batch, heads, queries, keys, dim } = work.shape;
    const { query, key, value } = attentionInputs(work.shape);
    const k = { data: key, shape: [batch, heads, keys, dim] };
    const v = { data: value, shape: k.shape };
    const flat = (/** @type {Float32Array} */ x, /** @type {number} */ length) => ({
      data: swapMiddle(x, batch, heads, length, dim),
      shape: [batch, length, heads * dim],
    });
    return [
      onnx('Attention', attentionModel(work.shape), {
        query: { data: query, shape: [batch, heads, queries, dim] },
        key: k,
        value: v,
      }),
      ...[false, true].map((headsFirst) =>
        onnx(
          `MultiHeadAttention${headsFirst ? ' (B,H,N,D)' : ''}`,
          multiHeadAttentionModel(work.shape, headsFirst),
          {
            query: flat(query, queries),
            key: headsFirst ? k : flat(key, keys),
            value: headsFirst ? v : flat(value, keys),
          },
          (output) => swapMiddle(output, batch, queries, heads, dim),
        ),
      ),
    ];
  }
  if (work.kind === 'layer') {
    const { tokens, width } = work.shape;
    const { inProjWeight, outProjWeight, x } = layerInputs(work.shape);
    const inputs = { x: { data: x, shape: [1, tokens, width] } };
    return /** @type {const} */ (['Attention', 'MultiHeadAttention', 'fused']).map((operator) =>
      onnx(operator, layerModel(operator, work.shape, inProjWeight, outProjWeight), inputs),
    );
  }
  if (work.kind === 'product') {
    const { rows, depth } = work.shape;
    const { weight, x } = productInputs(work.shape);
    const inputs = { x: { data: x, shape: [rows, depth] } };
    return [
      onnx('MatMul', productModel(work.shape, weight), inputs),
      { name: 'TensorFlow.js', make: () => tensorFlowProduct(work.shape, threads) },
    ];
  }
  return [];
}

/**
 * @param {string} name
 * @param {Uint8Array} model
 * @param {Record<string, { data: Float32Array, shape: readonly number[] }>} inputs
 * @param {number} threads
 * @param {(output: Float32Array) => Float32Array} arrange
 * @returns {Promise<Solver>}
 */
async function onnxSolver(name, model, inputs, threads, arrange) {
  const ort = await load('/onnxruntime/ort.wasm.min.mjs');
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.wasmPaths = '/onnxruntime/';
  ort.env.logLevel = 'error';
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['wasm'],
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
  });
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([name, { data, shape }]) => [
      name,
      new ort.Tensor('float32', data, shape),
    ]),
  );
  /** @type {Float32Array} */
  let output;
  return {
    name,
    async run(repeats) {
      const start = performance.now();
      for (let i = 0; i < repeats; ++i) output = (await session.run(feeds)).output.data;
      return (performance.now() - start) / 1000;
    },
    output: () => arrange(output),
  };
}

/**
 * @param {ProductShape} shape
 * @param {number} threads
 * @returns {Promise<Solver>}
 */
async function tensorFlowProduct(shape, threads) {
  const { rows, depth, columns } = shape;
  const { weight, x } = productInputs(shape);
  const tf = await tensorFlow(threads);
  // With a transposed matrix, TensorFlow.js is many times slower.
  const w = tf.tensor2d(transpose(weight, columns, depth), [depth, columns]);
  /** @type {Float32Array} */
  let output;
  const call = () => {
    const input = tf.tensor2d(x, [rows, depth]);
    const result = tf.matMul(input, w);
    output = result.dataSync();
    input.dispose();
    result.dispose();
  };
  return { name: 'TensorFlow.js', run: timed(call), output: () => output };
}

/** @param {number} threads @returns {Promise<any>} */
async function tensorFlow(threads) {
  for (const url of ['/tfjs-core/tf-core.min.js', '/tfjs-wasm/tf-backend-wasm.min.js']) {
    const script = document.createElement('script');
    script.src = url;
    await new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url} could not be loaded`));
      document.head.append(script);
    });
  }
  const { tf } = /** @type {any} */ (globalThis);
  tf.wasm.setWasmPaths('/tfjs-wasm/');
  tf.wasm.setThreadsCount(threads);
  await tf.setBackend('wasm');
  await tf.ready();
  return tf;
}

/**
 * The largest difference from a double-precision reference.
 * @param {AttentionShape} shape
 * @param {ArrayLike<number>} output
 */
function differenceFromReference(shape, output) {
  const { query, key, value } = attentionInputs(shape);
  const rows = count(shape.batch, shape.heads, shape.queries);
  let largest = 0;
  for (let i = 0; i < 7; ++i) {
    const row = Math.floor((i * (rows - 1)) / 6);
    const exact = attentionRow(shape, query, key, value, row);
    const got = Array.prototype.slice.call(output, row * shape.dim, (row + 1) * shape.dim);
    largest = Math.max(largest, maxAbsDifference(got, exact));
  }
  return largest;
}

/**
 * @param {PageWork} pageWork
 * @returns {Promise<PageResult>}
 */
export async function measureWork(pageWork) {
  const { work, variants, threads, pace } = pageWork;
  /** @type {Solver[]} */
  const solvers = [];
  for (const variant of variants) {
    const solver = await attnSolver(work, variant, threads);
    if (solver) solvers.push(solver);
    if (work.kind === 'stored cache') {
      const same = /** @type {const} */ ({ ...work, type: 'float32' });
      const float32 = await attnSolver(/** @type {any} */ (same), variant, threads);
      if (float32) solvers.push({ ...float32, name: `float32 ${variant}` });
    }
  }
  /** @type {Record<string, string>} */
  const failed = {};
  /** @type {number[]} */
  const differences = [];
  const agree = (/** @type {Solver} */ { name }, /** @type {number} */ difference) => {
    if (!(difference <= kTolerance)) {
      throw new Error(`${work.name}: results of ${name} differ by ${difference}`);
    }
    differences.push(difference);
  };
  for (const solver of solvers) {
    await solver.run(1);
    if (work.kind === 'attention' && solver.output) {
      agree(solver, differenceFromReference(work.shape, solver.output()));
    }
    if (work.kind === 'stored cache' && solver.output) {
      // The difference includes the rounding of the stored numbers, which averages out over 4096
      // weights.
      const difference = differenceFromReference(work.shape, solver.output());
      if (!(difference <= kStoredTolerance))
        throw new Error(`${solver.name}: off by ${difference}`);
    }
  }
  for (const { name, make } of peersOf(pageWork)) {
    let solver;
    try {
      solver = await make();
      await solver.run(1);
    } catch (error) {
      const reason = String(error instanceof Error ? error.message : error);
      // Shortens the message, which contains paths from the machine on which the peer was built.
      failed[name] = reason.replace(/\S+\//g, '').replace(/\s+/g, ' ').trim().slice(0, 300);
      continue;
    }
    const [output, own] = [solver.output?.(), solvers[0].output?.()];
    if (output && own) agree(solver, maxAbsDifference(output, own));
    solvers.push(solver);
  }
  const machines = [];
  if (work.roof === 'multiply-add') {
    for (const variant of variants) machines.push(await machine(variant, threads));
  }
  const settle = () => sleep(threads > 1 ? kSpinMs : 0);
  const times = await takeTurns([...solvers, ...machines], { ...pace, settle });
  const difference = differences.length > 0 ? Math.max(...differences) : undefined;
  return { times, failed, difference, operations: kOperations * threads };
}
