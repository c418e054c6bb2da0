import assert from 'node:assert/strict';
import { freemem } from 'node:os';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { AttnError, load } from 'attn';

import { assertThrows } from './compare.js';
import { everyVariant, lacks } from './everyVariant.js';
import { Random } from './random.js';

/** @import { MultiHeadAttention, TensorHandle } from 'attn' */

await everyVariant('memory', (attn) => {
  const random = new Random();
  const x = random.tensor(2, 4, 20);

  /** Calls every function once. Some calls fail. */
  const callEverything = () => {
    const { output } = attn.scaledDotProductAttention(x, x, x, {
      validLens: [3, 2],
      mask: { data: [1, 1, 0, 1], shape: [4] },
      needWeights: true,
    });
    const mha = new attn.MultiHeadAttention({ dModel: 20, numHeads: 5, bias: true });
    mha.setParameter('out_proj.bias', { data: output.data.slice(0, 20), shape: [20] });
    mha.forward(attn.positionalEncoding(output), x, x, { causal: true, needWeights: true });
    mha.parameter('in_proj_weight');
    assert.throws(() => mha.parameter('none'), AttnError);
    mha.dispose();
    attn.applyShift(attn.sinusoidalEncoding({ length: 4, dModel: 20 }), 1);
    attn.shiftMatrix({ dModel: 20, delta: 1 });
    attn.ngramEmbedding(['some', 'tokens', 'and', '🐈'], { dModel: 20 });
    assert.throws(() => attn.scaledDotProductAttention(x, x, output, { scale: NaN }), AttnError);
    assert.throws(() => attn.sinusoidalEncoding({ length: 1, dModel: 1, base: -1 }), AttnError);
  };

  test('ten_thousand_calls_leave_the_memory_in_use_unchanged', () => {
    for (let i = 0; i < 10; ++i) callEverything();
    const before = attn.memory();
    // One call to `callEverything` makes 15 calls to the core.
    for (let i = 0; i < 700; ++i) callEverything();
    assert.deepEqual(attn.memory(), before);
  });

  test('ten_thousand_passes_of_layers_and_handles_leave_the_memory_in_use_unchanged', () => {
    const sizes = { dModel: 20, numHeads: 5 };
    const mha = new attn.MultiHeadAttention(sizes);
    const stack = { ...sizes, numLayers: 1, dimFeedforward: 20 };
    const encoder = new attn.TransformerEncoder(stack);
    const decoder = new attn.TransformerDecoder(stack);
    const gru = new attn.GRU({ inputSize: 20, hiddenSize: 20 });
    const linear = new attn.Linear({ inFeatures: 20, outFeatures: 20 });
    const inside = attn.tensor(x.data, x.shape);
    const { handles } = attn;

    /** Ten forward passes that cover arrays, handles and a temporary layer. */
    const passes = () => {
      mha.forward(x);
      encoder.forward(x);
      decoder.forward(x, x);
      gru.forward(x);
      linear.forward(x);
      decoder.forward(inside, inside);
      const encoded = handles.positionalEncoding(inside);
      const { output, weights } = handles.scaledDotProductAttention(encoded, inside, encoded, {
        needWeights: true,
      });
      const part = output.slice(1, 0, 2);
      output.dispose();
      assert.throws(() => handles.applyShift(part, NaN), AttnError);
      for (const handle of [encoded, weights, part]) handle?.dispose();
      const norm = new attn.LayerNorm({ width: 20 });
      norm.forward(inside);
      norm.dispose();
      const caches = encoder.makeCaches(2);
      encoder.forward(x, { caches, attention: { causal: true } });
      caches.dispose();
    };
    for (let i = 0; i < 10; ++i) passes();
    const before = attn.memory();
    // With threads, each pass takes several times as long. Fewer passes suffice, because threads
    // own no memory that could leak.
    for (let i = 0; i < (attn.numThreads > 1 ? 100 : 1000); ++i) passes();
    assert.deepEqual(attn.memory(), before);
    for (const object of [mha, encoder, decoder, gru, linear, inside]) object.dispose();
  });

  test('large_calls_release_their_memory', () => {
    const before = attn.memory().bytesInUse;
    const { data } = attn.sinusoidalEncoding({ length: 4096, dModel: 4096 });
    assert.equal(data.length, 4096 * 4096);
    const { bytesInUse, bytesReserved } = attn.memory();
    assert.ok(bytesReserved > data.byteLength);
    assert.ok(bytesInUse - before < 2 ** 22, `${bytesInUse - before} bytes more than before`);
  });

  test('patched_values_are_released_at_the_end_of_the_call', () => {
    const mha = new attn.MultiHeadAttention({ dModel: 20, numHeads: 5 });
    const long = random.tensor(1, 2000, 20);
    const patch = () =>
      mha.forward(long, long, long, { patch: [{ name: 'output', values: long }] });
    patch();
    mha.forward(long, long, long, { knockOut: [{ query: 1, key: 0 }] });
    const before = attn.memory().bytesInUse;
    patch();
    const more = attn.memory().bytesInUse - before;
    assert.ok(more < long.data.byteLength / 2, `${more} bytes more than before`);
    mha.dispose();
  });

  test('calls_work_while_memory_grows', () => {
    const expected = attn.scaledDotProductAttention(x, x, x, { needWeights: true });
    for (let length = 1; length < 3000; length *= 3) {
      const long = random.tensor(length, 64);
      const { output } = attn.scaledDotProductAttention(long, long, long);
      assert.ok(output.data.every(Number.isFinite));
    }
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x, { needWeights: true }), expected);
  });

  test('a_rejected_call_takes_no_memory', () => {
    const before = attn.memory();
    const options = { length: 2 ** 20, dModel: 256, layout: /** @type {any} */ ('diagonal') };
    for (const results of [attn, attn.handles]) {
      assertThrows(() => results.sinusoidalEncoding(options), 'invalid_argument', /^layout: got/);
      assert.deepEqual(attn.memory(), before);
    }
  });

  test('sizes_beyond_the_memory_are_errors_and_the_module_stays_usable', () => {
    const expected = attn.scaledDotProductAttention(x, x, x);
    const one = { data: new Float32Array(50000), shape: [50000, 1] };
    assertThrows(
      () => attn.sinusoidalEncoding({ length: 2 ** 24, dModel: 512 }),
      'size_overflow',
      'output: got shape (16777216, 512), needs no more than the 4 GiB that WebAssembly can address',
    );
    assertThrows(
      () => attn.scaledDotProductAttention(one, one, one, { needWeights: true }),
      'size_overflow',
      'weights: got shape (50000, 50000), needs no more than the 4 GiB that WebAssembly can address',
    );
    assertThrows(
      () => attn.sinusoidalEncoding({ length: 1073700, dModel: 1000 }),
      'out_of_memory',
      'output: too little memory for 4294800000 bytes',
    );
    assertThrows(
      () => new attn.MultiHeadAttention({ dModel: 18900, numHeads: 1 }),
      'size_overflow',
      'in_proj_weight: got 1071630000 elements, needs few enough elements to fit into the address space',
    );
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x), expected);
  });

  test('dropped_layers_are_eventually_freed', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc');
    const before = attn.memory().bytesInUse;
    for (let i = 0; i < 3; ++i) new attn.MultiHeadAttention({ dModel: 256, numHeads: 4 });
    assert.ok(attn.memory().bytesInUse > before + 2 ** 20);
    // Fragmentation between other objects' blocks may change the total by a few bytes.
    const most = before + 64;
    for (let i = 0; i < 50 && attn.memory().bytesInUse > most; ++i) {
      collectGarbage();
      await setTimeout(10);
    }
    assert.ok(attn.memory().bytesInUse <= most);
  });

  // Only the variants with threads run this test, because they have less memory to fill.
  test('the_module_survives_full_memory', { skip: !attn.variant.endsWith('-threads') }, () => {
    const expected = attn.scaledDotProductAttention(x, x, x);
    const before = attn.memory().bytesInUse;
    /** @type {MultiHeadAttention[]} */
    const layers = [];
    const fill = (/** @type {number} */ dModel) => {
      try {
        for (;;)
          layers.push(new attn.MultiHeadAttention({ dModel, numHeads: 1, init: 'identity' }));
      } catch (error) {
        assert.ok(error instanceof AttnError);
        assert.equal(error.code, 'out_of_memory');
      }
    };
    // Fills the memory completely, first with large layers, then with smaller and smaller layers.
    for (const dModel of [4096, 1024, 256, 64, 16, 4]) fill(dModel);
    assert.ok(attn.memory().bytesReserved > 2 ** 31 - 2 ** 24);
    const long = random.tensor(20000, 16);
    assertThrows(
      () => attn.scaledDotProductAttention(long, long, long),
      'out_of_memory',
      /too little/,
    );
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x), expected);
    for (const layer of layers) layer.dispose();
    assert.ok(attn.memory().bytesInUse <= before);
    assert.deepEqual(attn.scaledDotProductAttention(long, long, long).output.shape, [20000, 16]);
  });
});

