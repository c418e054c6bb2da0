import assert from 'node:assert/strict';
import test from 'node:test';

import { arcAt } from './arcAt.js';

const size = { width: 100, step: 20 };
const arcs = [
  { query: 0, key: 0, weight: 1 },
  { query: 2, key: 0, weight: 0.7 },
  { query: 2, key: 1, weight: 0.1 },
  { query: 2, key: 2, weight: 0.2 },
];

test('the arc under the pointer is found at both ends and in the middle', () => {
  assert.equal(arcAt({ x: 98, y: 31 }, arcs, size), arcs[2]);
  assert.equal(arcAt({ x: 50, y: 30 }, arcs, size), arcs[1]);
  assert.equal(arcAt({ x: 50, y: 41 }, arcs, size), arcs[2]);
  assert.equal(arcAt({ x: 0, y: 12 }, arcs, size), arcs[0]);
});

test('where arcs meet, the strongest one is found, and far from all arcs, none', () => {
  assert.equal(arcAt({ x: 0, y: 50 }, arcs, size), arcs[1]);
  assert.equal(arcAt({ x: 50, y: 90 }, arcs, size), null);
  assert.equal(arcAt({ x: 50, y: 50 }, [], size), null);
});
