import assert from 'node:assert/strict';
import test from 'node:test';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { timingsPrograms } from './code.js';

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language, 'torch.nn.functional.scaled_dot_product_attention');
  test(`the ${language} program measures times`, { skip }, async () => {
    const rows = await run(language, timingsPrograms({ n: 32, d: 16, k: 3 })[language]);
    assert.deepEqual([rows.length, rows[0].length], [3, 1]);
    for (const value of rows.flat()) assert.ok(value > 0);
  });
}