const needs8GB = freemem() < 2 ** 33 && 'there is too little memory';
for (const [variant, blocks] of /** @type {const} */ ([
  ['simd128', 127],
  ['simd128-threads', 63],
])) {
  const name = `handles_that_exhaust_memory_are_errors_and_${variant}_works_afterwards`;
  test(name, { skip: needs8GB || lacks(variant) }, async () => {
    const module = await load({ variant, threads: 2 });
    const x = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
    const expected = module.maskedSoftmax(x);
    const numbers = new Float32Array(2 ** 23);
    /** @type {TensorHandle[]} */
    const kept = [];
    const fill = () => {
      while (kept.length <= blocks) kept.push(module.tensor(numbers, [2 ** 23]));
    };
    const message = 'tensor: too little memory for 33554432 bytes';
    assertThrows(fill, 'out_of_memory', message);
    // There is now a free block at a high address, and the request is larger than any free block
    // can be.
    kept.at(-2)?.dispose();
    const options = { shape: [750e6], seed: 1 };
    assertThrows(
      () => module.handles.randomUniform(options),
      'out_of_memory',
      /^output: too little memory for 3000000000 bytes/,
    );
    for (const tensor of kept) tensor.dispose();
    assert.deepEqual(module.maskedSoftmax(x), expected);
  });
}

