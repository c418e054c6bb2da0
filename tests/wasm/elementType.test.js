import assert from 'node:assert/strict';
import { test } from 'node:test';

import { load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

/** @import { CacheType, ElementsLike, ElementType, HalfTensor, Tensor } from 'attn' */

/** @type {ElementType[]} */
const kTypes = ['float32', 'float16', 'bfloat16'];
/** @type {CacheType[]} */
const kCacheTypes = [...kTypes, 'int8'];

const word = new DataView(new ArrayBuffer(4));

/** @param {number} bits */
function ofBFloat16(bits) {
  word.setUint32(0, bits << 16);
  return word.getFloat32(0);
}

/** @param {number} bits */
function ofFloat16(bits) {
  const [exponent, mantissa] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return mantissa ? NaN : bits & 0x8000 ? -Infinity : Infinity;
  const magnitude =
    exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/** @param {HalfTensor} tensor @returns {Tensor} */
const widened = ({ data, shape, type }) => ({
  data: Float32Array.from(data, type === 'float16' ? ofFloat16 : ofBFloat16),
  shape,
});

/**
 * Finds the bits of the nearest number by bisection. If two numbers are equally near, takes the
 * number whose bits are even.
 * @param {number} value
 * @param {HalfTensor['type']} type
 */
function bitsOf(value, type) {
  const of = type === 'float16' ? ofFloat16 : ofBFloat16;
  let [low, high] = [0, type === 'float16' ? 0x7bff : 0x7f7f];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (of(middle) <= Math.abs(value)) low = middle;
    else high = middle;
  }
  const [below, above] = [Math.abs(value) - of(low), of(high) - Math.abs(value)];
  const nearest = below < above || (below === above && low % 2 === 0) ? low : high;
  return nearest | (value < 0 ? 0x8000 : 0);
}

/** @param {Tensor} tensor @param {ElementType} type @returns {ElementsLike & { shape: number[] }} */
const stored = ({ data, shape }, type) =>
  type === 'float32'
    ? { data, shape }
    : { data: Uint16Array.from(data, (value) => bitsOf(value, type)), shape, type };

/** @param {any} tensor @returns {Tensor} */
const asFloats = (tensor) => (tensor.type ? widened(tensor) : tensor);

await everyVariant('element types', (attn) => {
  const random = new Random();
  const query = random.tensor(2, 4, 5, 9);
  const key = random.tensor(2, 2, 7, 9);
  const value = random.tensor(2, 2, 7, 6);
  const options = { causal: true, diagonal: 'bottomRight', needWeights: true };
  const attention = /** @type {{ causal: true, diagonal: 'bottomRight', needWeights: true }} */ (
    options
  );

  test('any_mix_of_types_gives_the_same_bits_as_its_numbers_in_float32', () => {
    for (const q of kTypes) {
      for (const k of kTypes) {
        for (const v of kTypes) {
          const inputs = /** @type {const} */ ([
            stored(query, q),
            stored(key, k),
            stored(value, v),
          ]);
          const [a, b, c] = inputs.map(asFloats);
          assert.deepEqual(
            attn.scaledDotProductAttention(...inputs, attention),
            attn.scaledDotProductAttention(a, b, c, attention),
            `${q} ${k} ${v}`,
          );
        }
      }
    }
  });

  test('two_byte_outputs_are_rounded_once', () => {
    const { output } = attn.scaledDotProductAttention(query, key, value);
    for (const outputType of /** @type {const} */ (['float16', 'bfloat16'])) {
      const rounded = attn.scaledDotProductAttention(query, key, value, { outputType }).output;
      assert.deepEqual(rounded, stored(output, outputType));
      // The two-byte outputs can be inputs without conversion.
      const again = attn.scaledDotProductAttention(rounded, rounded, rounded).output;
      const wide = widened(rounded);
      assert.deepEqual(again, attn.scaledDotProductAttention(wide, wide, wide).output);
    }
  });

  test('a_Float16Array_is_read_in_place', { skip: !('Float16Array' in globalThis) }, () => {
    const bits = /** @type {any} */ (stored(key, 'float16'));
    const data = new /** @type {any} */ (globalThis).Float16Array(bits.data.buffer);
    const halves = { data, shape: key.shape };
    const { output } = attn.scaledDotProductAttention(query, halves, value);
    assert.deepEqual(output, attn.scaledDotProductAttention(query, bits, value).output);
  });

  for (const type of kCacheTypes) {
    test(`a_cache_of_${type}_gives_the_same_as_its_keys_and_values`, () => {
      const sizes = { batch: 2, numKvHeads: 2, headDim: 9, valueDim: 6, type };
      const cache = new attn.KeyValueCache(sizes);
      assert.equal(cache.type, type);
      cache.append(stored(key, 'float16'), stored(value, 'bfloat16'));
      assert.equal(cache.length, 7);
      const [keys, values] = [cache.keys(), cache.values()];
      for (const given of [query, random.tensor(2, 4, 1, 9)]) {
        const got = attn.scaledDotProductAttention(given, cache, attention);
        const wanted = attn.scaledDotProductAttention(given, keys, values, attention);
        assert.deepEqual(got.weights.shape, wanted.weights.shape);
        // With int8, the core multiplies the score by the key's scale, which rounds differently.
        const tolerance = type === 'int8' ? 2e-6 : 0;
        assertClose(got.output, wanted.output.shape, wanted.output.data, tolerance);
        assertClose(got.weights, wanted.weights.shape, wanted.weights.data, tolerance);
        const { output } = attn.scaledDotProductAttention(given, cache, {
          causal: true,
          diagonal: 'bottomRight',
          outputType: 'bfloat16',
        });
        assert.deepEqual(output, stored(got.output, 'bfloat16'));
      }
      // The query is passed as (B, N, H·D) and as (B, N, H, D).
      const rows = random.tensor(2, 3, 36);
      const apart = { data: rows.data, shape: [2, 3, 4, 9] };
      const side = attn.scaledDotProductAttention(rows, cache, { numHeads: 4 }).output;
      const bnhd = attn.scaledDotProductAttention(apart, cache, { layout: 'bnhd' }).output;
      assert.deepEqual(side.shape, [2, 3, 24]);
      assert.deepEqual(side.data, bnhd.data);
      cache.clear();
      assert.equal(cache.length, 0);
      const { output } = attn.scaledDotProductAttention(query, cache);
      assert.deepEqual(output, { data: new Float32Array(240), shape: [2, 4, 5, 6] });
      cache.dispose();
    });
  }

  const x = random.tensor(2, 5, 8);
  const y = random.tensor(2, 5, 8);
  /**
   * Calls of layers and rotations that accept any element type. Each call takes inputs x and y and
   * options; many layers need only x. The types are `any`, because the layers have different type
   * parameters.
   * @type {() => Record<string, (inputs: any[], options?: any) => any>}
   */
  const makeLayers = () => {
    const linear = new attn.Linear({ inFeatures: 8, outFeatures: 11, seed: 3 });
    const layerNorm = new attn.LayerNorm({ width: 8 });
    layerNorm.setParameter('weight', random.tensor(8));
    const rmsNorm = new attn.RMSNorm({ width: 8 });
    const rotary = new attn.RotaryEmbedding({ rotaryDim: 4 });
    const { cos, sin } = rotary.tables({ length: 5 });
    const sizes = { dModel: 8, dimFeedforward: 13, seed: 3 };
    const feedForward = new attn.FeedForward({ ...sizes, outFeatures: 5 });
    const gated = new attn.GatedFeedForward(sizes);
    const attention = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, seed: 3 });
    const cache = attention.makeCache(2);
    attention.append(x, y, cache);
    const encoder = new attn.TransformerEncoder({ ...sizes, numHeads: 2, numLayers: 2 });
    const decoder = new attn.TransformerDecoder({ ...sizes, numHeads: 2, numLayers: 2 });
    const causal = { causal: true };
    return {
      linear: ([x], options) => linear.forward(x, options),
      layerNorm: ([x], options) => layerNorm.forward(x, options),
      layerNormOfSum: ([x, y], options) => layerNorm.forwardSum(x, y, options),
      rmsNorm: ([x], options) => rmsNorm.forward(x, options),
      feedForward: ([x], options) => feedForward.forward(x, options),
      gatedFeedForward: ([x], options) => gated.forward(x, options),
      attention: ([x, y], options) => attention.forward(x, y, y, options).output,
      attentionOverCache: ([x], options) => attention.attend(x, cache, options).output,
      encoderLayer: ([x], options) =>
        encoder.layers[1].forward(x, { attention: causal, ...options }).output,
      encoder: ([x], options) => encoder.forward(x, { attention: causal, ...options }).output,
      decoderLayer: ([x, y], options) => decoder.layers[1].forward(x, y, options).output,
      decoder: ([x, y], options) =>
        decoder.forward(x, y, { selfAttention: causal, ...options }).output,
      rotary: ([x], options) => rotary.forward(x, { start: 3, ...options }),
      rotaryOfHeads: ([x], options) => rotary.forward(x, { numHeads: 2, ...options }),
      rotaryTables: ([x], options) => attn.applyRotaryEmbedding(x, cos, sin, options),
      rotaryTablesOfHeads: ([x], options) =>
        attn.applyRotaryEmbedding(x, cos, sin, { numHeads: 2, ...options }),
    };
  };

  for (const [name, layer] of Object.entries(makeLayers())) {
    test(`${name}_of_any_mix_of_types_gives_the_bits_of_float32_rounded_once`, () => {
      for (const first of kTypes) {
        for (const second of kTypes) {
          const inputs = [stored(x, first), stored(y, second)];
          const wanted = layer(inputs.map(asFloats));
          assert.ok(wanted.data instanceof Float32Array);
          assert.deepEqual(layer(inputs), wanted, `${first} ${second}`);
          for (const outputType of kTypes) {
            const got = layer(inputs, { outputType });
            assert.deepEqual(got, stored(wanted, outputType), `${first} ${second} ${outputType}`);
          }
        }
      }
    });

    test(`${name}_accepts_a_Float16Array`, { skip: !('Float16Array' in globalThis) }, () => {
      const bits = [x, y].map((tensor) => /** @type {any} */ (stored(tensor, 'float16')));
      const halves = bits.map(({ data, shape }) => ({
        data: new /** @type {any} */ (globalThis).Float16Array(data.buffer),
        shape,
      }));
      assert.deepEqual(layer(halves), layer(bits));
    });

    test(`${name}_names_an_argument_of_the_wrong_type`, () => {
      const half = /** @type {any} */ (stored(x, 'float16'));
      const other = stored(y, 'bfloat16');
      const calls = /** @type {[any[], any, RegExp][]} */ ([
        [[{ ...half, type: 'half' }, other], {}, /^(x|query)\.type: got 'half', needs 'float32', /],
        [
          [{ ...x, type: 'bfloat16' }, other],
          {},
          /^(x|query)\.data: .*Float32Array, needs a Uint16Array with the bits of bfloat16/,
        ],
        [[half, other], { outputType: 'int8' }, /^outputType: got 'int8', needs 'float32', /],
        [[half, other], { outputType: null }, /^outputType: got null, needs/],
        [[half, other], { outputTypes: 'float16' }, /^options: .*use 'outputType'$/],
      ]);
      for (const [inputs, options, message] of calls) {
        assertThrows(() => layer(inputs, options), 'invalid_argument', message);
      }
      assert.deepEqual(half, stored(x, 'float16'));
    });
  }

  test('layers_with_a_state_accept_any_type', () => {
    const sizes = { dModel: 8, numHeads: 2, dimFeedforward: 13, numLayers: 2, seed: 3 };
    const attention = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, seed: 3 });
    const encoder = new attn.TransformerEncoder(sizes);
    const decoder = new attn.TransformerDecoder(sizes);
    for (const type of kTypes) {
      const [given, memory] = [stored(x, type), stored(y, type)];
      /**
       * Runs the layers on x, and then on x again with the same caches.
       * @param {any} given
       * @param {any} memory
       * @param {any} [options]
       */
      const goOn = (given, memory, options) => {
        const caches = [attention.makeCache(2), attention.makeCache(2)];
        attention.append(given, memory, caches[1]);
        const layerCaches = encoder.makeCaches(2);
        const state = decoder.start(memory);
        const twice = (/** @type {() => any} */ call) => [call(), call()];
        const needWeights = true;
        return [
          ...twice(() =>
            attention.forward(given, memory, memory, { cache: caches[0], needWeights, ...options }),
          ),
          attention.attend(given, caches[1], { needLogSumExp: true, ...options }),
          ...twice(() => encoder.forward(given, { caches: layerCaches, needWeights, ...options })),
          ...twice(() => decoder.forward(given, state, { needWeights, ...options })),
        ];
      };
      const wanted = goOn(asFloats(given), asFloats(memory));
      assert.deepEqual(goOn(given, memory), wanted, type);
      const rounded = goOn(given, memory, { outputType: 'float16' });
      assert.deepEqual(
        rounded,
        wanted.map((result) => ({ ...result, output: stored(result.output, 'float16') })),
      );
    }
  });

  test('intermediates_of_two_byte_tensors_are_float32', () => {
    const gated = new attn.GatedFeedForward({ dModel: 8, dimFeedforward: 13, seed: 3 });
    const intermediates = /** @type {const} */ (['hidden']);
    const half = stored(x, 'bfloat16');
    const wanted = gated.forward(asFloats(half), { intermediates });
    assert.deepEqual(gated.forward(half, { intermediates, outputType: 'bfloat16' }), {
      ...wanted,
      output: stored(wanted.output, 'bfloat16'),
    });
  });

  test('rows_of_an_embedding_are_rounded_once', () => {
    const embedding = new attn.Embedding({ numEmbeddings: 9, embeddingDim: 8, seed: 3 });
    const ids = [3, 0, 8, 3];
    for (const outputType of kTypes) {
      assert.deepEqual(
        embedding.forward(ids, { outputType }),
        stored(embedding.forward(ids), outputType),
      );
    }
    const wrong = /** @type {any} */ ({ outputType: 'int8' });
    assertThrows(
      () => embedding.forward(ids, wrong),
      'invalid_argument',
      /^outputType: got 'int8'/,
    );
  });

  test('layers_accept_and_return_handles_next_to_two_byte_tensors', () => {
    const layer = new attn.handles.LayerNorm({ width: 8 });
    const half = stored(x, 'bfloat16');
    const handle = layer.forward(half);
    const plain = new attn.LayerNorm({ width: 8 });
    const wide = plain.forward(half);
    assert.deepEqual(handle.toTensor(), wide);
    assert.deepEqual(layer.forwardSum(handle, half).toTensor(), plain.forwardSum(wide, half));
    assert.deepEqual(
      plain.forwardSum(handle, half, { outputType: 'float16' }),
      stored(plain.forwardSum(wide, half), 'float16'),
    );
    assertThrows(
      () => layer.forward(half, { outputType: 'float16' }),
      'invalid_argument',
      /^outputType: .*handles are always float32$/,
    );
  });

  test('a_convolution_accepts_only_float32', () => {
    const conv = new attn.Conv1d({ inChannels: 8, outChannels: 2 });
    assertThrows(
      () => conv.forward(/** @type {any} */ (stored(x, 'float16'))),
      'invalid_argument',
      /^x\.type: got 'float16', needs 'float32'$/,
    );
  });

  // The core widens large inputs differently from small inputs, and has separate code paths for
  // subnormal numbers, infinities and large queries.
  for (const type of /** @type {const} */ (['float16', 'bfloat16'])) {
    test(`one_query_over_any_${type}_numbers_has_the_bits_of_float32`, () => {
      const [length, heads] = [150, 2];
      const infinity = type === 'float16' ? 0x7c00 : 0x7f80;
      for (const width of [8, 31, 40, 72]) {
        const draw = (/** @type {number} */ size) => {
          const { data } = random.tensor(heads * length * width);
          return stored(
            { data: data.map((x) => x * size), shape: [1, heads, length, width] },
            type,
          );
        };
        const q = random.tensor(1, heads, 1, width);
        const large = { data: q.data.map((x) => x * 1e30), shape: q.shape };
        const zeros = {
          data: new Uint16Array(heads * length * width),
          shape: [1, heads, length, width],
          type,
        };
        const spoilt = () => {
          const tensor = draw(1);
          const bits = /** @type {Uint16Array} */ (tensor.data);
          // Writes −∞, NaN and ∞ near the end of the first head and into the middle of the second
          // head.
          bits.set([infinity | 0x8000, infinity | 1, infinity], 140 * width);
          bits.set([infinity, infinity], (length + 70) * width + 3);
          return tensor;
        };
        const [k, v] = [draw(1), draw(1)];
        const cases = /** @type {[string, Tensor, any, any, object][]} */ ([
          ['numbers of a size', q, k, v, {}],
          ['subnormal numbers', q, draw(2 ** -16), draw(2 ** -16), {}],
          ['a few subnormal numbers', q, draw(2 ** -11), draw(2 ** -11), {}],
          ['zeros', q, zeros, zeros, {}],
          ['a large query', large, k, v, {}],
          ['large weights', q, k, v, { dropout: { probability: 0.9999999, seed: 2 } }],
          ['infinities that count', q, spoilt(), spoilt(), {}],
          ['infinite values that count', q, k, spoilt(), {}],
          ['infinities beyond the length', q, spoilt(), spoilt(), { keyLens: [60] }],
          [
            'infinite values that are masked',
            q,
            k,
            spoilt(),
            { window: { left: 20, right: 0 }, diagonal: 100 },
          ],
        ]);
        for (const [what, query, key, value, options] of cases) {
          const all = {
            ...options,
            needScaledScores: true,
            needWeights: true,
            needLogSumExp: true,
          };
          const got = attn.scaledDotProductAttention(query, key, value, all);
          const wanted = attn.scaledDotProductAttention(query, widened(key), widened(value), all);
          for (const name of /** @type {const} */ ([
            'output',
            'scaledScores',
            'weights',
            'logSumExp',
          ])) {
            // Compares numbers, because the bits of NaNs may differ.
            const [these, those] = [got, wanted].map((result) =>
              Array.from(result[name]?.data ?? []),
            );
            assert.deepEqual(these, those, `${what}, ${width} wide: ${name}`);
          }
        }
      }
    });
  }

  test('calls_release_all_memory', () => {
    const layers = Object.values(makeLayers());
    const [q, k, v] = [stored(query, 'bfloat16'), stored(key, 'float16'), stored(value, 'float16')];
    const calls = () => {
      const cache = new attn.KeyValueCache({ batch: 2, numKvHeads: 2, headDim: 9, valueDim: 6 });
      cache.append(k, v);
      attn.scaledDotProductAttention(q, cache, { outputType: 'float16' });
      attn.scaledDotProductAttention(q, k, v, { outputType: 'bfloat16' });
      attn.handles.scaledDotProductAttention(q, cache).output.dispose();
      assert.throws(() => attn.scaledDotProductAttention(random.tensor(2, 3, 1, 9), cache));
      assert.throws(() =>
        attn.handles.scaledDotProductAttention(q, k, v, { outputType: 'float16' }),
      );
      cache.dispose();
      for (const layer of layers) {
        layer([stored(x, 'float16'), stored(y, 'bfloat16')], { outputType: 'bfloat16' });
        assert.throws(() => layer([stored(x, 'float16'), y], { outputType: 'int8' }));
      }
    };
    for (let i = 0; i < 10; ++i) calls();
    const before = attn.memory();
    for (let i = 0; i < 300; ++i) calls();
    assert.deepEqual(attn.memory(), before);
  });

  test('errors_name_the_argument_what_it_got_and_what_it_needs', () => {
    const cache = new attn.KeyValueCache({ batch: 2, numKvHeads: 2, headDim: 9, valueDim: 6 });
    cache.append(key, value);
    const half = /** @type {any} */ (stored(key, 'float16'));
    const attend = /** @type {(...inputs: any[]) => () => unknown} */ (
      (...inputs) =>
        () =>
          attn.scaledDotProductAttention(.../** @type {[any, any, any]} */ (inputs))
    );
    const calls = /** @type {[() => unknown, string, RegExp][]} */ ([
      [
        attend(query, { ...half, type: 'half' }, value),
        'invalid_argument',
        /^key\.type: got 'half', needs 'float32', /,
      ],
      [
        attend({ ...query, type: 'bfloat16' }, key, value),
        'invalid_argument',
        /^query\.data: .*Float32Array, needs a Uint16Array with the bits of bfloat16/,
      ],
      [
        attend(query, key, value, { outputType: 'int8' }),
        'invalid_argument',
        /^outputType: got 'int8'/,
      ],
      [
        () => attn.handles.scaledDotProductAttention(query, key, value, { outputType: 'float16' }),
        'invalid_argument',
        /^outputType: .*handles are always float32$/,
      ],
      [
        () => attn.maskedSoftmax(half),
        'invalid_argument',
        /^x\.type: got 'float16', needs 'float32'$/,
      ],
      [
        attend(random.tensor(1, 4, 1, 9), cache),
        'shape_mismatch',
        /^query: got batch 1, needs 2, the batch of the cache$/,
      ],
      [
        attend(random.tensor(2, 4, 1, 8), cache),
        'shape_mismatch',
        /^key: got head dimension 9, needs 8/,
      ],
      [
        attend(random.tensor(2, 3, 1, 9), cache),
        'shape_mismatch',
        /^query: got 3 heads, needs a multiple of the 2/,
      ],
      [
        attend(random.tensor(4, 9), cache),
        'shape_mismatch',
        /^query: got shape \(4, 9\), needs rank 4/,
      ],
      [attend(query, cache, { casual: true }), 'invalid_argument', /'causal'$/],
      [attend(query, cache, value), 'invalid_argument', /^options: 'data' is not an option/],
      [() => cache.append(half, random.tensor(2, 2, 7, 5)), 'shape_mismatch', /^value: got shape/],
    ]);
    for (const [call, code, message] of calls) assertThrows(call, code, message);
    assert.equal(cache.length, 7);
    cache.dispose();
    assertThrows(attend(query, cache), 'disposed', /dispose/);
  });
});

