// Runs in a page. Trains the same GPT with attn and with other libraries, and initialises each with
// different random numbers. The GPT is pre-norm and its output layer is tied to the embedding.
// Training uses AdamW and clips gradients to a norm of 1.

import { fillNormal } from './measure.js';
import { kVocabulary } from './works.js';

/** @import { GptShape } from './works.js' */

/**
 * @typedef {object} Trainer
 * @property {() => number} step  takes a step and returns the loss
 * @property {number} [size]  number of trainable parameters
 */

const kLearningRate = 1e-3;
const kMaxNorm = 1;

/** Imports an address that exists only on the server of browser.js. */
const load = (/** @type {string} */ url) => import(/* @vite-ignore */ url);

/**
 * Returns the input tokens and, for each of them, the token that follows.
 * @param {GptShape} shape
 */
function sequences({ batch, tokens }) {
  const at = (/** @type {number} */ i) => (Math.imul(i + 1, 0x9e3779b1) >>> 0) % kVocabulary;
  const all = Array.from({ length: batch }, (_, b) =>
    Array.from({ length: tokens + 1 }, (_, t) => at((tokens + 1) * b + t)),
  );
  return {
    ids: Int32Array.from(all.flatMap((row) => row.slice(0, -1))),
    targets: Int32Array.from(all.flatMap((row) => row.slice(1))),
  };
}

/**
 * @param {GptShape} shape
 * @param {string} variant
 * @param {number} threads
 * @returns {Promise<Trainer>}
 */
export async function attnTrainer(shape, variant, threads) {
  const { width, layers, heads, tokens, batch } = shape;
  const attn = await (await load('/attn/index.js')).load({ training: true, variant, threads });
  const model = {
    tokens: new attn.Embedding({ numEmbeddings: kVocabulary, embeddingDim: width }),
    positions: new attn.LearnedPositionalEncoding({ maxLength: tokens, dModel: width }),
    blocks: new attn.TransformerEncoder({
      ...{ dModel: width, numHeads: heads, dimFeedforward: 4 * width, numLayers: layers },
      ...{ normFirst: true, finalNorm: true, activation: 'gelu' },
    }),
  };
  const optimizer = new attn.AdamW(model, { lr: kLearningRate });
  const tape = new attn.Tape();
  const { ids, targets } = sequences(shape);
  const [x, y] = [ids, targets].map((data) => ({ data, shape: [batch, tokens] }));
  return {
    step() {
      tape.clear();
      const embedded = model.positions.forward(model.tokens.forward(x, { tape }));
      const hidden = model.blocks.forward(embedded, { attention: { causal: true } });
      const logits = attn.linear(hidden, tape.parameter(model.tokens, 'weight'));
      const loss = attn.crossEntropy(logits, y);
      tape.backward(loss);
      attn.clipGradNorm(tape, kMaxNorm);
      optimizer.step(tape);
      return loss.item();
    },
  };
}

/**
 * Trains with TinyGPT's own module, which chooses its number of threads itself.
 * @param {GptShape} shape
 * @param {boolean} isThere
 * @returns {Promise<Trainer>}
 */
export async function tinyGptTrainer({ width, layers, heads, tokens, batch }, isThere) {
  if (!isThere) throw new Error('its files are not on npm; pass their folder with --tinygpt');
  const module = await (await load('/tinygpt/tinygpt.js')).default();
  /** @param {string} name @param {number} count @param {string | null} [result] */
  const wrap = (name, count, result = 'number') =>
    module.cwrap(name, result, Array(count).fill('number'));
  const seed = 42;
  const create = wrap('tg_model_create', 7);
  const model = create(kVocabulary, tokens, layers, heads, width, 4 * width, seed);
  const text = new TextEncoder().encode(
    'the quick brown fox jumps over the lazy dog. '.repeat(400),
  );
  const address = module._malloc(text.length);
  module.HEAPU8.set(text, address);
  const shareOfTraining = 0.9;
  wrap('tg_set_data', 4, null)(model, address, text.length, shareOfTraining);
  const train = wrap('tg_train_step', 4);
  return {
    step: () => train(model, batch, kLearningRate, kMaxNorm),
    size: wrap('tg_model_num_params', 1)(model),
  };
}

/**
 * TensorFlow.js has no AdamW, and its WebAssembly backend has neither erf nor a gradient for table
 * look-ups. This trainer therefore uses Adam, the tanh form of GELU, and products with one-hot
 * rows.
 * @param {any} tf
 * @param {GptShape} shape
 * @returns {Promise<Trainer>}
 */
