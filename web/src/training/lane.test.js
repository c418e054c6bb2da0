import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { load } from 'attn';

import { checksumOf, evaluateEvery, Lane } from './lane.js';
import { makeModel } from './makeModel.js';
import { exampleOf, worlds } from './worlds.js';

/** @typedef {import('./model.js').LaneOptions} LaneOptions */
/** @typedef {import('./model.js').Scheme} Scheme */

/** @type {import('attn').TrainingAttn} */
let attn;
before(async () => (attn = await load({ training: true, threads: 1, variant: 'simd128' })));

/** @type {LaneOptions} */
const reverse = {
  ...{ world: 'reverse', positions: 'sinusoidal', heads: 4, layers: 2, causal: false },
  ...{ rate: 3e-3, seed: 1 },
};

/** @param {Partial<LaneOptions>} options @param {number} steps */
function trained(options, steps) {
  const lane = new Lane(attn, { ...reverse, ...options });
  try {
    const report = lane.train(steps);
    const { ids } = exampleOf(attn, worlds[options.world ?? 'reverse'], 1, '');
    return { ...report, look: lane.look(ids) };
  } finally {
    lane.dispose();
  }
}

/** The weights of an untrained model. @param {LaneOptions} options */
function weightsOf(options) {
  const model = makeModel(attn, options);
  try {
    return model.stateDict();
  } finally {
    model.dispose();
  }
}

test('sixty steps of reversing remove more than half of the loss, and right answers are counted', () => {
  const { step, losses, evaluations, failure } = trained({}, 60);
  assert.equal(failure, undefined);
  assert.equal(step, 60);
  assert.equal(losses.length, 60);
  assert.deepEqual(
    evaluations.map((evaluation) => evaluation.step),
    Array.from({ length: 7 }, (_, i) => evaluateEvery * i),
  );
  assert.ok(losses[59] < losses[0] / 2, `${losses[0]} → ${losses[59]}`);
  const { accuracy, loss, places } = evaluations[6];
  assert.ok(accuracy > 0.5 && loss < 1.5, `${accuracy}, ${loss}`);
  assert.equal(places.length, 10);
  const mean = places.reduce((sum, place) => sum + place, 0) / 10;
  assert.ok(Math.abs(mean - accuracy) < 1e-6);
});

test('the same options give bit-identical results, however the steps are divided', () => {
  const [once, again] = [trained({}, 25), trained({}, 25)];
  assert.deepEqual(again.losses, once.losses);
  assert.deepEqual(again.look, once.look);
  const lane = new Lane(attn, reverse);
  const parts = [1, 10, 3, 11].map((steps) => lane.train(steps));
  assert.deepEqual(
    parts.flatMap(({ losses }) => [...losses]),
    [...once.losses],
  );
  assert.deepEqual(
    parts.flatMap(({ evaluations }) => evaluations),
    once.evaluations,
  );
  lane.dispose();
  assert.notDeepEqual(trained({ seed: 2 }, 25).losses, once.losses);
});

for (const positions of /** @type {Scheme[]} */ ([
  ...['none', 'sinusoidal', 'learned', 'rotary', 'alibi', 't5', 'shaw'],
])) {
  test(`models learn with the positions ${positions} and return the weights of each head`, () => {
    for (const causal of [false, true]) {
      const options = { positions, causal, heads: causal ? 1 : 4, layers: causal ? 1 : 2 };
      const { losses, look } = trained({ ...options, world: 'count' }, 12);
      assert.ok(losses[11] < losses[0], `${losses}`);
      assert.deepEqual(
        look.weights.map(({ shape }) => shape),
        Array(options.layers).fill([options.heads, 10, 10]),
      );
      for (const { data } of look.weights) {
        const sum = data.subarray(0, 10).reduce((total, value) => total + value, 0);
        assert.ok(Math.abs(sum - 1) < 1e-5);
        if (causal) assert.ok(data.subarray(1, 10).every((value) => value === 0));
      }
      assert.ok(look.probability.every((value) => value > 0 && value <= 1));
    }
  });
}

