import assert from 'node:assert/strict';
import test from 'node:test';

import { excludedRuns, exclusionOf, exclusionReason } from './exclusion.js';

const none = { causal: false, window: 0, validLen: 0, blocked: [] };

test('without masks there are no options', () => {
  assert.deepEqual(exclusionOf(none, 5), {});
  assert.deepEqual(excludedRuns(none, 5), []);
});

test('masked cells beyond the sentence do not count', () => {
  const masks = { ...none, blocked: [{ row: 1, column: 7 }] };
  assert.equal(exclusionOf(masks, 5).mask, undefined);
  assert.deepEqual(exclusionOf({ ...none, validLen: 9 }, 5).validLens, [5]);
});

test('the runs of excluded cells cover exactly the cells that are excluded for a reason', () => {
  const n = 7;
  for (const causal of [false, true]) {
    for (const window of [0, 1, 2, 9]) {
      for (const validLen of [0, 1, 4, 12]) {
        const masks = { causal, window, validLen, blocked: [{ row: 3, column: 2 }] };
        const covered = new Set(
          excludedRuns(masks, n).flatMap(({ row, begin, end }) =>
            Array.from({ length: end - begin }, (_, i) => `${row}.${begin + i}`),
          ),
        );
        for (let query = 0; query < n; query++) {
          for (let key = 0; key < n; key++) {
            assert.equal(
              covered.has(`${query}.${key}`),
              exclusionReason(masks, query, key) !== null,
              JSON.stringify([masks, query, key]),
            );
          }
        }
      }
    }
  }
});
