import assert from 'node:assert/strict';
import test from 'node:test';

import { properties } from './transformer.js';

test('a locked cell of the block survives a round trip', () => {
  const { parse, format } = properties.blockCell;
  for (const cell of [
    { id: 'x', row: 0, column: 0 },
    { id: 'weights7', row: 127, column: 3 },
    { id: 'feedForward', row: 12, column: 255 },
  ]) {
    assert.deepEqual(parse(format(cell)), cell);
  }
  assert.equal(format(null), '');
});

test('cuts survive a round trip', () => {
  const { parse, format } = properties.cuts;
  const cuts = [
    { layer: 1, head: 3, query: 5, key: 2 },
    { layer: 0, head: null, query: 5, key: 5 },
    { layer: null, head: null, query: 31, key: 0 },
  ];
  assert.equal(format(cuts), '2.4.5.2,1.0.5.5,0.0.31.0');
  assert.deepEqual(parse(format(cuts)), cuts);
  assert.deepEqual(parse('2.4.5.2,2.4.5.2'), cuts.slice(0, 1));
  for (const text of ['', '1.1.1', '1.1.2.3', '1.1.32.0', '129.1.2.1', '-1.1.2.1', '1.1.2.1x']) {
    assert.deepEqual(parse(text), [], text);
  }
});

test('silenced parts survive a round trip', () => {
  const { parse, format } = properties.silenced;
  const parts = [
    { layer: 1, part: 3 },
    { layer: 0, part: /** @type {const} */ ('mlp') },
    { layer: 11, part: /** @type {const} */ ('layer') },
  ];
  assert.equal(format(parts), '2.4,1.mlp,12.layer');
  assert.deepEqual(parse(format(parts)), parts);
  assert.deepEqual(parse('2.4,2.4'), parts.slice(0, 1));
  for (const text of ['', '1', '0.1', '1.0', '1.129', '129.1', '1.x', '-1.1', '1.mlp\n', '1.1.1']) {
    assert.deepEqual(parse(text), [], text);
  }
});

test('links that name no cell lock no cell', () => {
  for (const text of [
    ...[
      '',
      'x',
      'x.1',
      'x.1.2.3',
      'x.-1.2',
      'x.1.2,x.3.4',
      '<b>.1.2',
      'x.99999.1',
      '__proto__.1.2',
    ],
    ...['x.1.2\n', `${'x'.repeat(1000)}.1.2`, '.1.2', 'x.1e3.2'],
  ]) {
    assert.equal(properties.blockCell.parse(text), null, text);
  }
});
