// Passes unexpected arguments. Every call must return a result or throw an AttnError, and the
// module must keep working. This command tries more arguments:
//
//   ATTN_FUZZ_SECONDS=600 node --test tests/wasm/fuzz.test.js
//
// A failure prints a seed and a path. To repeat the failure, set ATTN_FUZZ_SEED and ATTN_FUZZ_PATH
// to these values.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { AttnError, load } from 'attn';
import fc from 'fast-check';

import { kRoot } from '../../wasm/toolchain/checkout.js';
import * as hints from '../../wasm/js/hints.js';
import { callsOf, modelCallsOf, recordedModelCallsOf, trainingCallsOf } from './calls.js';

/** @import { Attn, ModelsAttn, TrainingAttn } from 'attn' */
/** @import { Calls } from './calls.js' */

const kSeconds = Number(process.env.ATTN_FUZZ_SECONDS || 0);
const kSeed = Number(process.env.ATTN_FUZZ_SEED || 20170612);
const kRuns = 2000;
/** Time limit for a call. No argument is large, but the machine may be busy. */
const kMostMs = 10_000;

/** The error that the getters throw. */
class CallersError extends Error {}

/**
 * Returns a replacement for an argument. `value` is the argument that the call expects.
 * @typedef {(attn: Attn, value: any) => any} Replace
 */

/**
 * True if the test's own code failed because it received an unexpected result.
 * @param {any} error
 */
const isOfTests = ({ stack }) => /file:.*/.exec(stack)?.[0].includes('/tests/wasm/');

/** @param {object} target @param {(key: PropertyKey, count: number) => any} get */
function proxyOf(target, get) {
  let count = 0;
  return new Proxy(target, {
    get: (object, key) => {
      const other = get(key, count++);
      return other === undefined ? Reflect.get(object, key) : other;
    },
  });
}

const objectOf = (/** @type {any} */ value) =>
  typeof value === 'object' && value ? value : [value];
const numbersOf = (/** @type {any} */ value) => {
  const isList = Array.isArray(value) || ArrayBuffer.isView(value);
  const list = isList ? /** @type {ArrayLike<unknown>} */ (value) : [1, 2, 3, 4];
  return Float32Array.from(list, (part) => (typeof part === 'number' ? part : 1));
};
const grow = (/** @type {Attn} */ attn) =>
  attn.tensor(new Float32Array(2 ** 18), [2 ** 18]).dispose();
const interrupt = (/** @type {Attn} */ attn) => {
  const x = { data: [1, 2, 3, 4], shape: [1, 2, 2] };
  attn.scaledDotProductAttention(x, x, x, { needWeights: true });
  attn.handles.positionalEncoding(x).dispose();
};
const resizable = (/** @type {number} */ bytes) =>
  new /** @type {any} */ (ArrayBuffer)(bytes, { maxByteLength: 4 * bytes + 8 });

