// Tests calls whose arguments change while the call reads them, because getters run code or memory
// grows.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { load } from 'attn';

import { callsOf, trainingCallsOf } from './calls.js';
import { assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

/** @import { Attn } from 'attn' */

/**
 * An object whose property `name` runs `effect` when it is read.
 * @param {any} object
 * @param {string} name
 * @param {(count: number) => void} effect  receives the number of earlier reads
 * @returns {any}
 */
function observed(object, name, effect) {
  let count = 0;
  const { [name]: value } = object;
  const get = () => {
    effect(count++);
    return value;
  };
  return Object.defineProperty({ ...object }, name, { get, enumerable: true });
}

/**
 * Copies a value. Each property of the copy, at any depth, gives the right value only when it is
 * read for the first time, and a wrong number afterwards.
 * @param {any} value
 * @returns {any}
 */
function readableOnce(value) {
  if (!isLiteral(value)) return value;
  const copy = Array.isArray(value) ? [] : {};
  for (const [name, inner] of Object.entries(value)) {
    const values = [readableOnce(inner)];
    const get = () => (values.length > 0 ? values.pop() : 1e6);
    Object.defineProperty(copy, name, { get, enumerable: true });
  }
  return copy;
}

/** True for values that a caller may write as a literal. @param {any} value */
const isLiteral = (value) =>
  typeof value === 'object' &&
  value !== null &&
  (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);

/**
 * @param {Attn} attn
 * @param {import('./calls.js').Calls} calls
 */
function testEach(attn, calls) {
  const x = new Random().tensor(2, 3, 8);
  const same = (/** @type {any} */ value) => value;
  for (const [name, call] of Object.entries(calls)) {
    test(`${name}_reads_each_property_once`, () => {
      assert.deepEqual(call(readableOnce), call(same));
    });

    test(`${name}_may_be_interrupted_by_other_calls`, () => {
      const expected = call(same);
      let isInside = false;
      // Reading any property makes further calls to attn, with arguments of every kind.
      const interrupt = () => {
        if (isInside) return;
        isInside = true;
        attn.sinusoidalEncoding({ length: 2, dModel: 2 });
        attn.scaledDotProductAttention(x, x, x, { needWeights: true });
        assertThrows(
          () => attn.sinusoidalEncoding({ length: -1, dModel: 2 }),
          'invalid_argument',
          /^length/,
        );
        isInside = false;
      };
      const interrupting = (/** @type {any} */ value) =>
        isLiteral(value)
          ? new Proxy(value, {
              get: (target, key) => {
                interrupt();
                return interrupting(Reflect.get(target, key));
              },
            })
          : value;
      assert.deepEqual(call(interrupting), expected);
      assert.deepEqual(call(same), expected);
    });
  }
}

const training = await load({ variant: 'simd128', training: true });
describe('arguments of a training module', () => {
  testEach(training, { ...callsOf(training), ...trainingCallsOf(training) });
});

await everyVariant('arguments', (attn) => {
  const random = new Random();
  const x = random.tensor(2, 3, 8);
  testEach(attn, callsOf(attn));

  test('objects_disposed_of_by_a_getter_are_not_used', () => {
    const heads = random.tensor(1, 2, 3, 4);
    const handle = attn.tensor(heads.data, heads.shape);
    const disposing = observed({ causal: true }, 'causal', () => handle.dispose());
    assertThrows(
      () => attn.scaledDotProductAttention(handle, heads, heads, disposing),
      'disposed',
      'query: used after dispose()',
    );
    const rows = random.tensor(3, 8);
    const layer = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 });
    const bias = observed({ data: [0, 0, 0], shape: [3] }, 'shape', () => layer.dispose());
    assertThrows(
      () => layer.forward(rows, rows, rows, { bias }),
      'disposed',
      'MultiHeadAttention: used after dispose()',
    );
    const other = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 });
    const cache = other.makeCache();
    const mask = observed({ data: [1, 1, 1], shape: [3] }, 'data', () => cache.dispose());
    assertThrows(
      () => other.forward(rows, rows, rows, { cache, mask }),
      'disposed',
      'KeyValueCache: used after dispose()',
    );
    other.dispose();
  });

  test('getters_of_a_class_count_as_options', () => {
    class Settings {
      get causal() {
        return true;
      }
    }
    const { output } = attn.scaledDotProductAttention(x, x, x, new Settings());
    assert.deepEqual(output, attn.scaledDotProductAttention(x, x, x, { causal: true }).output);
    const hidden = Object.defineProperty({}, 'causal', { value: true });
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x, hidden).output, output);
  });

  test('lists_are_read_by_index', () => {
    /** @param {any[]} list @param {any[]} others */
    const lying = (list, others) =>
      Object.assign([...list], {
        *[Symbol.iterator]() {
          yield* others;
        },
        map: () => others,
        findIndex: () => -1,
        some: () => false,
      });
    const options = { dModel: 4 };
    assert.deepEqual(
      attn.ngramEmbedding(lying(['a', 'b'], [1]), options),
      attn.ngramEmbedding(['a', 'b'], options),
    );
    const layer = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 });
    const [name] = layer.intermediateNames();
    const { intermediates } = layer.forward(x, x, x, {
      intermediates: lying([name], [name, 'no']),
    });
    assert.deepEqual(Object.keys(intermediates), [name]);
    layer.dispose();
    const mask = { data: lying([1, 1, 0], [1]), shape: [3] };
    assert.deepEqual(
      attn.maskedSoftmax({ data: [1, 2, 3], shape: [1, 3] }, { mask }),
      attn.maskedSoftmax({ data: [1, 2, 3], shape: [1, 3] }, { validLens: [2] }),
    );
    assertThrows(
      () => attn.ngramEmbedding(new Array(2 ** 32 - 1), options),
      'invalid_argument',
      /^tokens\[0\]/,
    );
  });

  test('a_typed_array_cannot_fake_another_length', () => {
    class Long extends Float32Array {
      get length() {
        return 200;
      }
    }
    for (const data of [
      new Long(8),
      Object.defineProperty(new Float32Array(8), 'length', { value: 200 }),
    ]) {
      assertThrows(
        () => attn.positionalEncoding({ data, shape: [25, 8] }),
        'shape_mismatch',
        /length 8/,
      );
      assert.equal(attn.positionalEncoding({ data, shape: [1, 8] }).data.length, 8);
    }
    const fake = { [Symbol.toStringTag]: 'Uint8Array', length: 100 };
    assertThrows(
      () => new attn.Safetensors(/** @type {any} */ (fake)),
      'invalid_argument',
      /^bytes/,
    );
    const mask = { data: fake, shape: [100] };
    assertThrows(
      () => attn.maskedSoftmax(random.tensor(1, 100), /** @type {any} */ ({ mask })),
      'invalid_argument',
      /^mask/,
    );
  });

  test('a_handle_cannot_fake_another_shape', () => {
    const handle = attn.tensor(x.data, x.shape);
    Object.defineProperty(handle, 'shape', { value: [200, 300, 8] });
    assert.deepEqual(attn.positionalEncoding(handle), attn.positionalEncoding(x));
    handle.dispose();
  });

  test('a_proxy_of_an_attn_object_is_named', () => {
    const handle = attn.tensor(x.data, x.shape);
    const layer = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 });
    const cache = layer.makeCache();
    const proxyOf = (/** @type {any} */ object) => new Proxy(object, {});
    assertThrows(
      () => attn.positionalEncoding(proxyOf(handle)),
      'invalid_argument',
      /^x: got a Proxy for an instance of TensorHandle, needs the object itself/,
    );
    assertThrows(
      () => proxyOf(handle).toTensor(),
      'invalid_argument',
      /a Proxy for an instance of TensorHandle/,
    );
    assertThrows(
      () => proxyOf(layer).forward(x),
      'invalid_argument',
      /^this: got a Proxy for an instance of MultiHeadAttention, needs the object itself/,
    );
    assertThrows(
      () => layer.forward(x, x, x, { cache: proxyOf(cache) }),
      'invalid_argument',
      /a Proxy for an instance of KeyValueCache/,
    );
    for (const object of [handle, cache, layer]) object.dispose();
  });

  test('data_that_is_detached_or_resized_during_a_call_is_named', () => {
    const data = new Float32Array(24);
    const options = observed({ start: 1 }, 'start', () =>
      structuredClone(data, { transfer: [data.buffer] }),
    );
    // attn reads the options before it reads the array, which the getter detaches.
    assertThrows(
      () => attn.positionalEncoding({ data, shape: [3, 8] }, options),
      'shape_mismatch',
      'x: got data of length 0, needs 24 for shape (3, 8)',
    );
    const resizable = new /** @type {any} */ (ArrayBuffer)(96, { maxByteLength: 960 });
    for (const size of [0, 48, 960]) {
      resizable.resize(96);
      const query = { data: new Float32Array(resizable), shape: [1, 3, 8] };
      const mask = observed({ data: [1, 1, 1], shape: [3] }, 'shape', () => resizable.resize(size));
      assertThrows(
        () => attn.scaledDotProductAttention(query, query, query, { mask }),
        'invalid_argument',
        /^query: the length of its data changed during the call/,
      );
    }
  });
});

