import assert from 'node:assert/strict';
import test from 'node:test';

import { uneven } from './uneven.js';

test('the largest rise after a fall is found', () => {
  assert.deepEqual(uneven([8, 5, 3, 4, 3.5, 2, 2.5]), { near: 2, far: 3 });
  assert.deepEqual(uneven([8, 5, 3, 4, 3.5, 2, 4.5]), { near: 5, far: 6 });
});

test('nothing is found if products only fall or hardly rise', () => {
  assert.equal(uneven([8, 7, 6, 5]), null);
  assert.equal(uneven([8, 7, 7.01, 5]), null);
  assert.equal(uneven([8]), null);
});
