import assert from 'node:assert/strict';
import test from 'node:test';

import { ablateOf, switched } from './silence.js';

const head = { layer: 1, part: 2 };

test('switching the same part twice switches it on again', () => {
  const both = switched(switched([], head, 9), { layer: 1, part: 'mlp' }, 9);
  assert.deepEqual(both, [head, { layer: 1, part: 'mlp' }]);
  assert.deepEqual(switched(both, { ...head }, 9), [{ layer: 1, part: 'mlp' }]);
  assert.deepEqual(switched(both, { layer: 0, part: 'layer' }, 1), [{ layer: 0, part: 'layer' }]);
});

test('silencing a layer silences its attention and its feed-forward network', () => {
  const parts = [head, { layer: 0, part: /** @type {const} */ ('layer') }];
  assert.deepEqual(ablateOf(parts, 'mean', 'encoder.'), [
    { name: 'encoder.layers.1.self_attn.head_output', head: 2, replacement: 'mean' },
    { name: 'encoder.layers.0.attn_out', replacement: 'mean' },
    { name: 'encoder.layers.0.mlp_out', replacement: 'mean' },
  ]);
  assert.deepEqual(ablateOf([{ layer: 0, part: 'mlp' }], 'zero'), [
    { name: 'layers.0.mlp_out', replacement: 'zero' },
  ]);
});
