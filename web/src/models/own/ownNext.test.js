import assert from 'node:assert/strict';
import test from 'node:test';

import { candidates } from '../language/languageModel.js';
import { likeliest } from './ownNext.js';

const logits = Float32Array.of(1, 3, -2, 3, 0.5, 2, 2.5, -1);

test('no token is likeliest if a logit is NaN or infinite', () => {
  const options = { temperature: 1, topK: 0, drawn: 3 };
  for (const broken of [[1, NaN], [1, Infinity], Array(2).fill(-Infinity)]) {
    assert.deepEqual(likeliest(Float32Array.from(broken), options), []);
  }
  assert.equal(likeliest(Float32Array.of(1, -Infinity), options).length, 2);
});

test('the likeliest tokens are the first of all sorted candidates, including ties', () => {
  for (const options of [
    { temperature: 1, topK: 0 },
    { temperature: 0.3, topK: 3 },
    { temperature: 2, topK: 1 },
    { temperature: 1, topK: 100 },
  ]) {
    for (const drawn of [1, 3, 8, 20]) {
      const found = likeliest(logits, { ...options, drawn });
      const want = candidates(logits, options).slice(0, drawn);
      assert.deepEqual(
        found.map(({ id }) => id),
        want.map(({ id }) => id),
      );
      found.forEach(({ probability }, i) =>
        assert.ok(Math.abs(probability - want[i].probability) < 1e-12),
      );
    }
  }
});