/** @type {Record<string, Replace>} */
const kReplacements = {
  interrupting: (attn, value) => proxyOf(objectOf(value), () => interrupt(attn)),
  growing: (attn, value) => proxyOf(objectOf(value), () => grow(attn)),
  throwing: (_, value) =>
    proxyOf(objectOf(value), (_, count) => {
      if (count > 1) throw new CallersError();
    }),
  changing: (_, value) =>
    proxyOf(objectOf(value), (key, count) => (count > 1 ? [value, 1e6, -1][count % 3] : undefined)),
  changingShape: (_, value) =>
    proxyOf(objectOf(value), (key, count) => (key === 'shape' ? [2 ** (count % 20)] : undefined)),
  changingLength: (_, value) =>
    proxyOf(objectOf(value), (key, count) => (key === 'length' && count > 0 ? 1000 : undefined)),
  lyingLength: (_, value) => Object.defineProperty(numbersOf(value), 'length', { value: 1e6 }),
  detached: (_, value) => {
    const numbers = numbersOf(value);
    structuredClone(numbers, { transfer: [numbers.buffer] });
    return numbers;
  },
  shrinking: (_, value) => {
    const numbers = numbersOf(value);
    const buffer = resizable(numbers.byteLength);
    const view = new Float32Array(buffer);
    view.set(numbers);
    return proxyOf(
      { data: view, shape: [view.length] },
      (key) => void (key === 'type' && buffer.resize(0)),
    );
  },
  lengthening: (_, value) => {
    const numbers = numbersOf(value);
    const buffer = resizable(numbers.byteLength);
    return proxyOf(
      { data: new Float32Array(buffer), shape: [numbers.length] },
      (key) => void (key === 'type' && buffer.resize(2 * numbers.byteLength)),
    );
  },
  resizable: (_, value) => {
    const numbers = numbersOf(value);
    const view = new Float32Array(resizable(numbers.byteLength));
    view.set(numbers);
    return view;
  },
  shared: (_, value) => {
    const numbers = numbersOf(value);
    const view = new Float32Array(new SharedArrayBuffer(numbers.byteLength));
    view.set(numbers);
    return view;
  },
  heap: (attn, value) => {
    const numbers = numbersOf(value);
    return attn.tensor(numbers, [numbers.length]).view();
  },
  wholeHeap: (attn) => new Uint8Array(attn.tensor([1], [1]).view().buffer),
  handle: (attn, value) => {
    const { data, shape } = Array.isArray(value?.shape)
      ? value
      : { data: [1, 2, 3, 4], shape: [2, 2] };
    return attn.tensor(numbersOf(data), shape);
  },
  stridedHandle: (attn) => attn.tensor(new Float32Array(96), [2, 3, 16]).slice(2, 4, 12),
  handleOfOne: (attn) => attn.tensor([1], []),
  disposedHandle: (attn) => {
    const handle = attn.tensor([1], [1]);
    handle.dispose();
    return handle;
  },
  proxyOfHandle: (attn) => new Proxy(attn.tensor([1], [1]), {}),
  lyingHandle: (attn) => Object.defineProperty(attn.tensor([1], [1]), 'shape', { value: [1e6] }),
  prototypeOfHandle: (attn) => Object.create(Object.getPrototypeOf(attn.tensor([1], [1]))),
  disposing: (attn, value) => {
    const handle = attn.tensor([1, 2, 3, 4], [2, 2]);
    return {
      ...value,
      data: handle,
      get shape() {
        handle.dispose();
        return [2, 2];
      },
    };
  },
  layer: (attn) => new attn.Linear({ inFeatures: 2, outFeatures: 2 }),
  cache: (attn) => new attn.KeyValueCache({ numKvHeads: 1, headDim: 2 }),
  disposedCache: (attn) => {
    const cache = new attn.KeyValueCache({ numKvHeads: 1, headDim: 2 });
    cache.dispose();
    return cache;
  },
  proxyOfLayer: (attn) => new Proxy(new attn.Linear({ inFeatures: 2, outFeatures: 2 }), {}),
  attn: (attn) => attn,
  string: (_, value) => (typeof value === 'number' ? `${value}` : 'gelu'),
  boxed: (_, value) => Object(value),
  bigInts: () => new BigInt64Array([1n, -1n, 2n ** 62n]),
  noBigInts: () => new BigInt64Array(0),
  dataView: () => new DataView(new ArrayBuffer(8)),
  buffer: () => new ArrayBuffer(64),
  detachedBuffer: () => {
    const buffer = new ArrayBuffer(64);
    structuredClone(buffer, { transfer: [buffer] });
    return buffer;
  },
  holes: () => new Array(4),
  hugeHoles: () => new Array(2 ** 32 - 1),
  nested: (_, value) => [[value]],
  empty: () => ({ data: [], shape: [0, 0] }),
  infinite: () => ({ data: [Infinity, NaN, -Infinity, 1e300], shape: [2, 2] }),
  sixDimensions: () => ({ data: [1], shape: [1, 1, 1, 1, 1, 1] }),
  sevenDimensions: () => ({ data: [1], shape: [1, 1, 1, 1, 1, 1, 1] }),
  proto: () => JSON.parse('{ "__proto__": { "causal": true }, "constructor": { "name": 3 } }'),
  fake: () => ({ [Symbol.toStringTag]: 'Uint8Array', length: 1e6, byteLength: 1e6 }),
  coercing: () => ({ valueOf: () => 2 ** 31, toString: () => 'x', [Symbol.toPrimitive]: () => 7 }),
};

