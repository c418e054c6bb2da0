import assert from 'node:assert/strict';
import test from 'node:test';

import { encoderFlow } from '../../core/flow.js';
import { layOut } from './layout.js';
import { titleHeight } from './lines.js';

/** @type {Omit<Parameters<typeof layOut>[0], 'hiddenFactor'>[]} */
const cases = [];
for (const available of [280, 348, 700, 959, 960, 1024, 1325, 1400]) {
  for (const length of [1, 2, 11, 64, 128]) {
    for (const heads of [1, 2, 4, 8]) {
      for (const normFirst of [false, true]) cases.push({ available, length, heads, normFirst });
      cases.push({ available, length, heads, normFirst: true, parallel: true });
    }
  }
}

/** @param {(given: typeof cases[number], layout: import('./layout.js').Layout) => void} check */
function everywhere(check) {
  for (const given of cases) check(given, layOut({ ...given, hiddenFactor: 2 }));
}

test('every matrix is inside the figure', () => {
  everywhere((given, { boxes, height }) => {
    for (const { id } of encoderFlow(given.normFirst, given.heads)) {
      const box = boxes.get(id);
      const where = `${id} of ${JSON.stringify(given)}`;
      assert.ok(box, where);
      assert.ok(box.width > 8 && box.height > 0, where);
      assert.ok(box.x >= 0 && box.x + box.width <= given.available + 0.01, where);
      assert.ok(box.y >= titleHeight && box.y + box.height <= height, where);
    }
  });
});

test('no matrix overlaps another or its title', () => {
  everywhere((given, { boxes }) => {
    const all = [...boxes];
    all.forEach(([a, first], i) => {
      for (const [b, second] of all.slice(i + 1)) {
        const apart =
          first.x + first.width <= second.x ||
          second.x + second.width <= first.x ||
          first.y + first.height <= second.y - titleHeight + 2 ||
          second.y + second.height <= first.y - titleHeight + 2;
        assert.ok(apart, `${a} and ${b} of ${JSON.stringify(given)}`);
      }
    });
  });
});

test('all matrices with tokens as rows have the same row height', () => {
  everywhere((given, { boxes }) => {
    const heights = [...boxes].filter(([id]) => !id.startsWith('weights')).map(([, b]) => b.height);
    assert.equal(new Set(heights).size, 1);
  });
});

test('a line leads to every matrix except the first, and two lines lead to each sum', () => {
  everywhere((given, { lines, sums }) => {
    const reached = new Set(lines.map(({ to }) => to));
    for (const { id, kind } of encoderFlow(given.normFirst, given.heads)) {
      // Lines lead only to the first head, and stand for all heads.
      if (kind === 'input' || /^weights[1-9]/.test(id)) continue;
      assert.ok(reached.has(id), `${id} of ${JSON.stringify(given)}`);
    }
    for (const { id } of sums) {
      assert.deepEqual(
        [...new Set(lines.filter(({ to }) => to === id).map(({ residual }) => residual))].sort(),
        [false, true],
      );
    }
  });
});

test('lines contain only valid numbers', () => {
  everywhere((given, { lines }) => {
    for (const { d } of lines) assert.match(d, /^M[-\d.]+ [-\d.]+(?:[LQV][-\d. e]+)*$/);
  });
});

test('the explanation of a cell overlaps nothing', () => {
  everywhere((given, { boxes, free, wide }) => {
    assert.equal(free !== null, wide);
    if (!free) return;
    const where = JSON.stringify(given);
    assert.ok(free.width > 190 && free.height >= 60, `${free.width} × ${free.height}: ${where}`);
    for (const [id, box] of boxes) {
      const apart =
        box.x + box.width <= free.x ||
        free.x + free.width <= box.x ||
        box.y + box.height <= free.y ||
        free.y + free.height <= box.y - titleHeight;
      assert.ok(apart, `${id} of ${where}`);
    }
  });
});