test('a_worker_accepts_and_returns_two_byte_tensors', async () => {
  const [local, attn] = [
    await load({ variant: 'simd128' }),
    await loadInWorker({ variant: 'simd128' }),
  ];
  const x = stored(new Random(3).tensor(1, 2, 4, 8), 'bfloat16');
  const sizes = /** @type {const} */ ({ numKvHeads: 2, headDim: 8, type: 'int8' });
  const [here, there] = [new local.KeyValueCache(sizes), await new attn.KeyValueCache(sizes)];
  here.append(x, x);
  await there.append(x, x);
  const options = /** @type {const} */ ({ outputType: 'float16', needLogSumExp: true });
  assert.deepEqual(
    await attn.scaledDotProductAttention(x, there, options),
    local.scaledDotProductAttention(x, here, options),
  );
  const layer = await new attn.RMSNorm({ width: 8 });
  const { outputType } = options;
  assert.deepEqual(
    await layer.forward(x, { outputType }),
    new local.RMSNorm({ width: 8 }).forward(x, { outputType }),
  );
  await attn.dispose();
});

test('a_cache_works_with_tensors_but_not_with_variables', async () => {
  const attn = await load({ training: true, variant: 'simd128' });
  const cache = new attn.KeyValueCache({ numKvHeads: 1, headDim: 4 });
  const x = new Random(4).tensor(1, 1, 3, 4);
  cache.append(x, x);
  const { output } = attn.scaledDotProductAttention(x, cache);
  assert.deepEqual(output, attn.scaledDotProductAttention(x, x, x).output);
  const variable = new attn.Tape().variable(x);
  assertThrows(
    () => attn.scaledDotProductAttention(/** @type {any} */ (variable), cache),
    'invalid_argument',
    /^query: /,
  );
  attn.dispose();
});