const afterBackward = 'a_tape_whose_backward_ran_out_of_memory_works_afterwards';
test(afterBackward, { skip: needs8GB || lacks('simd128-threads') }, async () => {
  const module = await load({ variant: 'simd128-threads', threads: 2, training: true });
  const tape = new module.Tape();
  const zeros = module.zeros([2 ** 20]);
  const x = tape.variable(zeros);
  const loss = module.mseLoss(x, zeros);
  const numbers = new Float32Array(2 ** 23);
  /** @type {TensorHandle[]} */
  const kept = [];
  for (let length = numbers.length; length >= 2 ** 10; length /= 2) {
    const fill = () => {
      for (;;) kept.push(module.tensor(numbers.subarray(0, length), [length]));
    };
    assertThrows(fill, 'out_of_memory', /./);
  }
  assertThrows(() => tape.backward(loss), 'out_of_memory', /./);
  assertThrows(() => tape.clear({ keepGradients: true }), 'invalid_argument', /./);
  for (const handle of kept) handle.dispose();
  assertThrows(() => x.gradient(), 'invalid_argument', /./);
  assertThrows(() => x.add(x), 'invalid_argument', /./);
  tape.clear();
  const two = tape.variable({ data: Float32Array.of(1, 2), shape: [2] });
  tape.backward(module.mseLoss(two, module.zeros([2])));
  assert.deepEqual(two.gradient()?.data, Float32Array.of(1, 2));
  module.dispose();
});