const anything = fc.anything({
  ...{ withBigInt: true, withMap: true, withSet: true, withTypedArray: true, withDate: true },
  ...{ withNullPrototype: true, withSparseArray: true, withObjectString: true, maxDepth: 2 },
});
// Numbers that include invalid sizes. None of them is so large that a call would take long.
const numbers = fc.constantFrom(
  ...[0, -0, -1, 1, 2, 3, 5, 0.5, -2.5, 1e-300, 1e300, NaN, Infinity, -Infinity, 100],
  ...[
    2 ** 30,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    2 ** 40,
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 31),
    -(2 ** 53),
  ],
);
const replacement = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(...Object.keys(kReplacements)).map((name) => ({ name })),
  },
  { weight: 3, arbitrary: numbers.map((value) => ({ value })) },
  { weight: 2, arbitrary: anything.map((value) => ({ value })) },
);
/**
 * Pairs of an index and a replacement. The index counts all values in the arguments, at any depth.
 */
const changes = fc.array(fc.tuple(fc.nat(200), replacement), { minLength: 1, maxLength: 3 });

/**
 * Replaces arguments and the values inside them. An index in `list` counts all of them in the order
 * in which they are passed: each argument, then the values inside it.
 * @param {Attn} attn
 * @param {[number, { name?: string, value?: any }][]} list
 */
function replacing(attn, list) {
  let at = 0;
  const wanted = new Map(list);
  const visit = (/** @type {any} */ value) => {
    const other = wanted.get(at++);
    let result = value;
    if (Array.isArray(value)) result = value.map(visit);
    else if (
      typeof value === 'object' &&
      value &&
      Object.getPrototypeOf(value) === Object.prototype
    ) {
      result = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, visit(part)]));
    }
    if (!other) return result;
    return other.name ? kReplacements[other.name](attn, result) : other.value;
  };
  return { pass: visit, count: () => at };
}

/**
 * @param {Attn} attn
 * @param {Calls} calls
 * @param {number} share  fraction of all runs
 */
function check(attn, calls, share) {
  const names = Object.keys(calls);
  /** Number of values that each call passes. */
  const counts = names.map((name) => {
    const { pass, count } = replacing(attn, []);
    calls[name](pass);
    return count();
  });
  const x = { data: [1, 2, 3, 4, 5, 6, 7, 8], shape: [1, 2, 4] };
  const probe = () => attn.scaledDotProductAttention(x, x, x, { causal: true, needWeights: true });
  const expected = probe();
  const canaries = Array.from({ length: 4 }, () =>
    attn.tensor(new Float32Array(64).fill(42), [64]),
  );

  const property = fc.property(fc.nat(names.length - 1), changes, (index, list) => {
    const name = names[index];
    const { pass } = replacing(
      attn,
      list.map(([at, change]) => [at % counts[index], change]),
    );
    const start = performance.now();
    try {
      calls[name](pass);
    } catch (error) {
      const isExpected =
        error instanceof AttnError
          ? error.code !== 'internal'
          : error instanceof CallersError || isOfTests(error);
      if (!isExpected) throw error;
    }
    assert.ok(performance.now() - start < kMostMs, `${name} took long`);
    assert.ok(!attn.disposed);
    assert.deepEqual(probe(), expected);
    for (const canary of canaries) assert.ok(canary.view().every((value) => value === 42));
  });
  fc.assert(property, {
    seed: kSeed,
    includeErrorInReport: true,
    ...(process.env.ATTN_FUZZ_PATH && { path: process.env.ATTN_FUZZ_PATH }),
    ...(kSeconds
      ? {
          numRuns: 1e9,
          interruptAfterTimeLimit: 1000 * kSeconds * share,
          markInterruptAsFailure: false,
        }
      : { numRuns: Math.round(kRuns * share) }),
  });
}

