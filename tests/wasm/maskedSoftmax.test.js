import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';
import { softmax } from './reference.js';

await everyVariant('maskedSoftmax', (attn) => {
  const random = new Random();

  test('rows_of_every_rank_agree_with_the_reference', () => {
    for (const shape of [
      [5, 7],
      [2, 5, 7],
      [2, 3, 5, 300],
    ]) {
      const x = random.tensor(...shape);
      const { data } = x;
      assertClose(attn.maskedSoftmax(x), shape, softmax(data, shape[shape.length - 1]), 1e-6);
    }
  });

  test('lengths_and_masks_exclude_columns', () => {
    const x = random.tensor(2, 3, 4);
    x.data[3] = NaN;
    const perBatch = attn.maskedSoftmax(x, { validLens: [3, 0] });
    assertClose(
      perBatch,
      [2, 3, 4],
      softmax(x.data, 4, (row, j) => row < 3 && j < 3),
      1e-6,
    );
    const lens = [3, 1, 2, 4, 0, 1];
    const perRow = attn.maskedSoftmax(x, { validLens: { data: lens, shape: [2, 3] } });
    assertClose(
      perRow,
      [2, 3, 4],
      softmax(x.data, 4, (row, j) => j < lens[row]),
      1e-6,
    );
    const mask = { data: [true, false, true, false], shape: [4] };
    assertClose(
      attn.maskedSoftmax(x, { mask, validLens: [3, 3] }),
      [2, 3, 4],
      softmax(x.data, 4, (row, j) => j % 2 === 0 && j < 3),
      1e-6,
    );
  });

  test('rank_2_has_a_length_for_each_row', () => {
    const x = random.tensor(3, 4);
    const expected = softmax(x.data, 4, (row, j) => j < [1, 0, 4][row]);
    assertClose(attn.maskedSoftmax(x, { validLens: [1, 0, 4] }), [3, 4], expected, 1e-6);
  });

  test('errors_name_the_argument', () => {
    const x = random.tensor(2, 3, 4);
    assertThrows(
      () => attn.maskedSoftmax(random.tensor(4)),
      'shape_mismatch',
      'x: got shape (4,), needs rank 2 (N, K) or rank 3 (B, N, K) or rank 4 (B, H, N, K)',
    );
    assertThrows(
      () => attn.maskedSoftmax(x, { validLens: [1, 5] }),
      'invalid_argument',
      'validLens[1]: got 5, needs a length from 0 to 4, the number of keys',
    );
    assertThrows(
      () => attn.maskedSoftmax(x, { mask: { data: [1, 0], shape: [2] } }),
      'shape_mismatch',
      'mask: got shape (2,), needs one that broadcasts to (2, 3, 4)',
    );
  });
});
