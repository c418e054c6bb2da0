// A fixed set of calls whose results must be bit-identical wherever SIMD128 runs: in every browser
// and in Node. The functions receive the module as an argument. This file imports nothing, so that
// a page can import it, too.

/** @import { Attn, Tensor, TrainingAttn } from 'attn' */

/**
 * Numbers from −1 to 1. They are a Weyl sequence, which needs no random generator.
 * @param {number} stream
 * @param {...number} shape
 * @returns {Tensor}
 */
function numbers(stream, ...shape) {
  const length = shape.reduce((product, size) => product * size, 1);
  const at = (/** @type {number} */ i) =>
    (Math.imul(i + 1 + 7919 * stream, 0x9e3779b1) >>> 0) / 2 ** 31;
  return { data: Float32Array.from({ length }, (_, i) => at(i) - 1), shape };
}

/** @param {ArrayBuffer} bytes */
const hex = (bytes) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Returns the SHA-256 of each result by name.
 * @param {Attn} attn
 * @returns {Promise<Record<string, string>>}
 */
export async function bitsOf(attn) {
  /** @type {Record<string, Float32Array>} */
  const results = {};
  const [batch, heads, queries, keys, width] = [2, 3, 37, 301, 20];
  const query = numbers(1, batch, heads, queries, width);
  const key = numbers(2, batch, heads, keys, width);
  const value = numbers(3, batch, heads, keys, 13);
  const mask = numbers(4, queries, keys);
  const attended = { data: Uint8Array.from(mask.data, (x) => Number(x < 0.5)), shape: mask.shape };
  const masks = {
    none: {},
    causal: { causal: true, diagonal: /** @type {const} */ ('bottomRight') },
    window: { window: { left: 40, right: 3 } },
    lengths: { validLens: [0, 123] },
    boolean: { mask: attended },
    bias: { bias: mask, softcap: 5, causal: true },
  };
  for (const [name, options] of Object.entries(masks)) {
    const { output, weights } = attn.scaledDotProductAttention(query, key, value, {
      ...options,
      needWeights: true,
    });
    results[`attention, ${name}`] = output.data;
    results[`weights, ${name}`] = /** @type {{ data: Float32Array }} */ (weights).data;
  }
  const single = { data: query.data.slice(0, 1 * width), shape: [1, width] };
  const long = attn.sinusoidalEncoding({ length: 3000, dModel: width });
  results['one query of 3000 keys'] = attn.scaledDotProductAttention(
    single,
    long,
    long,
  ).output.data;

  results['encoding far away'] = attn.sinusoidalEncoding({
    length: 200,
    dModel: 63,
    start: 1e6,
  }).data;
  results['rotation'] = new attn.RotaryEmbedding({ rotaryDim: 16 }).forward(
    numbers(5, 50, 16),
  ).data;
  const x = numbers(6, 2, 33, 48);
  results['layer norm'] = new attn.LayerNorm({ width: 48 }).forward(x).data;
  for (const activation of /** @type {const} */ (['relu', 'gelu'])) {
    const encoder = new attn.TransformerEncoder({
      numLayers: 2,
      dModel: 48,
      numHeads: 4,
      dimFeedforward: 96,
      activation,
      seed: 7,
    });
    results[`encoder, ${activation}`] = encoder.forward(x, {
      attention: { causal: true },
    }).output.data;
    encoder.dispose();
  }
  const gru = new attn.GRU({ inputSize: 48, hiddenSize: 17, seed: 3 });
  results['recurrence'] = gru.forward(x).output.data;

  return digests(results);
}

/**
 * Returns the SHA-256 of the parameters and of the optimizer's state after a training run with a
 * fixed seed.
 * @param {TrainingAttn} attn
 * @param {number} steps
 * @returns {Promise<Record<string, string>>}
 */
export async function bitsOfTraining(attn, steps) {
  const [vocabulary, half, batch, dModel] = [8, 5, 4, 20];
  const options = { dModel, numHeads: 2, dimFeedforward: 36, numLayers: 2, normFirst: true };
  const model = {
    tokens: new attn.Embedding({ numEmbeddings: vocabulary, embeddingDim: dModel, seed: 1 }),
    positions: new attn.LearnedPositionalEncoding({ maxLength: 2 * half, dModel, seed: 2 }),
    encoder: new attn.TransformerEncoder({ ...options, activation: 'gelu', seed: 3 }),
    norm: new attn.RMSNorm({ width: dModel }),
    gated: new attn.GatedFeedForward({ dModel, dimFeedforward: 36, seed: 4 }),
    unembed: new attn.Linear({ inFeatures: dModel, outFeatures: vocabulary, seed: 5 }),
  };
  const optimizer = new attn.AdamW(model);
  const tape = new attn.Tape();
  const shape = [batch, 2 * half - 1];
  const losses = [];
  for (let step = 1; step <= steps; ++step) {
    const drawn = attn.randomUniform({ shape: [batch, half], high: vocabulary, seed: step }).data;
    const ids = { data: new Int32Array(shape[0] * shape[1]), shape };
    const targets = new Int32Array(ids.data.length);
    ids.data.forEach((_, n) => {
      const [row, i] = [Math.floor(n / shape[1]) * half, n % shape[1]];
      ids.data[n] = drawn[row + (i % half)];
      targets[n] = i + 1 < half ? -100 : drawn[row + ((i + 1) % half)];
    });
    tape.clear();
    const dropout = { probability: 0.02, seed: step };
    let x = model.positions.forward(model.tokens.forward(ids, { tape }), { dropout });
    x = model.encoder.forward(x, { attention: { causal: true }, dropout });
    x = x.add(model.gated.forward(model.norm.forward(x)));
    const loss = attn.crossEntropy(model.unembed.forward(x), { data: targets, shape });
    tape.backward(loss);
    losses.push(loss.item(), attn.clipGradNorm(tape, 1));
    optimizer.lr = attn.cosineLearningRate(step, {
      peak: 3e-3,
      warmupSteps: 50,
      totalSteps: steps,
    });
    optimizer.step(tape);
  }
  /** @type {Record<string, Float32Array>} */
  const results = { losses: Float32Array.from(losses) };
  for (const [name, { data }] of Object.entries(optimizer.stateDict())) results[name] = data;
  for (const [part, layer] of Object.entries(model)) {
    for (const [name, { data }] of Object.entries(layer.stateDict())) {
      results[`${part}.${name}`] = data;
    }
    layer.dispose();
  }
  const [first, last] = [losses[0], losses.at(-2) ?? NaN];
  if (!(last < first / 2)) throw new Error(`the loss went from ${first} to ${last}`);
  optimizer.dispose();
  tape.dispose();
  return digests(results);
}

/**
 * Computes the SHA-256 of each result.
 * @param {Record<string, Float32Array>} results
 */
async function digests(results) {
  /** @type {Record<string, string>} */
  const bits = {};
  for (const [name, data] of Object.entries(results)) {
    if (!data.every(Number.isFinite))
      throw new Error(`${name} contains numbers that are not finite`);
    bits[name] = hex(await crypto.subtle.digest('SHA-256', data.slice().buffer));
  }
  return bits;
}
