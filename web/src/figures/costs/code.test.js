import assert from 'node:assert/strict';
import test from 'node:test';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { costsPrograms } from './code.js';

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints the numbers in the table`, { skip }, async () => {
    const [n, d, k] = [65536, 256, 4];
    const programs = costsPrograms({ n, d, k });
    assert.deepEqual(await run(language, programs[language]), [
      [n * k * d * d, 1, Math.ceil((n - 1) / (k - 1))],
      [2 * n * d * d, n, n],
      [2 * n * n * d, 1, 1],
    ]);
  });
}
