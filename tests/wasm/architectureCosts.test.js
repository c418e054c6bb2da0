import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';

await everyVariant('architectureCosts', (attn) => {
  const n = 10;
  const d = 4;

  test('counts_match_the_definitions', () => {
    assert.deepEqual(attn.architectureCosts.convolution({ n, d, k: 3 }), {
      multiplyAdds: 10 * 3 * 16,
      sequentialOperations: 1,
      maxPathLength: 5,
    });
    assert.equal(attn.architectureCosts.convolution({ n, d, k: 1 }).maxPathLength, null);
    assert.equal(attn.architectureCosts.dilatedConvolution({ n, d, k: 3 }).maxPathLength, 3);
    assert.deepEqual(attn.architectureCosts.recurrent({ n, d, gates: 3 }), {
      multiplyAdds: 2 * 3 * 10 * 16,
      sequentialOperations: 10,
      maxPathLength: 10,
    });
    assert.equal(attn.architectureCosts.recurrent({ n, d }).multiplyAdds, 2 * 10 * 16);
    assert.deepEqual(attn.architectureCosts.selfAttention({ n, d }), {
      multiplyAdds: 2 * 100 * 4,
      sequentialOperations: 1,
      maxPathLength: 1,
    });
    assert.equal(
      attn.architectureCosts.selfAttention({ n, d, projections: true }).multiplyAdds,
      800 + 640,
    );
    let pairs = 0;
    for (let i = 0; i < n; ++i) for (let j = 0; j < n; ++j) if (j >= i - 2 && j <= i + 1) ++pairs;
    assert.deepEqual(attn.architectureCosts.windowAttention({ n, d, left: 2, right: 1 }), {
      multiplyAdds: 2 * pairs * 4,
      sequentialOperations: 1,
      maxPathLength: 3,
    });
  });

  test('errors_name_the_argument', () => {
    assertThrows(
      () => attn.architectureCosts.convolution({ n: 0, d, k: 3 }),
      'invalid_argument',
      'n: got 0, needs a whole number of at least 1',
    );
    assertThrows(
      () => attn.architectureCosts.selfAttention({ n: 2 ** 50, d: 2 ** 50 }),
      'size_overflow',
      /multiply|adds|count/,
    );
  });
});
