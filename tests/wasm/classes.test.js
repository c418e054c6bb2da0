// Tests that the classes can be extended, and that their instances can be printed and saved.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';

import { load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { callsOf } from './calls.js';
import { assertThrows } from './compare.js';
import { kLayers } from './layerClasses.js';

const attn = await load({ variant: 'simd128' });
const x = { data: new Float32Array(12).fill(0.5), shape: [3, 4] };

test('every_layer_is_listed_here', () => {
  const others = ['KeyValueCache', 'Safetensors', 'architectureCosts'];
  assert.deepEqual(Object.keys(attn).sort(), [...kLayers.map(([name]) => name), ...others].sort());
});

test('every_layer_has_a_call_that_tests_can_vary', () => {
  const calls = callsOf(attn);
  for (const [name] of kLayers) assert.ok(name in calls, name);
});

for (const [name, options, argumentsOf] of kLayers) {
  /** @type {new (options: any) => any} */
  const Base = Reflect.get(attn, name);

  test(`${name}_can_be_extended`, () => {
    class Mine extends Base {
      calls = 0;
      /** @param {any[]} args */
      forward(...args) {
        ++this.calls;
        return super.forward(...args);
      }
      twice() {
        return 2 * this.calls;
      }
    }
    class Plain extends Base {}
    const mine = /** @type {any} */ (new Mine(options));
    const plain = /** @type {any} */ (new Plain(options));
    const base = new Base(options);
    assert.ok(mine instanceof Mine && mine instanceof Base && base instanceof Base);
    const expected = base.forward(...argumentsOf(base));
    assert.deepEqual(mine.forward(...argumentsOf(mine)), expected);
    assert.deepEqual(plain.forward(...argumentsOf(plain)), expected);
    assert.equal(mine.twice(), 2);
    assert.equal(Base.name, name);
    const args = argumentsOf(base);
    for (const layer of [mine, plain, base]) layer.dispose();
    assertThrows(() => mine.forward(...args), 'disposed', 'Mine: used after dispose()');
    assertThrows(() => base.forward(...args), 'disposed', `${name}: used after dispose()`);
    assert.throws(() => /** @type {any} */ (Base)(options), /cannot be invoked without 'new'/);
  });

  test(`${name}_prints_briefly`, () => {
    const layer = new Base(options);
    const text = inspect(layer, { breakLength: Infinity });
    const names = Object.keys(options).map((key) => `${key}: ${Reflect.get(options, key)}`);
    assert.equal(text, `${name} { ${names.join(', ')} }`);
    assert.deepEqual(JSON.parse(JSON.stringify(layer)), { type: name, ...options });
    layer.dispose();
    assert.equal(inspect(layer), `${name} { disposed: true }`);
  });
}

test('layers_of_a_stack_are_instances_of_the_public_classes', () => {
  const stack = new attn.TransformerEncoder({ dModel: 4, dimFeedforward: 4, numLayers: 2 });
  assert.ok(stack.layers[1] instanceof attn.TransformerEncoderLayer);
  class Mine extends attn.TransformerDecoder {}
  const mine = new Mine({ dModel: 4, dimFeedforward: 4, numLayers: 2 });
  assert.deepEqual(mine.layers[1].parameterNames().length, 18);
});

test('all_objects_in_webassembly_memory_print_briefly', () => {
  const { handles } = attn;
  const inside = attn.tensor(x.data, x.shape);
  assert.match(inspect(inside), /^TensorHandle \(3, 4\)\n\[\[0\.5000, /);
  assert.equal(JSON.stringify({ inside }), '{"inside":{"type":"TensorHandle","shape":[3,4]}}');
  assert.equal(inspect(attn), "Attn { variant: 'simd128' }");
  assert.equal(JSON.stringify(handles), '{"type":"Attn","variant":"simd128"}');
  const mha = new attn.MultiHeadAttention({ dModel: 100, numHeads: 5 });
  assert.equal(inspect(mha), 'MultiHeadAttention { dModel: 100, numHeads: 5 }');
  assert.match(JSON.stringify(mha.makeCache()), /^\{"type":"KeyValueCache".*"length":0\}$/);
  const positions = { rotary: { frequencies: new Float64Array(10) } };
  const rotated = new attn.MultiHeadAttention({ dModel: 20, positions });
  assert.match(inspect(rotated), /frequencies: 'Float64Array\(10\)'/);
  const encoder = new attn.TransformerEncoder({ dModel: 4, dimFeedforward: 4 });
  assert.equal(inspect(encoder.makeCaches()), 'LayerCaches { batch: 1, length: 0 }');
  const decoder = new attn.TransformerDecoder({ dModel: 4, dimFeedforward: 4 });
  assert.equal(inspect(decoder.start(x)), 'DecodingState { batch: 1, length: 0, memoryLength: 3 }');
  const file = new attn.Safetensors(attn.toSafetensors({ x }));
  assert.equal(inspect(file), 'Safetensors { tensors: 1 }');
  inside.dispose();
  assert.equal(inspect(inside), 'TensorHandle { disposed: true }');
});

test('remote_objects_print_briefly', async () => {
  const remote = await loadInWorker({ variant: 'simd128' });
  try {
    const layer = await new remote.Linear({ inFeatures: 2, outFeatures: 2 });
    assert.equal(inspect(layer), 'RemoteLinear');
    assert.equal(JSON.stringify(remote), '{"type":"RemoteAttn"}');
    const costs = await remote.architectureCosts.convolution({ n: 4, d: 2, k: 3 });
    assert.deepEqual(costs, attn.architectureCosts.convolution({ n: 4, d: 2, k: 3 }));
    const named = new Map([['weight', { data: [1, 2], shape: [2] }]]);
    assert.deepEqual(await remote.toSafetensors(named), attn.toSafetensors(named));
  } finally {
    remote.terminate();
  }
});

test('files_can_be_written_from_anything_with_names_and_from_nothing_else', () => {
  const expected = attn.toSafetensors({ x, y: x }, { format: 'pt' });
  const pairs = /** @type {[string, typeof x][]} */ ([
    ['x', x],
    ['y', x],
  ]);
  assert.deepEqual(attn.toSafetensors(new Map(pairs), new Map([['format', 'pt']])), expected);
  assert.deepEqual(attn.toSafetensors(pairs, [['format', 'pt']]), expected);
  const bare = Object.assign(Object.create(null), { x, y: x });
  assert.deepEqual(attn.toSafetensors(bare, { format: 'pt' }), expected);
  // A file without tensors is valid, too.
  for (const none of [{}, new Map(), []]) {
    assert.deepEqual(new attn.Safetensors(attn.toSafetensors(none)).tensors, []);
  }
  const needs = 'a plain object, a Map or [name, value] pairs';
  const layer = new attn.Linear({ inFeatures: 2, outFeatures: 2 });
  for (const wrong of [null, 3, 'x', layer, new Date(), Promise.resolve({}), [x], new Set(['a'])]) {
    assertThrows(
      () => attn.toSafetensors(/** @type {any} */ (wrong)),
      'invalid_argument',
      new RegExp(`^tensors: got .*, needs ${needs.replaceAll(/[[\]]/g, '\\$&')}$`),
    );
  }
  assertThrows(
    () => attn.toSafetensors([...pairs, ['x', x]]),
    'invalid_argument',
    "tensors: the name 'x' appears twice; use each name once",
  );
  const linear = new attn.Linear({ inFeatures: 2, outFeatures: 2 });
  linear.loadStateDict(new Map(Object.entries(layer.stateDict())));
  assert.deepEqual(linear.stateDict(), layer.stateDict());
});