test('any_argument_gives_a_result_or_an_error', async () => {
  const attn = await load({ variant: 'simd128' });
  check(attn, callsOf(attn), 0.5);
  attn.dispose();
});

test('any_argument_in_training_gives_a_result_or_an_error', async () => {
  const attn = await load({ variant: 'simd128', training: true });
  check(attn, trainingCallsOf(attn), 0.3);
  attn.dispose();
});

/** @param {ModelsAttn} attn */
async function openGpt2(attn) {
  const folder = join(kRoot, 'tests/native/models/recorded/gpt2');
  const files = ['config.json', 'model.safetensors'].map((name) => [
    name,
    new Uint8Array(readFileSync(join(folder, name))),
  ]);
  return attn.loadModel(new Map(/** @type {any} */ (files)), { weightType: 'float32' });
}

test('any_argument_of_a_model_gives_a_result_or_an_error', async () => {
  const attn = await load({ variant: 'simd128', models: true });
  check(attn, modelCallsOf(attn, await openGpt2(attn)), 0.2);
  attn.dispose();
});

test('any_argument_of_a_model_on_a_tape_gives_a_result_or_an_error', async () => {
  const attn = await load({ variant: 'simd128', models: true, training: true });
  check(attn, recordedModelCallsOf(attn, await openGpt2(attn)), 0.1);
  attn.dispose();
});

test('every_method_is_called', async () => {
  const attn = await load({ variant: 'simd128', training: true });
  const text = [callsOf, trainingCallsOf, modelCallsOf].join('\n');
  /** The module's classes. The loop over `attn` below checks their methods. */
  const own = Object.fromEntries(Object.entries(attn));
  /** Members that take no arguments or have separate tests. */
  const others = [
    'constructor',
    'toJSON',
    'dispose',
    'disposed',
    'variant',
    'fallback',
    'numThreads',
  ];
  // Methods that have the names of other libraries' methods and only throw an error.
  others.push(...Object.values(hints).flatMap((names) => Object.keys(names)));
  others.push('version', 'memory', 'instructionSet', 'chooseToken');
  others.push('loadModel', 'describeModel', 'loadEncoderDecoder', 'describeEncoderDecoder');
  /** @param {any} prototype */
  const checkMembers = (prototype) => {
    for (let at = prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
        if (typeof value !== 'function' || others.includes(name) || name in own) continue;
        assert.ok(text.includes(`.${name}(`), name);
      }
    }
  };
  checkMembers(Object.getPrototypeOf(attn));
  const protectedMembers = ['call', 'ask', 'map', 'show', 'mapElements', 'run', 'facts', 'record'];
  others.push('enter', 'invoke', 'forwardElements');
  others.push(...protectedMembers, 'recordEach', 'copyGradient');
  others.push('nativeIn', 'nativesIn', 'write', 'requireLayers', 'input');
  for (const [name, Class] of Object.entries(attn)) {
    if (typeof Class !== 'function') continue;
    assert.ok(
      [`attn.${name}(`, `'${name}'`].some((part) => text.includes(part)),
      name,
    );
    checkMembers(Class.prototype);
  }
  others.push('placeIn', 'nativeOn', 'handleOn');
  checkMembers(Object.getPrototypeOf(attn.tensor([1], [1])));
  checkMembers(Object.getPrototypeOf(new attn.Tape().variable({ data: [1], shape: [1] })));
  attn.dispose();
});
