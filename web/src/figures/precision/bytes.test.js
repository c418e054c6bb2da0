import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { finish } from '../../core/finish.js';
import { measureBytes, types } from './bytes.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => {
  attn = await load({ threads: 1 });
});

/**
 * Rounds to the nearest number with this many binary digits, ties to even.
 * @param {number} x
 * @param {number} digits
 */
function roundedTo(x, digits) {
  if (x === 0) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - digits + 1);
  const [below, part] = [Math.floor(x / unit), (x / unit) % 1];
  if (Math.abs(part) === 0.5) return unit * (below % 2 === 0 ? below : below + 1);
  return unit * Math.round(x / unit);
}

const [length, width] = [9, 20];
const encoding = () => attn.sinusoidalEncoding({ length, dModel: width, base: 50, start: 7 });

test('numbers are rounded to their types', () => {
  const rows = encoding();
  const { losses, exact } = finish(measureBytes(attn, rows));
  assert.deepEqual(exact.encoding.data, rows.data);
  rows.data.forEach((x, i) => {
    const row = rows.data.subarray(i - (i % width), i - (i % width) + width);
    const scale = Math.max(...row.map(Math.abs)) / 127;
    const wanted = {
      bfloat16: roundedTo(x, 8),
      float16: roundedTo(x, 11),
      int8: scale * Math.round(x / scale),
    };
    for (const type of types) {
      const got = losses[type].encoding.rounded.data[i];
      assert.ok(Math.abs(got - wanted[type]) < 1e-7, `${type} ${i}: ${x} is ${got}`);
    }
  });
});

test('scores and weights are computed from exact queries and rounded keys', () => {
  const { data } = encoding();
  const { losses, exact } = finish(measureBytes(attn, encoding()));
  for (const type of types) {
    const { encoding: keys, scores, weights } = losses[type];
    for (let i = 0; i < length; i++) {
      const row = Array.from({ length }, (_, k) => {
        let sum = 0;
        for (let c = 0; c < width; c++) {
          sum += data[i * width + c] * keys.rounded.data[k * width + c];
        }
        return sum / Math.sqrt(width);
      });
      const total = row.reduce((sum, score) => sum + Math.exp(score), 0);
      row.forEach((score, k) => {
        const at = i * length + k;
        assert.ok(Math.abs(scores.rounded.data[at] - score) < 1e-6);
        assert.ok(Math.abs(weights.rounded.data[at] - Math.exp(score) / total) < 1e-6);
        assert.equal(
          scores.error.data[at],
          Math.abs(Math.fround(scores.rounded.data[at] - exact.scores.data[at])),
        );
      });
    }
  }
});

test('the largest and the mean error match the errors of all cells, and float16 loses the least', () => {
  const { losses } = finish(measureBytes(attn, encoding()));
  for (const type of types) {
    for (const { error, largest, mean } of Object.values(losses[type])) {
      assert.equal(largest, Math.max(...error.data));
      const sum = error.data.reduce((sum, value) => sum + value, 0);
      assert.ok(Math.abs(mean - sum / error.data.length) < 1e-9 && mean < largest);
    }
  }
  for (const type of /** @type {const} */ (['bfloat16', 'int8'])) {
    for (const quantity of /** @type {const} */ (['encoding', 'scores', 'weights'])) {
      assert.ok(losses.float16[quantity].largest < losses[type][quantity].largest);
    }
  }
});

test('a single row of zeros loses nothing', () => {
  const rows = { data: new Float32Array(3), shape: [1, 3] };
  const { losses } = finish(measureBytes(attn, rows));
  for (const type of types) {
    for (const { largest, mean } of Object.values(losses[type])) {
      assert.deepEqual([largest, mean], [0, 0]);
    }
  }
});
