import assert from 'node:assert/strict';
import test from 'node:test';

import { cutCells, knockOutOf, toggled } from './cuts.js';

const at = { layer: 1, head: 2, query: 5, key: 3 };

test('a second click undoes a cut of any scope', () => {
  for (const scope of /** @type {const} */ (['head', 'layer', 'all'])) {
    const cuts = toggled([], at, scope, 9);
    assert.deepEqual(cutCells(cuts, 1, 2), [{ row: 5, column: 3 }]);
    assert.equal(cutCells(cuts, 1, 0).length, scope === 'head' ? 0 : 1);
    assert.equal(cutCells(cuts, 0, 2).length, scope === 'all' ? 1 : 0);
    assert.deepEqual(toggled(cuts, at, 'head', 9), []);
  }
});

test('a wider cut replaces the cuts that it includes', () => {
  const others = toggled(toggled([], at, 'head', 9), { ...at, key: 0 }, 'head', 9);
  const cuts = toggled(others, { ...at, head: 0 }, 'layer', 9);
  assert.deepEqual(cuts, [
    { layer: 1, head: 2, query: 5, key: 0 },
    { layer: 1, head: null, query: 5, key: 3 },
  ]);
  assert.deepEqual(toggled(cuts, { ...at, layer: 0 }, 'all', 1), [
    { layer: null, head: null, query: 5, key: 3 },
  ]);
});

test('a cut in every layer becomes one cut per layer in the core', () => {
  const [query, key] = [5, 3];
  assert.deepEqual(knockOutOf(toggled([], at, 'all', 9), 2, 'encoder.'), [
    { attention: 'encoder.layers.0.self_attn', head: undefined, query, key },
    { attention: 'encoder.layers.1.self_attn', head: undefined, query, key },
  ]);
  assert.deepEqual(knockOutOf([at], 2), [{ attention: 'layers.1.self_attn', head: 2, query, key }]);
});
