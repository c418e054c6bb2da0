import assert from 'node:assert/strict';
import test from 'node:test';

import { areaOf, equationOf, pathAround, titleOf } from './block.js';

const box = { x: 7, y: 9, width: 40, height: 30 };

test('the area of a region starts at the corner of the picture', () => {
  const region = { id: 'x', left: 1, right: 3, top: 2, bottom: 3 };
  const area = areaOf(region, { rows: 3, columns: 4 }, box);
  assert.deepEqual(area, { x: 10, y: 20, width: 20, height: 10 });
});

test('a path that leaves out a part runs around the picture and then around the part', () => {
  assert.equal(pathAround(box, null), 'M0 0H40V30H0Z');
  const part = { x: 10, y: 20, width: 20, height: 10 };
  assert.equal(pathAround(box, part), 'M0 0H40V30H0ZM10 20h20v10h-20Z');
});

test('a narrow matrix has a shorter title', () => {
  const [product, head] = /** @type {import('../../core/flow.js').Stage[]} */ ([
    { id: 'q', kind: 'product', from: ['x'], symbol: 'Q', name: 'queries' },
    { id: 'weights2', kind: 'weights', from: ['q', 'k'], symbol: '', name: 'head 3', head: 2 },
  ]);
  const titles = [product, head].map((stage) => [47, 91, 92].map((width) => titleOf(stage, width)));
  assert.deepEqual(titles, [
    ['', '', 'queries'],
    ['3', 'head 3', 'head 3'],
  ]);
  assert.equal(titleOf({ ...product, name: 'Q' }, 200), '');
});

test('each kind of block has its own equation', () => {
  const found = [{}, { gated: true }, { gated: true, parallel: true }, { parallel: true }].map(
    (variation) => equationOf(true, variation),
  );
  assert.deepEqual(found, ['normFirst', 'gated', 'gated', 'parallel']);
  assert.equal(equationOf(false, {}), 'normLast');
  assert.equal(equationOf(true, { gated: true, normsOutputs: true }), 'normsBoth');
  assert.equal(equationOf(false, { noNorms: true, normsOutputs: true }), 'normsOutputs');
});
