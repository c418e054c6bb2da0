import assert from 'node:assert/strict';
import test from 'node:test';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { rotationPrograms } from './code.js';

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints how far both ways are apart`, { skip }, async () => {
    const settings = { length: 7, width: 9, base: 100, delta: -3.5 };
    const rows = await run(language, rotationPrograms(settings)[language]);
    assert.deepEqual([rows.length, rows[0].length], [7, 8]);
    for (const value of rows.flat()) assert.ok(Math.abs(value) < 3.1e-7, `${value}`);
  });
}
