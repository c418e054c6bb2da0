import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { costRows } from './costs.js';

const attn = await load({ threads: 1 });

/** @param {string} id @param {{ n: number, d: number, k: number }} sizes */
const costsOf = (id, sizes) => costRows(attn, sizes).find((row) => row.id === id)?.costs;

test('the numbers in the table follow from its formulas', () => {
  for (const sizes of [
    { n: 11, d: 64, k: 3 },
    { n: 1, d: 8, k: 2 },
    { n: 65536, d: 256, k: 9 },
  ]) {
    const { n, d, k } = sizes;
    assert.deepEqual(costsOf('convolution', sizes), {
      multiplyAdds: n * k * d * d,
      sequentialOperations: 1,
      maxPathLength: Math.max(1, Math.ceil((n - 1) / (k - 1))),
    });
    assert.deepEqual(costsOf('recurrence', sizes), {
      multiplyAdds: 2 * n * d * d,
      sequentialOperations: n,
      maxPathLength: n,
    });
    assert.deepEqual(costsOf('attention', sizes), {
      multiplyAdds: 2 * n * n * d,
      sequentialOperations: 1,
      maxPathLength: 1,
    });
    assert.equal(costsOf('projections', sizes)?.multiplyAdds, 2 * n * n * d + 4 * n * d * d);
    let pairs = 0;
    const w = Math.floor(k / 2);
    for (let i = 0; i < n; i++) pairs += Math.min(n - 1, i + w) - Math.max(0, i - w) + 1;
    assert.equal(costsOf('window', sizes)?.multiplyAdds, 2 * pairs * d);
  }
});
