import assert from 'node:assert/strict';
import test from 'node:test';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { pathsPrograms } from './code.js';

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program counts the drawn connections`, { skip }, async () => {
    const programs = pathsPrograms({ n: 11, k: 3, first: 9, second: 1 });
    assert.deepEqual(await run(language, programs[language]), [
      [4, 9, 1],
      [5, 11, 1],
    ]);
  });
}
