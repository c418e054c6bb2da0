import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';
import { activations, linear } from './reference.js';

/** @import { Tensor } from 'attn' */

await everyVariant('layers', (attn) => {
  const random = new Random();
  const x = random.tensor(2, 4, 8);

  /**
   * Row t of each batch entry.
   * @param {Tensor} tensor  (2, 4, 8)
   * @param {number} t
   */
  const token = ({ data }, t) => ({
    data: Float32Array.from({ length: 16 }, (_, i) => data[(i >> 3) * 32 + t * 8 + (i & 7)]),
    shape: [2, 1, 8],
  });

  test('linear_and_feed_forward_agree_with_the_reference', () => {
    const layer = new attn.Linear({ inFeatures: 8, outFeatures: 3, seed: 2 });
    layer.setParameter('bias', random.tensor(3));
    const [weight, bias] = ['weight', 'bias'].map((name) => layer.parameter(name).data);
    assertClose(layer.forward(x), [2, 4, 3], linear(x.data, 8, weight, bias), 1e-6);
    const network = new attn.FeedForward({ dModel: 8, dimFeedforward: 5, activation: 'gelu' });
    const { 'linear1.weight': w1, 'linear2.weight': w2 } = network.stateDict();
    const inner = linear(x.data, 8, w1.data).map(activations.gelu);
    assertClose(network.forward(x), [2, 4, 8], linear(inner, 8, w2.data), 2e-6);
    assertThrows(
      () => layer.forward(random.tensor(2, 7)),
      'shape_mismatch',
      'x: got width 7, needs 8, the inFeatures of this layer',
    );
  });

  test('embedding_looks_up_rows', () => {
    const layer = new attn.Embedding({ numEmbeddings: 5, embeddingDim: 4, paddingIdx: 1 });
    const { data } = layer.parameter('weight');
    assert.deepEqual([...data.slice(4, 8)], [0, 0, 0, 0]);
    const row = (/** @type {number} */ i) => [...data.slice(4 * i, 4 * i + 4)];
    assertClose(layer.forward([3, 0]), [2, 4], [...row(3), ...row(0)], 0);
    assert.deepEqual(layer.forward({ data: [1, 2], shape: [1, 2] }).shape, [1, 2, 4]);
    assertThrows(
      () => layer.forward([5]),
      'invalid_argument',
      'ids[0]: got 5, needs a token id from 0 to 4',
    );
  });

  test('layer_norm_and_add_norm_agree_with_the_reference', () => {
    const y = random.tensor(2, 4, 8);
    const sum = x.data.map((value, i) => value + y.data[i]);
    const norm = (/** @type {ArrayLike<number>} */ data) =>
      Array.from(data, (value, i) => {
        const row = Array.from(data).slice(i - (i % 8), i - (i % 8) + 8);
        const mean = row.reduce((a, b) => a + b) / 8;
        const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / 8;
        return (value - mean) / Math.sqrt(variance + 1e-5);
      });
    const layer = new attn.LayerNorm({ width: 8 });
    assertClose(layer.forward(x), [2, 4, 8], norm(x.data), 4e-6);
    assertClose(layer.forwardSum(x, y), [2, 4, 8], norm(sum), 4e-6);
    assertClose(new attn.AddNorm({ width: 8 }).forward(x, y), [2, 4, 8], norm(sum), 4e-6);
  });

  test('rms_norm_and_gated_feed_forward_agree_with_the_reference', () => {
    const norm = new attn.RMSNorm({ width: 8, eps: 1e-6, zeroCentredWeight: true });
    norm.setParameter('weight', random.tensor(8));
    const weight = norm.parameter('weight').data;
    const normed = Array.from(x.data, (value, i) => {
      const row = Array.from(x.data).slice(i - (i % 8), i - (i % 8) + 8);
      const square = row.reduce((sum, b) => sum + b ** 2, 0) / 8;
      return (value / Math.sqrt(square + 1e-6)) * (1 + weight[i % 8]);
    });
    assertClose(norm.forward(x), [2, 4, 8], normed, 4e-6);
    const gated = new attn.GatedFeedForward({ dModel: 8, dimFeedforward: 5, seed: 3 });
    assert.deepEqual(gated.parameterNames(), [
      'gate_proj.weight',
      'up_proj.weight',
      'down_proj.weight',
    ]);
    const [gate, up, down] = Object.values(gated.stateDict()).map(({ data }) => data);
    const factor = linear(x.data, 8, up);
    const hidden = linear(x.data, 8, gate).map((y, i) => activations.silu(y) * factor[i]);
    const asked = gated.forward(x, { intermediates: ['hidden'] });
    assertClose(asked.intermediates.hidden, [2, 4, 5], hidden, 2e-6);
    assertClose(asked.output, [2, 4, 8], linear(hidden, 8, down), 2e-6);
    assertThrows(
      () => gated.forward(random.tensor(2, 7)),
      'shape_mismatch',
      'x: got width 7, needs 8, the dModel of this layer',
    );
  });

  test('rnn_and_convolution_agree_with_the_reference', () => {
    const rnn = new attn.RNN({ inputSize: 8, hiddenSize: 3, activation: 'relu' });
    const { weight_ih_l0: wi, weight_hh_l0: wh } = rnn.stateDict();
    const { output, hN } = rnn.forward(x);
    const expected = [0, 1].flatMap((b) => {
      let h = new Float64Array(3);
      return [0, 1, 2, 3].flatMap((t) => {
        const at = (b * 4 + t) * 8;
        const input = linear(x.data.slice(at, at + 8), 1, wi.data);
        const state = linear(h, 1, wh.data);
        h = input.map((value, i) => Math.max(0, value + state[i]));
        return [...h];
      });
    });
    assertClose(output, [2, 4, 3], expected, 2e-6);
    assertClose(hN, [1, 2, 3], [...expected.slice(9, 12), ...expected.slice(21, 24)], 2e-6);

    const conv = new attn.Conv1d({ inChannels: 8, outChannels: 2, kernelSize: 3, padding: 'same' });
    const { weight } = conv.stateDict();
    const convolved = [];
    for (let b = 0; b < 2; ++b) {
      for (let t = 0; t < 4; ++t) {
        for (let o = 0; o < 2; ++o) {
          let sum = 0;
          for (let c = 0; c < 8; ++c) {
            for (let k = 0; k < 3; ++k) {
              const from = t + k - 1;
              if (from < 0 || from > 3) continue;
              sum += weight.data[(o * 8 + c) * 3 + k] * x.data[(b * 4 + from) * 8 + c];
            }
          }
          convolved.push(sum);
        }
      }
    }
    assertClose(conv.forward(x), [2, 4, 2], convolved, 2e-6);
    assert.equal(conv.outputLength(9), 9);
  });

  test('a_gru_in_parts_gives_the_same_as_at_once', () => {
    const gru = new attn.GRU({ inputSize: 8, hiddenSize: 6, numLayers: 2 });
    const whole = gru.forward(x);
    let h0;
    for (let t = 0; t < 4; ++t) h0 = gru.forward(token(x, t), h0 && { h0 }).hN;
    assert.deepEqual(h0, whole.hN);
  });

  test('an_encoder_equals_its_layers_and_decodes_token_by_token', () => {
    const encoder = new attn.TransformerEncoder({
      dModel: 8,
      numHeads: 2,
      dimFeedforward: 16,
      numLayers: 2,
    });
    const attention = { causal: true };
    const whole = encoder.forward(x, { attention, needWeights: true });
    let h = x;
    encoder.layers.forEach((layer, l) => {
      const result = layer.forward(h, { attention: { ...attention, needWeights: true } });
      assert.deepEqual(result.weights, whole.weights?.[l]);
      h = result.output;
    });
    assert.deepEqual(h, whole.output);
    const caches = encoder.makeCaches(2);
    for (let t = 0; t < 4; ++t) {
      assert.equal(caches.length, t);
      const { output } = encoder.forward(token(x, t), { attention, caches });
      assertClose(output, [2, 1, 8], token(whole.output, t).data, 2e-6);
    }
    encoder.dispose();
    assertThrows(
      () => encoder.layers[0].forward(x),
      'disposed',
      'TransformerEncoderLayer: used after dispose()',
    );
  });

  test('a_decoder_token_by_token_gives_the_same_as_at_once', () => {
    const memory = random.tensor(2, 5, 8);
    const decoder = new attn.TransformerDecoder({
      dModel: 8,
      numHeads: 2,
      dimFeedforward: 16,
      numLayers: 2,
      normFirst: true,
      finalNorm: true,
    });
    const options = { selfAttention: { causal: true } };
    const whole = decoder.forward(x, memory, { ...options, needWeights: true });
    assert.deepEqual(whole.selfAttentionWeights?.map((w) => w.shape)[1], [2, 2, 4, 4]);
    assert.deepEqual(whole.crossAttentionWeights?.map((w) => w.shape)[1], [2, 2, 4, 5]);
    const state = decoder.start(memory);
    for (let t = 0; t < 4; ++t) {
      const { output } = decoder.forward(token(x, t), state, options);
      assertClose(output, [2, 1, 8], token(whole.output, t).data, 2e-6);
    }
    state.truncate(1);
    assert.equal(state.length, 1);
  });

  test('layers_of_a_stack_may_differ', () => {
    // Windows and rotary bases differ by layer, as in Gemma 3, and one layer has no positions.
    const encoder = new attn.TransformerEncoder({
      ...{ dModel: 8, numHeads: 4, numKvHeads: 2, headDim: 6, dimFeedforward: 12 },
      ...{ activation: 'geluTanh', gatedFeedForward: true, bias: false },
      ...{ rmsNorm: { eps: 1e-6, zeroCentredWeight: true }, qkNorm: {} },
      ...{ normFirst: true, normOutputs: true, finalNorm: true, scale: 0.4, softcap: 9 },
      positions: { rotary: { base: 10000 } },
      layers: [
        { window: { left: 1 } },
        { positions: { rotary: { base: 1e6 } }, numHeads: 2 },
        { positions: {}, gatedFeedForward: false, attentionBias: true, attentionOutputBias: false },
      ],
    });
    const names = encoder.parameterNames();
    assert.deepEqual(
      names.filter((name) => name.startsWith('layers.0.')).map((name) => name.slice(9)),
      [
        ...['self_attn.q_proj_weight', 'self_attn.k_proj_weight', 'self_attn.v_proj_weight'],
        ...['self_attn.out_proj.weight', 'self_attn.q_norm.weight', 'self_attn.k_norm.weight'],
        ...['gate_proj.weight', 'up_proj.weight', 'down_proj.weight', 'norm1.weight'],
        ...['norm2.weight', 'output_norm1.weight', 'output_norm2.weight'],
      ],
    );
    assert.deepEqual(encoder.parameter('layers.0.self_attn.q_proj_weight').shape, [24, 8]);
    assert.deepEqual(encoder.parameter('layers.1.self_attn.in_proj_weight').shape, [36, 8]);
    assert.ok(names.includes('layers.2.self_attn.in_proj_bias'));
    assert.ok(!names.includes('layers.2.self_attn.out_proj.bias'));
    assert.ok(names.includes('layers.2.linear1.weight') && names.at(-1) === 'norm.weight');

    const attention = { causal: true };
    const whole = encoder.forward(x, { attention, needWeights: true });
    assert.deepEqual(
      whole.weights.map(({ shape }) => shape),
      [4, 2, 4].map((heads) => [2, heads, 4, 4]),
    );
    const [first] = whole.weights;
    assert.deepEqual([...first.data.slice(12, 14)], [0, 0], 'outside of the window');
    let h = x;
    encoder.layers.forEach((layer, l) => {
      const result = layer.forward(h, { attention: { ...attention, needWeights: true } });
      assert.deepEqual(result.weights, whole.weights[l]);
      h = result.output;
    });
    const norm = new attn.RMSNorm({ width: 8, eps: 1e-6, zeroCentredWeight: true });
    assert.deepEqual(norm.forward(h), whole.output);
    const caches = encoder.makeCaches(2);
    for (let t = 0; t < 4; ++t) {
      const { output } = encoder.forward(token(x, t), { attention, caches });
      assertClose(output, [2, 1, 8], token(whole.output, t).data, 4e-6);
    }
    assert.deepEqual(encoder.layers[0].makeCache(3).keys().shape, [3, 2, 0, 6]);

    const sizes = { dModel: 8, dimFeedforward: 4 };
    const make = (/** @type {any} */ options) => () =>
      new attn.TransformerEncoder({ ...sizes, ...options });
    assertThrows(
      make({ layers: [{}, { dModel: 4 }] }),
      'invalid_argument',
      /^layers: got dModel 4, /,
    );
    assertThrows(
      make({ layers: [{}, {}], numLayers: 3 }),
      'invalid_argument',
      'numLayers: got 3, needs 2, the number of layers',
    );
    assertThrows(
      make({ layers: [{ windw: {} }] }),
      'invalid_argument',
      "layers[0]: 'windw' is not an option; use 'window'",
    );
    assertThrows(make({ layers: 3 }), 'invalid_argument', /^layers: got 3, needs an array/);
    assertThrows(make({ layers: [3] }), 'invalid_argument', /^layers\[0\]: got 3, /);
    assertThrows(
      make({ rmsNorm: {}, layerNormEps: 0.5 }),
      'invalid_argument',
      'layerNormEps: got 0.5, needs the default, because rmsNorm has its own eps',
    );
  });

  test('an_output_layer_can_be_tied_to_an_embedding', () => {
    const embedding = new attn.Embedding({ numEmbeddings: 5, embeddingDim: 8 });
    const tied = new attn.Linear({ tiedTo: embedding });
    assert.deepEqual(tied.parameterNames(), []);
    const linear = new attn.Linear({ inFeatures: 8, outFeatures: 5, bias: false });
    for (const weight of [embedding.parameter('weight'), random.tensor(5, 8)]) {
      embedding.setParameter('weight', weight);
      linear.setParameter('weight', weight);
      assert.deepEqual(tied.forward(x), linear.forward(x));
    }
    const withBias = new attn.Linear({ tiedTo: embedding, bias: true });
    assert.deepEqual(withBias.parameterNames(), ['bias']);
    embedding.dispose();
    assert.deepEqual(withBias.forward(x), linear.forward(x));
    const make = (/** @type {any} */ options) => () => new attn.Linear(options);
    assertThrows(make({ tiedTo: embedding }), 'disposed', 'Embedding: used after dispose()');
    assertThrows(
      make({ tiedTo: linear }),
      'invalid_argument',
      /^tiedTo: got .*, needs an Embedding/,
    );
    assertThrows(
      make({ tiedTo: new attn.Embedding({ numEmbeddings: 5, embeddingDim: 8 }), inFeatures: 8 }),
      'invalid_argument',
      'inFeatures: cannot be combined with tiedTo, which determines it; leave it out',
    );
  });

  test('multi_head_attention_with_a_cache_gives_the_same_as_at_once', () => {
    const attention = new attn.MultiHeadAttention({
      dModel: 8,
      numHeads: 4,
      numKvHeads: 2,
      positions: { rotary: { base: 100 }, maxRelativeDistance: 2 },
    });
    const whole = attention.forward(x, x, x, { causal: true });
    const cache = attention.makeCache(2);
    for (let t = 0; t < 4; ++t) {
      const next = token(x, t);
      const { output } = attention.forward(next, next, next, { cache, causal: true });
      assertClose(output, [2, 1, 8], token(whole.output, t).data, 2e-6);
    }
    assert.deepEqual(cache.keys().shape, [2, 2, 4, 2]);
    cache.truncate(0);
    attention.append(x, x, cache);
    assert.equal(cache.length, 4);
  });

  test('bahdanau_decoder_ignores_padding', () => {
    const decoder = new attn.BahdanauDecoder({ vocabSize: 7, embedSize: 3, numHiddens: 8 });
    const state = decoder.initState(x, random.tensor(1, 2, 8), { encoderLens: [4, 2] });
    const other = state.clone();
    const tokens = { data: [1, 2, 3, 4, 5, 6], shape: [2, 3] };
    const { logits, alignment } = decoder.forward(tokens, state, { needAlignment: true });
    assert.deepEqual(logits.shape, [2, 3, 7]);
    assert.ok(alignment);
    for (let row = 0; row < 6; ++row) {
      /** @type {Float32Array} */
      const row4 = alignment.data.slice(4 * row, 4 * row + 4);
      assert.ok(Math.abs(row4.reduce((a, b) => a + b) - 1) < 1e-6);
      if (row >= 3) assert.deepEqual([...row4.slice(2)], [0, 0]);
    }
    decoder.forward({ data: [1, 4], shape: [2, 1] }, other);
    decoder.forward({ data: [2, 3, 5, 6], shape: [2, 2] }, other);
    assert.deepEqual(other.hidden(), state.hidden());
  });

  test('two_byte_tensors_survive_a_file', () => {
    const bits = Uint16Array.of(0x3f80, 0xc000, 0x0001, 0x7f81, 0xff80, 0x4040);
    const shape = [2, 3];
    const file = new attn.Safetensors(
      attn.toSafetensors({
        a: { data: bits, shape, type: 'bfloat16' },
        b: { data: bits, shape, type: 'float16' },
        c: { data: Float32Array.of(1.5), shape: [1] },
      }),
    );
    assert.deepEqual(
      file.tensors.map(({ dtype, shape }) => [dtype, shape]),
      [['BF16', shape], ['F16', shape], ['F32', [1]]], // prettier-ignore
    );
    const wide = new Float32Array(Uint32Array.from(bits, (word) => word << 16).buffer);
    assert.deepEqual([...file.read('a').data], [...wide]);
    assert.equal(file.read('b').data[0], 1.875);
    const bytes = attn.toSafetensors([['a', { data: bits, shape, type: 'bfloat16' }]]);
    assert.deepEqual(new Uint16Array(bytes.slice(-12).buffer), bits);

    const weight = {
      data: bits.slice(0, 3),
      shape: [1, 3],
      type: /** @type {const} */ ('bfloat16'),
    };
    const layer = new attn.Linear({ inFeatures: 3, outFeatures: 1, bias: false });
    layer.loadStateDict({ weight });
    assert.deepEqual(layer.parameter('weight').data, wide.slice(0, 3));
    assertThrows(
      () => attn.toSafetensors({ a: { data: [1], shape: [1], type: 'bfloat16' } }),
      'invalid_argument',
      'a.data: got an array, needs a Uint16Array with the bits of bfloat16 numbers',
    );
  });

  test('weights_survive_a_file', () => {
    const sizes = { dModel: 8, numHeads: 2, dimFeedforward: 16 };
    const source = new attn.TransformerEncoderLayer({ ...sizes, seed: 4 });
    const weights = source.stateDict({ prefix: 'model.' });
    const bytes = attn.toSafetensors(weights, { format: 'pt', 'a:b': '12:\n' });
    const file = new attn.Safetensors(bytes);
    assert.deepEqual(file.metadata, { format: 'pt', 'a:b': '12:\n' });
    assert.equal(file.tensors.length, source.parameterNames().length);
    assert.deepEqual(file.read('model.norm1.weight'), weights['model.norm1.weight']);
    for (const from of [bytes, bytes.buffer, file, weights]) {
      const layer = new attn.TransformerEncoderLayer({ ...sizes, init: 'zeros' });
      const keys = layer.loadStateDict(from, { prefix: 'model.' });
      assert.deepEqual(keys, { missingKeys: [], unexpectedKeys: [] });
      assert.deepEqual(layer.forward(x), source.forward(x));
    }
    const layer = new attn.Linear({ inFeatures: 2, outFeatures: 2 });
    const partly = { weight: { data: [1, 2, 3, 4], shape: [2, 2] }, more: x };
    assert.deepEqual(layer.loadStateDict(partly, { strict: false }), {
      missingKeys: ['bias'],
      unexpectedKeys: ['more'],
    });
    assertThrows(
      () => layer.loadStateDict(partly),
      'not_found',
      /^stateDict: got no bias and the unexpected more, /,
    );
    assertThrows(() => new attn.Safetensors(bytes.slice(0, 20)), 'invalid_format', /./);
  });

  test('handles_stay_in_memory_and_are_read_in_place', () => {
    const { handles } = attn;
    const before = attn.memory().bytesInUse;
    const inside = attn.tensor(x.data, x.shape);
    assert.deepEqual(inside.toTensor(), { data: x.data, shape: x.shape });
    const encoded = handles.positionalEncoding(inside);
    assert.deepEqual(encoded.data(), attn.positionalEncoding(x).data);
    const part = inside.slice(1, 1, 3);
    const plain = {
      data: Float32Array.from({ length: 32 }, (_, i) => x.data[(i >> 4) * 32 + 8 + (i & 15)]),
      shape: [2, 2, 8],
    };
    assert.deepEqual(part.toTensor(), plain);
    assert.deepEqual(
      attn.scaledDotProductAttention(inside, part, part),
      attn.scaledDotProductAttention(x, plain, plain),
    );
    assert.deepEqual(inside.select(1, 2).data(), inside.slice(1, 2, 3).data());
    assert.deepEqual(inside.splitHeads(2).shape, [2, 2, 4, 4]);
    const view = inside.reshape([8, 8]).view();
    view[0] = 5;
    assert.equal(inside.data()[0], 5);
    attn.sinusoidalEncoding({ length: 5000, dModel: 1024 });
    assert.equal(inside.view()[0], 5);
    assertThrows(() => part.view(), 'invalid_argument', /contiguous/);
    assertThrows(() => inside.reshape([3]), 'shape_mismatch', /^shape: got \(3,\) with 3 elements/);
    const options = { validLens: /** @type {any} */ (inside) };
    assertThrows(
      () => attn.scaledDotProductAttention(x, x, x, options),
      'invalid_argument',
      'validLens: got an instance of TensorHandle, needs numbers, not a handle',
    );
    inside.dispose();
    assertThrows(() => inside.data(), 'disposed', 'TensorHandle: used after dispose()');
    assertThrows(() => attn.positionalEncoding(inside), 'disposed', 'x: used after dispose()');
    assert.deepEqual(part.toTensor().data.slice(1), plain.data.slice(1));
    const failing = () => handles.applyShift(encoded, 1, { base: -1 });
    assertThrows(failing, 'invalid_argument', /^base: got -1/);
    part.dispose();
    encoded.dispose();
    assert.ok(attn.memory().bytesInUse <= before + 2 ** 25);
  });

  test('layers_return_intermediates_by_name', () => {
    const options = { dModel: 8, numHeads: 2, dimFeedforward: 12, numLayers: 2, normFirst: true };
    const encoder = new attn.TransformerEncoder({ ...options, seed: 3 });
    const x = random.tensor(5, 8);
    const names = encoder.intermediateNames();
    assert.ok(names.includes('layers.1.self_attn.weights') && names.includes('layers.0.resid_mid'));
    const { output, weights, intermediates } = encoder.forward(x, {
      needWeights: true,
      intermediates: names,
    });
    assert.ok(intermediates);
    assert.deepEqual(Object.keys(intermediates), names);
    assert.deepEqual(output, encoder.forward(x).output);
    assert.equal(encoder.forward(x).intermediates, undefined);
    assert.deepEqual(intermediates['layers.1.self_attn.weights'], weights[1]);
    assert.deepEqual(intermediates['layers.1.output'], output);
    assert.deepEqual(intermediates['layers.0.resid_pre'], x);
    const { data: before } = intermediates['layers.1.resid_pre'];
    const { data: attended } = intermediates['layers.1.self_attn.output'];
    assert.deepEqual(
      intermediates['layers.1.resid_mid'].data,
      before.map((value, i) => value + attended[i]),
    );
    assert.throws(
      () => encoder.forward(x, { intermediates: ['layers.0.self_attn.weigths'] }),
      /the nearest is "layers\.0\.self_attn\.weights"/,
    );
    for (const wrong of /** @type {any[]} */ (['layers.0.resid_mid', [1], {}])) {
      assert.throws(() => encoder.forward(x, { intermediates: wrong }), {
        code: 'invalid_argument',
      });
    }

    const feedForward = new attn.FeedForward({ dModel: 8, dimFeedforward: 3, seed: 4 });
    const shown = feedForward.forward(x, { intermediates: ['hidden', 'hidden'] });
    assert.deepEqual(shown.output, feedForward.forward(x));
    assert.deepEqual(shown.intermediates.hidden.shape, [5, 3]);

    const norm = new attn.AddNorm({ width: 8 });
    const sum = norm.forward(x, x, { intermediates: ['sum'] }).intermediates.sum;
    assert.deepEqual(
      sum.data,
      x.data.map((value) => 2 * value),
    );

    const attention = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, seed: 5 });
    const heads = attention.forward(x, x, x, { intermediates: ['q', 'head_output'] });
    assert.deepEqual(heads.intermediates.q.shape, [2, 5, 4]);
    const cache = attention.makeCache();
    attention.forward(x, x, x, { cache });
    const cached = attention.attend(x, cache, { intermediates: ['k'] });
    assert.deepEqual(cached.intermediates.k.shape, [2, 5, 4]);
    // No intermediates are requested.
    assert.deepEqual(attention.forward(x, x, x, { intermediates: [] }).intermediates, {});
    assert.ok(!('intermediates' in attention.forward(x)));
    for (const each of [encoder, feedForward, norm, attention, cache]) each.dispose();
  });

  test('interventions_equal_the_same_change_made_by_hand', () => {
    const options = { dModel: 8, numHeads: 2, dimFeedforward: 12, numLayers: 2, normFirst: true };
    const encoder = new attn.TransformerEncoder({ ...options, seed: 3 });
    const x = random.tensor(5, 8);
    const causal = { attention: { causal: true } };
    const plain = encoder.forward(x, causal);
    assert.deepEqual(encoder.forward(x, { ...causal, ablate: [], patch: [], knockOut: [] }), plain);

    const mask = { data: new Uint8Array(25).fill(1), shape: [5, 5] };
    mask.data[4 * 5 + 1] = 0;
    const [query, key] = [4, 1];
    const knockOut = [0, 1].map((l) => ({ attention: `layers.${l}.self_attn`, query, key }));
    const masked = encoder.forward(x, { attention: { causal: true, mask } });
    assert.notDeepEqual(masked, plain);
    assert.deepEqual(encoder.forward(x, { ...causal, knockOut }), masked);
    const byHead = knockOut.flatMap((one) => [0, 1].map((head) => ({ ...one, head })));
    assert.deepEqual(encoder.forward(x, { ...causal, knockOut: byHead }), masked);

    // The columns of out_proj that read head 1.
    const name = 'layers.0.self_attn.out_proj.weight';
    const [heads, mlp] = ['layers.0.self_attn.head_output', 'layers.1.mlp_out'];
    const silenced = encoder.forward(x, { ...causal, ablate: [{ name: heads, head: 1 }] });
    const weight = encoder.parameter(name);
    const without = { data: weight.data.map((v, i) => (i % 8 < 4 ? v : 0)), shape: weight.shape };
    encoder.setParameter(name, without);
    assertClose(silenced.output, [5, 8], encoder.forward(x, causal).output.data, 2e-6);
    encoder.setParameter(name, weight);

    const row = { data: x.data.slice(0, 8), shape: [8] };
    const asked = encoder.forward(x, {
      ...{ ...causal, intermediates: [mlp, 'layers.1.resid_mid', 'layers.1.resid_post'] },
      ablate: [{ name: mlp, replacement: 'mean' }],
      patch: [{ name: 'layers.1.resid_mid', position: 2, values: row }],
    });
    const { [mlp]: mean, 'layers.1.resid_mid': stream } = asked.intermediates;
    assert.deepEqual(mean.data.slice(0, 8), mean.data.slice(32));
    assert.deepEqual(stream.data.slice(16, 24), x.data.slice(0, 8));
    assert.deepEqual(
      asked.intermediates['layers.1.resid_post'].data,
      stream.data.map((value, i) => value + mean.data[i]),
    );

    const attention = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, seed: 5 });
    const { weights } = attention.forward(x, x, x, {
      ...{ needWeights: true, knockOut: [{ head: 1, query: 0, key: 3 }] },
    });
    assert.deepEqual(
      [...weights.data].flatMap((value, i) => (value === 0 ? i : [])),
      [25 + 3],
    );
    const fails = (/** @type {any} */ options, /** @type {RegExp} */ message, code = 'not_found') =>
      assert.throws(() => encoder.forward(x, options), { code, message });
    fails({ ablate: [{ name: 'layers.0.mlp' }] }, /^ablate: .*"layers\.0\.mlp_out"/);
    fails({ patch: [{ name: 'mlp_out', values: x }] }, /^patch: got "mlp_out"/);
    fails(
      { knockOut: [{ query: 0, key: 0 }] },
      /^knockOut: .* "layers\.0\.self_attn", "layers\.1\.self_attn"/,
    );
    const invalid = (/** @type {any} */ options, /** @type {RegExp} */ message) =>
      fails(options, message, 'invalid_argument');
    invalid({ ablate: [{ name: heads, head: 2 }] }, /^head: got 2, needs 0 to 1/);
    invalid({ ablate: [{ name: mlp, head: 0 }] }, /has no heads/);
    invalid({ ablate: [{ name: mlp, position: 5 }] }, /^position: got 5, needs 0 to 4/);
    invalid({ ablate: [{ name: mlp, position: -1 }] }, /^ablate\[0\]\.position: got -1/);
    invalid({ ablate: [{ name: mlp, replacement: 'no' }] }, /needs 'zero' or 'mean'/);
    invalid({ ablate: mlp }, /^ablate: .* an array/);
    invalid({ knockOut: [{ ...knockOut[0], key: 9 }] }, /^key: got 9, needs 0 to 4/);
    invalid({ knockOut: [{ attention: 'layers.0.self_attn', key: 1 }] }, /^knockOut\[0\]\.query/);
    invalid({ patch: [{ name: mlp }] }, /^patch\[0\]\.values/);
    const patch = [{ name: mlp, values: { data: x.data.slice(1), shape: [39] } }];
    fails({ patch }, /^layers\.1\.mlp_out: got shape \(39\)/, 'shape_mismatch');
    const caches = encoder.makeCaches();
    fails({ ...causal, caches, knockOut }, /without a cache/, 'unsupported');
    for (const each of [encoder, attention, caches]) each.dispose();
  });

  test('contributions_add_up_to_a_product_with_the_output', () => {
    const options = { dModel: 8, numHeads: 2, dimFeedforward: 12, numLayers: 2, normFirst: true };
    const encoder = new attn.TransformerEncoder({ ...options, finalNorm: true, seed: 3 });
    const x = random.tensor(5, 8);
    const direction = random.tensor(8);
    const causal = { attention: { causal: true } };
    const { output } = encoder.forward(x, causal);
    for (const position of [undefined, 0, 2]) {
      const got = encoder.contributions(x, direction, { ...causal, position });
      const row = (position ?? 4) * 8;
      const want = direction.data.reduce((sum, u, i) => sum + u * output.data[row + i], 0);
      const parts = got.layers.flatMap(({ heads, feedForward }) => [...heads, feedForward]);
      assert.equal(parts.length, 6);
      const sum = parts.reduce((a, b) => a + b, got.embedding + got.bias);
      assert.ok(Math.abs(sum - want) < 1e-5, `${sum} is not ${want}`);
      assert.ok(Math.abs(got.total - want) < 1e-5);
    }
    const wrong = (/** @type {any} */ options, /** @type {RegExp} */ message) =>
      assert.throws(() => encoder.contributions(x, direction, options), {
        ...{ code: 'invalid_argument', message },
      });
    wrong({ position: 5 }, /^position: got 5, needs 0 to 4/);
    wrong({ position: -1 }, /^position/);
    wrong({ caches: 1 }, /caches/);
    assert.throws(() => encoder.contributions(x, x), { code: 'shape_mismatch' });
    const post = new attn.TransformerEncoder({ ...options, normFirst: false });
    assert.throws(() => post.contributions(x, direction), { code: 'unsupported' });
    for (const each of [encoder, post]) each.dispose();
  });

  test('intermediates_are_handles_if_results_are', () => {
    const layer = new attn.handles.FeedForward({ dModel: 8, dimFeedforward: 3, seed: 4 });
    const x = random.tensor(5, 8);
    const { output, intermediates } = layer.forward(x, { intermediates: ['hidden'] });
    assert.deepEqual(intermediates.hidden.shape, [5, 3]);
    assert.ok(intermediates.hidden.data().some((value) => value > 0));
    output.dispose();
    intermediates.hidden.dispose();
    layer.dispose();
  });
});
