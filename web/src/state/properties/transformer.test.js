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
