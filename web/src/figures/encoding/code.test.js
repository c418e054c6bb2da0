import assert from 'node:assert/strict';
import test from 'node:test';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { encodingPrograms } from './code.js';

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints the encoding`, { skip }, async () => {
    for (const settings of [
      { length: 6, width: 8, base: 10000, start: 0, step: 1 },
      { length: 3, width: 5, base: 123.5, start: 1_000_000, step: 250 },
    ]) {
      const { length, width, base, start, step } = settings;
      const rows = await run(language, encodingPrograms(settings)[language]);
      assert.deepEqual([rows.length, rows[0].length], [length, width]);
      rows.forEach((row, i) =>
        row.forEach((value, column) => {
          const angle = (start + i * step) / base ** ((column - (column % 2)) / width);
          const exact = column % 2 ? Math.cos(angle) : Math.sin(angle);
          assert.ok(Math.abs(value - exact) < 2e-7, `${i}, ${column}: ${value} for ${exact}`);
        }),
      );
    }
  });
}