test('heads are scored if answers are the next tokens of the sequence', () => {
  const lane = new Lane(attn, { ...reverse, world: 'repeat', causal: true });
  const [{ heads }] = lane.train(0).evaluations;
  lane.dispose();
  assert.equal(heads.length, 8);
  for (const { previous, followed } of heads) {
    assert.ok(previous > 0 && previous < 0.3 && followed > 0 && followed < 0.3);
  }
  assert.deepEqual(trained({}, 0).evaluations[0].heads, []);
});

test('an untrained model gives the same attention as a model in training before its first step', () => {
  const { ids } = exampleOf(attn, worlds.reverse, 1, '');
  const model = makeModel(attn, reverse);
  assert.deepEqual(model.look(ids), trained({}, 0).look);
  model.dispose();
});

test('a failed step is reported, and the model stays unchanged', () => {
  const lane = new Lane(attn, { ...reverse, rate: 1e38 });
  const { ids } = exampleOf(attn, worlds.reverse, 1, '');
  const { step, failure, losses } = lane.train(20);
  assert.match(failure ?? '', /finite/);
  assert.equal(losses.length, step);
  assert.ok(step > 0 && step < 20);
  const look = lane.look(ids);
  const again = lane.train(5);
  assert.equal(again.step, step);
  assert.deepEqual(lane.look(ids), look);
  lane.dispose();
});

test('a gradient that is not finite is reported with its path in the model', () => {
  const lane = new Lane(attn, { ...reverse, rate: 10 });
  const { failure } = lane.train(40);
  assert.match(
    failure ?? '',
    /^the gradient of (tokens|encoder\.layers\.\d|unembed)\.[\w.]+ has numbers that are not finite$/,
  );
  lane.dispose();
});

test('an earlier step can be restored, and weights are distinguished and saved', () => {
  const lane = new Lane(attn, reverse);
  const { ids } = exampleOf(attn, worlds.reverse, 1, '');
  const untrained = lane.look(ids);
  lane.train(10);
  const [checksum, atTen] = [lane.checksum(), lane.look(ids)];
  assert.match(checksum, /^[0-9a-f]{8}$/);
  lane.train(13);
  assert.notEqual(lane.checksum(), checksum);
  assert.deepEqual(lane.lookBack(0, ids), { step: 0, look: untrained });
  assert.deepEqual(lane.lookBack(13, ids), { step: 10, look: atTen });
  const now = lane.look(ids);
  const model = makeModel(attn, { ...reverse, seed: 9 });
  model.loadStateDict(lane.save());
  assert.deepEqual(model.look(ids), now);
  assert.equal(checksumOf(model.stateDict()), lane.checksum());
  model.dispose();
  lane.dispose();
});

test('a model continues from weights in a file as from its own weights', () => {
  const [first, second] = [new Lane(attn, reverse), new Lane(attn, { ...reverse, seed: 9 })];
  const { ids } = exampleOf(attn, worlds.reverse, 1, '');
  first.train(10);
  second.train(5);
  const file = first.save();
  const { fits, saved, evaluation } = second.load(file);
  assert.ok(fits);
  assert.deepEqual(saved, {
    ...{ worlds: ['reverse'], positions: 'sinusoidal', heads: 4, layers: 2, causal: false },
    step: 10,
  });
  assert.equal(evaluation?.step, 5);
  assert.equal(second.checksum(), first.checksum());
  assert.deepEqual(second.look(ids), first.look(ids));
  // Training and snapshots continue from the loaded weights.
  assert.equal(second.train(3).failure, undefined);
  assert.notEqual(second.checksum(), first.checksum());
  assert.deepEqual(second.lookBack(5, ids), { step: 5, look: first.look(ids) });

  // A file from another program may lack metadata.
  const tensors = weightsOf({ ...reverse, seed: 4 });
  const bare = second.load(attn.toSafetensors(tensors));
  assert.deepEqual(bare.saved, { worlds: ['copy', 'reverse', 'sort'], layers: 2 });
  assert.equal(second.checksum(), checksumOf(tensors));
  first.dispose();
  second.dispose();
});

