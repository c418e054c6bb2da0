import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { philox } from './reference.js';

await everyVariant('random', (attn) => {
  test('uniform_numbers_come_from_the_words_of_philox', () => {
    const { data } = attn.randomUniform({ shape: [3, 5], seed: 7, stream: 9, low: -2, high: 2 });
    data.forEach((value, i) => {
      const word = philox([Math.floor(i / 4), 0, 9, 0], [7, 0])[i % 4];
      assert.equal(value, Math.fround(-2 + (4 * Math.floor(word / 256)) / 2 ** 24));
    });
  });

  test('normal_numbers_follow_box_and_muller', () => {
    const { data } = attn.randomNormal({ shape: [9], seed: 2 ** 40 + 1, mean: 1, deviation: 0.5 });
    data.forEach((value, i) => {
      const words = philox([Math.floor(i / 4), 0, 0, 0], [1, 256]);
      const [w0, w1] = words.slice(i % 4 < 2 ? 0 : 2);
      const r = Math.sqrt(-2 * Math.log((w0 + 0.5) / 2 ** 32));
      const angle = (2 * Math.PI * w1) / 2 ** 32;
      const expected = 1 + 0.5 * r * (i % 2 === 0 ? Math.cos(angle) : Math.sin(angle));
      assert.ok(Math.abs(value - expected) < 2e-7 * (1 + Math.abs(expected)), `${i}: ${value}`);
    });
  });

  test('xavier_weights_are_within_their_bound', () => {
    const { data, shape } = attn.xavierUniform({ shape: [30, 20], gain: 2, seed: 1 });
    const bound = 2 * Math.sqrt(6 / 50);
    assert.deepEqual(shape, [30, 20]);
    const largest = Math.max(...data.map(Math.abs));
    assert.ok(largest <= bound && largest > 0.98 * bound, `${largest}`);
  });

  test('dropout_gives_the_same_mask_everywhere', () => {
    const x = { data: new Float32Array(10).fill(3), shape: [10] };
    const { data } = attn.applyDropout(x, { probability: 0.5, seed: 5, stream: 6 });
    data.forEach((value, i) => {
      const word = philox([Math.floor(i / 4), 0, 6, 0], [5, 0])[i % 4];
      assert.equal(value, Math.floor(word / 256) / 2 ** 24 < 0.5 ? 0 : 6);
    });
  });

  test('errors_name_the_argument', () => {
    assertThrows(
      () => attn.randomUniform({ shape: [2], low: 1, high: 0 }),
      'invalid_argument',
      /low|high/,
    );
    assertThrows(
      () => attn.randomNormal({ shape: [2], seed: 0.5 }),
      'invalid_argument',
      'seed: got 0.5, needs a whole number of at least 0',
    );
    assertThrows(() => attn.xavierUniform({ shape: [2] }), 'invalid_argument', /^shape: /);
  });
});