/**
 * True if two arrays are equal. assert.deepEqual() would list all differences.
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
const areEqual = (a, b) => a.length === b.length && a.every((value, i) => Object.is(value, b[i]));

// These tests use separate modules whose memory is still small, so that the calls make it grow.
test('a_view_of_a_handle_is_a_valid_argument_even_if_memory_grows', async () => {
  const shape = [64, 256];
  const { data } = new Random().tensor(...shape);
  const large = { data: new Float32Array(2 ** 23).fill(0.5), shape: [64, 2 ** 17] };
  const wide = { data: large.data, shape: [2 ** 15, 256] };
  /** @type {Record<string, (attn: Attn, x: any) => Float32Array>} */
  const calls = {
    anotherArgument: (attn, x) => attn.scaledDotProductAttention(x, x, large).output.data,
    mask: (attn, x) => {
      const bytes = new Uint8Array(x.data.buffer, x.data.byteOffset, 256);
      return attn.maskedSoftmax(wide, { mask: { data: bytes, shape: [256] } }).data;
    },
    result: (attn, x) =>
      attn.relativeSkew({ data: large.data, shape: [2 ** 12, 2 ** 3, 256] }, x).data,
    handle: (attn, x) => attn.handles.sinusoidalEncoding({ positions: x.data, dModel: 512 }).data(),
  };
  for (const [name, call] of Object.entries(calls)) {
    const attn = await load({ variant: 'simd128' });
    const before = attn.memory().bytesReserved;
    const result = call(attn, { data: attn.tensor(data, shape).view(), shape });
    assert.ok(attn.memory().bytesReserved > before, name);
    assert.ok(areEqual(result, call(attn, { data, shape })), name);
    attn.dispose();
  }
});

test('a_large_view_of_a_handle_can_be_copied', async () => {
  const attn = await load({ variant: 'simd128' });
  const numbers = Float32Array.from({ length: 2 ** 22 }, (_, i) => i);
  const first = attn.tensor(numbers, [2 ** 22]);
  const before = attn.memory().bytesReserved;
  const second = attn.tensor(first.view(), [2 ** 22]);
  assert.ok(attn.memory().bytesReserved > before);
  assert.ok(areEqual(second.view(), numbers));
  attn.dispose();
});