test('incompatible weights are rejected, and the model stays unchanged', () => {
  const lane = new Lane(attn, reverse);
  const before = lane.checksum();
  const tensors = weightsOf(reverse);
  const other = (/** @type {Partial<LaneOptions>} */ options) => {
    const each = new Lane(attn, { ...reverse, ...options });
    const bytes = each.save();
    each.dispose();
    return bytes;
  };
  const without = Object.fromEntries(
    Object.entries(tensors).filter(([name]) => name !== 'unembed.bias'),
  );
  const broken = Float32Array.from(tensors['unembed.bias'].data).fill(NaN);
  for (const [bytes, reason] of /** @type {const} */ ([
    [other({ world: 'sort' }), undefined],
    [other({ positions: 'none' }), undefined],
    [other({ positions: 'learned' }), undefined],
    [other({ layers: 1 }), undefined],
    [other({ heads: 1 }), undefined],
    [other({ causal: true }), undefined],
    [attn.toSafetensors({ weight: tensors['unembed.bias'] }), undefined],
    [attn.toSafetensors({ ...tensors, more: tensors['unembed.bias'] }), /no parameter more/],
    [attn.toSafetensors(without), /unembed\.bias/],
    [
      attn.toSafetensors({ ...tensors, 'unembed.bias': { data: broken, shape: [21] } }),
      /unembed\.bias has numbers that are not finite/,
    ],
    [new Uint8Array(3), /./],
  ])) {
    const loaded = lane.load(bytes);
    assert.equal(loaded.fits, false);
    if (reason) assert.match(loaded.reason ?? '', reason);
    else assert.equal(loaded.reason, undefined);
    assert.equal(lane.checksum(), before);
  }
  lane.dispose();
});

test('models are tested on longer examples, up to the length of a learned table', () => {
  const lane = new Lane(attn, { ...reverse, world: 'count', positions: 'none' });
  const untrained = lane.reach();
  assert.deepEqual(untrained.sizes, [10, 15, 20, 30, 40]);
  const { accuracy } = lane.train(20).evaluations[2];
  const reach = lane.reach();
  assert.ok(Math.abs(reach.accuracy[0] - accuracy) < 1e-6);
  assert.ok(reach.accuracy.every((share) => share >= 0 && share <= 1));
  assert.deepEqual(lane.reach(0), untrained);
  assert.deepEqual(lane.reach(), reach);
  lane.dispose();
  const learned = new Lane(attn, { ...reverse, world: 'count', positions: 'learned' });
  assert.deepEqual(learned.reach().sizes, [10]);
  const { table } = learned.look(exampleOf(attn, worlds.count, 1, '').ids);
  assert.deepEqual(table?.shape, [10, 64]);
  learned.train(1);
  assert.notDeepEqual(learned.look(exampleOf(attn, worlds.count, 1, '').ids).table, table);
  learned.dispose();
});

test('another lane with the same options continues from a checkpoint with bit-identical results', () => {
  for (const options of [reverse, { ...dates, layers: 1 }, { ...dates, decoder: 'recurrent' }]) {
    const first = new Lane(attn, /** @type {LaneOptions} */ (options));
    first.train(7);
    const second = new Lane(attn, /** @type {LaneOptions} */ (options));
    second.restore(first.checkpoint());
    const { ids } = exampleOf(attn, worlds[options.world], 1, '');
    // Earlier steps are not in the checkpoint.
    assert.deepEqual(second.lookBack(3, ids), { step: 7, look: first.look(ids) });
    const [expected, found] = [first, second].map((lane) => lane.train(5));
    assert.deepEqual({ ...found, milliseconds: 0 }, { ...expected, milliseconds: 0 });
    assert.equal(second.checksum(), first.checksum());
    first.dispose();
    second.dispose();
  }
});

