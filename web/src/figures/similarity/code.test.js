import assert from 'node:assert/strict';
import test from 'node:test';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { similarityPrograms } from './code.js';

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints the products`, { skip }, async () => {
    const settings = { length: 7, width: 6, base: 100, start: 50, step: 3 };
    const rows = await run(language, similarityPrograms(settings)[language]);
    assert.deepEqual([rows.length, rows[0].length], [7, 7]);
    rows.forEach((row, i) =>
      row.forEach((value, k) => {
        const terms = [0, 1, 2].map((j) => Math.cos((3 * (i - k)) / 100 ** ((2 * j) / 6)));
        const exact = terms.reduce((sum, term) => sum + term);
        assert.ok(Math.abs(value - exact) < 2e-6, `${i}, ${k}: ${value} for ${exact}`);
      }),
    );
  });
}
