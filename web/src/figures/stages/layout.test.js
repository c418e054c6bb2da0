import assert from 'node:assert/strict';
import test from 'node:test';

import { gap, layOut } from './layout.js';

const lines = [
  ['x', 'q', 'k', 'v'],
  ['scores', 'scaled', 'capped', 'masked', 'weights', 'head', 'output'],
];

test('in a wide window, each line of panels fits into the figure', () => {
  for (const available of [1000, 1100, 1326, 1800]) {
    for (const capped of [false, true]) {
      for (const length of [1, 6, 12, 60]) {
        const { widths, gutter, wide } = layOut(available, length, capped);
        assert.ok(wide);
        for (const line of lines) {
          const shown = line.filter((id) => capped || id !== 'capped');
          const sum = shown.reduce((sum, id) => sum + widths[/** @type {'x'} */ (id)], gutter);
          assert.ok(sum <= available, `${line}: ${sum} of ${available}`);
        }
      }
    }
  }
});

test('in a window of medium width, each line of panels fills the figure', () => {
  const { widths, gutter, named } = layOut(800, 6, false);
  const sum = gutter + widths.q + widths.k + widths.v + 2 * gap;
  assert.ok(sum <= 800 && sum > 790, String(sum));
  assert.ok(Math.abs(widths.head + widths.output + gap + gutter - 800) <= 2);
  assert.deepEqual(named, ['x', 'memory', 'scores', 'q', 'head']);
});

test('rows show the names of tokens if they are high enough', () => {
  assert.deepEqual(layOut(350, 6, false).named, ['x', 'memory']);
  assert.deepEqual(layOut(1326, 6, false).named, ['x', 'memory', 'scores']);
  const { named, gutter } = layOut(1326, 60, false);
  assert.deepEqual([named, gutter], [[], 0]);
});

test('square panels have one row and one column for each token', () => {
  const { widths, height } = layOut(350, 9, true);
  for (const id of /** @type {const} */ (['scores', 'scaled', 'capped', 'masked', 'weights'])) {
    assert.equal(widths[id], height);
  }
});

test('in cross attention, the cells of scores are squares, and each row has one height', () => {
  for (const [length, keys] of [
    [4, 9],
    [9, 4],
  ]) {
    const { height, keyHeight, widths } = layOut(1326, length, false, keys);
    assert.equal(widths.scores, keyHeight);
    assert.ok(Math.abs(height / length - keyHeight / keys) < 1e-9);
    assert.ok(Math.max(height, keyHeight) <= 176);
  }
});