/** @type {LaneOptions} */
const dates = { ...reverse, world: 'dates', decoder: 'transformer' };

for (const decoder of /** @type {const} */ (['transformer', 'recurrent'])) {
  test(`dates are learned and written by the decoder ${decoder}, and each digit attends to the date`, () => {
    const lane = new Lane(attn, { ...dates, layers: 1, decoder });
    const { losses, evaluations, failure } = lane.train(100);
    assert.equal(failure, undefined);
    assert.ok(losses[99] < losses[0] / 2, `${losses[0]} → ${losses[99]}`);
    assert.ok(evaluations[10].accuracy > 0.7, `${evaluations[10].accuracy}`);
    assert.equal(evaluations[10].places.length, 10);
    const { ids } = exampleOf(attn, worlds.dates, 1, 'may 3rd, 1999');
    const { weights, answer, probability } = lane.look(ids);
    assert.deepEqual(weights[0].shape, [decoder === 'recurrent' ? 1 : 4, 10, 13]);
    const sum = weights[0].data.subarray(0, 13).reduce((total, value) => total + value, 0);
    assert.ok(Math.abs(sum - 1) < 1e-5);
    assert.ok(probability.every((value) => value > 1 / 12 && value <= 1));
    const written = Array.from(answer, (symbol) => worlds.dates.written?.symbols[symbol]).join('');
    assert.match(written, /^19\d\d-\d\d-\d\d$/);
    const bytes = lane.save();
    const { fits, saved } = lane.load(bytes);
    assert.ok(fits);
    assert.equal(saved?.decoder, decoder);
    const other = decoder === 'recurrent' ? 'transformer' : 'recurrent';
    const unlike = new Lane(attn, { ...dates, layers: 1, decoder: other });
    assert.equal(unlike.load(bytes).fits, false);
    unlike.dispose();
    lane.dispose();
  });
}

for (const positions of /** @type {Scheme[]} */ ([
  ...['none', 'sinusoidal', 'learned', 'rotary', 'alibi', 't5', 'shaw'],
])) {
  test(`writing symbol by symbol gives the most probable symbols of a single pass: ${positions}`, () => {
    const model = makeModel(attn, { ...dates, positions });
    for (const text of ['', 'the twenty-seventh of september 1999', '1']) {
      const { ids } = exampleOf(attn, worlds.dates, 1, text);
      const { answer } = model.look(ids);
      const { logits } = model.judge({
        ids: { data: ids, shape: [1, 36] },
        targets: { data: answer, shape: [1, 10] },
      });
      answer.forEach((symbol, i) => {
        const row = logits.data.subarray(12 * i, 12 * i + 12);
        assert.equal(row.indexOf(Math.max(...row)), symbol);
      });
    }
    model.dispose();
  });
}

test('discarded models release their memory', () => {
  const use = () => {
    for (const decoder of /** @type {const} */ (['transformer', 'recurrent'])) {
      const lane = new Lane(attn, { ...dates, decoder, layers: 1 });
      lane.train(1);
      lane.look(exampleOf(attn, worlds.dates, 1, '').ids);
      lane.dispose();
    }
    const lane = new Lane(attn, reverse);
    lane.train(1);
    lane.reach();
    lane.load(lane.save());
    lane.load(new Uint8Array(3));
    lane.restore(lane.checkpoint());
    lane.dispose();
  };
  for (let i = 0; i < 5; i++) use();
  const before = attn.memory();
  for (let i = 0; i < 20; i++) use();
  const after = attn.memory();
  assert.equal(after.bytesReserved, before.bytesReserved);
  // The allocator rounds the sizes of blocks up, so allow a small difference. A leaked model would
  // take hundreds of kilobytes.
  assert.ok(Math.abs(after.bytesInUse - before.bytesInUse) < 1000);
});
