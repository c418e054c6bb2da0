import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

await everyVariant('LearnedPositionalEncoding', (attn) => {
  const random = new Random();

  test('rows_of_the_table_are_added', () => {
    const encoding = new attn.LearnedPositionalEncoding({ maxLength: 9, dModel: 4, seed: 2 });
    assert.deepEqual(encoding.parameterNames(), ['weight']);
    const table = encoding.parameter('weight');
    assert.deepEqual(table.shape, [9, 4]);
    const mean = table.data.reduce((sum, w) => sum + w * w, 0) / 36;
    assert.ok(mean > 0.01 ** 2 && mean < 0.04 ** 2, `deviation ${Math.sqrt(mean)}`);
    const x = random.tensor(2, 3, 4);
    const expected = Array.from(x.data, (value, i) => value + table.data[(i % 12) + 4 * 5]);
    assertClose(encoding.forward(x, { start: 5 }), [2, 3, 4], expected, 1e-7);
    encoding.setParameter('weight', random.tensor(9, 4));
    assert.notDeepEqual(encoding.parameter('weight'), table);
    assertThrows(
      () => encoding.forward(x, { start: 7 }),
      'invalid_argument',
      /maxLength|start|position/,
    );
  });
});