test('recorded_results_are_float32', async () => {
  const attn = await load({ training: true, variant: 'simd128' });
  const half = /** @type {any} */ (stored(new Random(5).tensor(3, 4), 'float16'));
  const tape = new attn.Tape();
  assertThrows(
    () => tape.variable(half),
    'invalid_argument',
    /^\w+\.type: got 'float16', needs 'float32'$/,
  );
  const x = /** @type {any} */ (tape.variable(widened(half)));
  const linear = new attn.Linear({ inFeatures: 4, outFeatures: 2 });
  const norm = new attn.LayerNorm({ width: 4 });
  const rotary = new attn.RotaryEmbedding({ rotaryDim: 4 });
  const options = /** @type {const} */ ({ outputType: 'float16' });
  for (const forward of [
    () => linear.forward(x, options),
    () => norm.forward(x, options),
    () => norm.forwardSum(x, x, options),
    () => rotary.forward(x, options),
  ]) {
    assertThrows(forward, 'invalid_argument', /^options: 'outputType' is not an option/);
  }
  assertThrows(() => norm.forwardSum(x, half), 'invalid_argument', /^y: .*needs a Variable/);
  // When the layers are called with tensors, they accept `outputType`, as in a module without
  // training.
  for (const layer of /** @type {any[]} */ ([linear, norm, rotary])) {
    const { shape, type } = layer.forward(half, options);
    assert.deepEqual([shape.length, type], [2, 'float16']);
  }
  assert.equal(norm.forwardSum(half, half, options).type, 'float16');
  attn.dispose();
});
