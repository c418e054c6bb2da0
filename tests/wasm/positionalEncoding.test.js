import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

await everyVariant('positionalEncoding', (attn) => {
  const random = new Random();

  test('the_encoding_is_added_to_every_sequence', () => {
    const x = random.tensor(2, 5, 7);
    const { data: p } = attn.sinusoidalEncoding({ length: 5, dModel: 7, base: 100, start: 3 });
    const { data, shape } = attn.positionalEncoding(x, { base: 100, start: 3 });
    assert.deepEqual(shape, [2, 5, 7]);
    data.forEach((value, i) => assert.equal(value, Math.fround(x.data[i] + p[i % 35])));
  });

  test('a_single_sequence_has_rank_2', () => {
    const zeros = { data: new Float32Array(12), shape: [3, 4] };
    const expected = attn.sinusoidalEncoding({ length: 3, dModel: 4 });
    assert.deepEqual(attn.positionalEncoding(zeros), expected);
  });

  test('errors_name_the_argument', () => {
    assertThrows(
      () => attn.positionalEncoding({ data: [1], shape: [1] }),
      'shape_mismatch',
      'x: got shape (1,), needs rank 2 (N, E) or rank 3 (B, N, E)',
    );
    assertThrows(
      () => attn.positionalEncoding({ data: [1], shape: [1, 1] }, { start: NaN }),
      'invalid_argument',
      'start: got NaN, needs a finite number',
    );
  });
});