export async function tensorFlowTrainer(tf, { width, layers, heads, tokens, batch }) {
  await load('/tfjs-gradients.js');
  const { ids, targets } = sequences({ width, layers, heads, tokens, batch });
  const oneHot = (/** @type {Int32Array} */ classes) =>
    tf.cast(tf.oneHot(tf.tensor1d(classes, 'int32'), kVocabulary), 'float32');
  const [x, y] = [ids, targets].map(oneHot);
  const headDim = width / heads;
  const hidden = (/** @type {number[]} */ row, /** @type {number} */ i) =>
    row.map((_, j) => (j > i ? -1e9 : 0));
  const mask = tf.tensor2d(
    Array.from({ length: tokens }, (_, i) => hidden(Array(tokens).fill(0), i)),
  );
  const matrix = (/** @type {number} */ rows, /** @type {number} */ columns) =>
    tf.variable(tf.randomNormal([rows, columns], 0, 0.02));
  const zeros = (/** @type {number} */ size) => tf.variable(tf.zeros([size]));
  const ones = (/** @type {number} */ size) => tf.variable(tf.ones([size]));
  const dense = (/** @type {number} */ from, /** @type {number} */ to) => ({
    weight: matrix(from, to),
    bias: zeros(to),
  });
  const norm = () => ({ weight: ones(width), bias: zeros(width) });
  const embedding = matrix(kVocabulary, width);
  const positions = matrix(tokens, width);
  const blocks = Array.from({ length: layers }, () => ({
    ...{ norm1: norm(), input: dense(width, 3 * width), output: dense(width, width) },
    ...{ norm2: norm(), up: dense(width, 4 * width), down: dense(4 * width, width) },
  }));
  const last = norm();

  const apply = (/** @type {any} */ x, /** @type {any} */ { weight, bias }) =>
    tf.add(tf.matMul(x, weight), bias);
  const normalize = (/** @type {any} */ x, /** @type {any} */ { weight, bias }) => {
    const centred = tf.sub(x, tf.mean(x, -1, true));
    const variance = tf.mean(tf.square(centred), -1, true);
    return tf.add(tf.mul(tf.mul(centred, tf.rsqrt(tf.add(variance, 1e-5))), weight), bias);
  };
  const gelu = (/** @type {any} */ x) => {
    const cubic = tf.mul(0.044715, tf.mul(x, tf.square(x)));
    const inner = tf.mul(Math.sqrt(2 / Math.PI), tf.add(x, cubic));
    return tf.mul(tf.mul(0.5, x), tf.add(1, tf.tanh(inner)));
  };
  const attend = (/** @type {any} */ joined) => {
    const parts = tf.split(tf.reshape(joined, [batch, tokens, 3 * heads, headDim]), 3, 2);
    const [q, k, v] = parts.map((/** @type {any} */ part) => tf.transpose(part, [0, 2, 1, 3]));
    const scores = tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(headDim));
    const output = tf.matMul(tf.softmax(tf.add(scores, mask)), v);
    return tf.reshape(tf.transpose(output, [0, 2, 1, 3]), [batch * tokens, width]);
  };
  const loss = () => {
    const embedded = tf.reshape(tf.matMul(x, embedding), [batch, tokens, width]);
    let h = tf.reshape(tf.add(embedded, positions), [batch * tokens, width]);
    for (const { norm1, input, output, norm2, up, down } of blocks) {
      h = tf.add(h, apply(attend(apply(normalize(h, norm1), input)), output));
      h = tf.add(h, apply(gelu(apply(normalize(h, norm2), up)), down));
    }
    const logits = tf.matMul(normalize(h, last), embedding, false, true);
    return tf.neg(tf.mean(tf.sum(tf.mul(y, tf.logSoftmax(logits)), -1)));
  };
  const optimizer = tf.train.adam(kLearningRate);
  return {
    step: () =>
      tf.tidy(() => {
        const { value, grads } = tf.variableGrads(loss);
        const squares = Object.values(grads).map((gradient) => tf.sum(tf.square(gradient)));
        const length = Math.sqrt(tf.addN(squares).dataSync()[0]);
        const factor = Math.min(1, kMaxNorm / length);
        for (const name of Object.keys(grads)) grads[name] = tf.mul(grads[name], factor);
        optimizer.applyGradients(grads);
        return value.dataSync()[0];
      }),
  };
}

/**
 * In jax-js an operation consumes its arguments, and `.ref` allows one more use. jax-js contains
 * neither gradient clipping nor AdamW, so this trainer implements both and compiles them with the
 * rest of the step.
 * @param {GptShape} shape
 * @returns {Promise<Trainer>}
 */
export async function jaxTrainer({ width, layers, heads, tokens, batch }) {
  const {
    init,
    defaultDevice,
    jit,
    nn,
    numpy: np,
    tree,
    valueAndGrad,
  } = await load('/jax/index.js');
  await init('wasm');
  defaultDevice('wasm');
  const { ids, targets } = sequences({ width, layers, heads, tokens, batch });
  const oneHot = (/** @type {Int32Array} */ classes) => {
    const rows = new Float32Array(classes.length * kVocabulary);
    classes.forEach((c, i) => (rows[i * kVocabulary + c] = 1));
    return np.array(rows).reshape([classes.length, kVocabulary]);
  };
  const [x, y] = [ids, targets].map(oneHot);
  const headDim = width / heads;
  const future = Float32Array.from({ length: tokens ** 2 }, (_, i) =>
    i % tokens > Math.floor(i / tokens) ? -1e9 : 0,
  );
  const mask = np.array(future).reshape([tokens, tokens]);
  let seed = 0;
  const matrix = (/** @type {number} */ rows, /** @type {number} */ columns) =>
    np.array(fillNormal(new Float32Array(rows * columns), ++seed, 0.02)).reshape([rows, columns]);
  const dense = (/** @type {number} */ from, /** @type {number} */ to) => ({
    weight: matrix(from, to),
    bias: np.zeros([to]),
  });
  const norm = () => ({ weight: np.ones([width]), bias: np.zeros([width]) });
  /** @type {any} */
  let model = {
    embedding: matrix(kVocabulary, width),
    positions: matrix(tokens, width),
    blocks: Array.from({ length: layers }, () => ({
      ...{ norm1: norm(), input: dense(width, 3 * width), output: dense(width, width) },
      ...{ norm2: norm(), up: dense(width, 4 * width), down: dense(4 * width, width) },
    })),
    last: norm(),
  };

  const apply = (/** @type {any} */ x, /** @type {any} */ { weight, bias }) =>
    np.matmul(x, weight).add(bias);
  const normalize = (/** @type {any} */ x, /** @type {any} */ { weight, bias }) =>
    nn.standardize(x, -1, { epsilon: 1e-5 }).mul(weight).add(bias);
  const attend = (/** @type {any} */ joined) => {
    const parts = np.split(joined.reshape([batch, tokens, 3 * heads, headDim]), 3, 2);
    const [q, k, v] = parts.map((/** @type {any} */ part) => np.transpose(part, [0, 2, 1, 3]));
    const scores = np.matmul(q, np.transpose(k, [0, 1, 3, 2])).mul(1 / Math.sqrt(headDim));
    const output = np.matmul(nn.softmax(scores.add(mask.ref), -1), v);
    return np.transpose(output, [0, 2, 1, 3]).reshape([batch * tokens, width]);
  };
  const loss = (/** @type {any} */ { embedding, positions, blocks, last }) => {
    const embedded = np.matmul(x.ref, embedding.ref).reshape([batch, tokens, width]);
    let h = embedded.add(positions).reshape([batch * tokens, width]);
    for (const { norm1, input, output, norm2, up, down } of blocks) {
      h = h.ref.add(apply(attend(apply(normalize(h, norm1), input)), output));
      h = h.ref.add(apply(nn.gelu(apply(normalize(h, norm2), up)), down));
    }
    const logits = np.matmul(normalize(h, last), np.transpose(embedding));
    const likely = nn.logSoftmax(logits, -1).mul(y.ref).sum();
    return likely.mul(-1 / (batch * tokens));
  };
  const [beta1, beta2, epsilon, decay] = [0.9, 0.999, 1e-8, 0.01];
  const zeros = () => tree.map((/** @type {any} */ p) => np.zeros(p.shape), model);
  let [average, square, count] = [zeros(), zeros(), 0];
  const update = jit(
    (
      /** @type {any} */ model,
      /** @type {any} */ average,
      /** @type {any} */ square,
      /** @type {any} */ size,
      /** @type {any} */ root,
    ) => {
      const [value, gradient] = valueAndGrad(loss)(tree.ref(model));
      const squares = tree
        .leaves(tree.ref(gradient))
        .map((/** @type {any} */ g) => np.square(g).sum());
      const length = np.sqrt(
        squares.reduce((/** @type {any} */ a, /** @type {any} */ b) => a.add(b)),
      );
      const factor = np.minimum(np.array(1), np.reciprocal(length).mul(kMaxNorm));
      const clipped = tree.map((/** @type {any} */ g) => g.mul(factor.ref), gradient);
      const next = tree.map(
        (/** @type {any} */ m, /** @type {any} */ g) => m.mul(beta1).add(g.mul(1 - beta1)),
        average,
        tree.ref(clipped),
      );
      const nextSquare = tree.map(
        (/** @type {any} */ v, /** @type {any} */ g) =>
          v.mul(beta2).add(np.square(g).mul(1 - beta2)),
        square,
        clipped,
      );
      const moved = tree.map(
        (/** @type {any} */ p, /** @type {any} */ m, /** @type {any} */ v) =>
          p
            .mul(1 - kLearningRate * decay)
            .sub(m.mul(size.ref).div(np.sqrt(v).mul(root.ref).add(epsilon))),
        model,
        tree.ref(next),
        tree.ref(nextSquare),
      );
      return [value, moved, next, nextSquare];
    },
  );
  return {
    step() {
      ++count;
      const size = np.array(kLearningRate / (1 - beta1 ** count));
      const root = np.array(1 / Math.sqrt(1 - beta2 ** count));
      const [value, moved, next, nextSquare] = update(model, average, square, size, root);
      [model, average, square] = [moved, next, nextSquare];
      return value.js();
    },
  };
}
