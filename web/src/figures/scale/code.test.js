import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { byWidth } from '../../core/scale.js';
import { scaleCode } from './code.js';

for (const language of /** @type {const} */ (['python', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints spreads and largest weights`, { skip }, async () => {
    const attn = await load({ threads: 1 });
    const expected = byWidth(attn).map(({ width, spread, undivided, divided }) => [
      ...[width, spread, undivided.largest, divided.largest],
    ]);
    const printed = await run(language, scaleCode()[language]);
    assert.deepEqual([printed.length, printed[0].length], [expected.length, 4]);
    printed.forEach((row, i) =>
      row.forEach((value, k) => {
        const exact = expected[i][k];
        assert.ok(Math.abs(value - exact) < 1e-5 * Math.max(1, exact), `${i}, ${k}: ${value}`);
      }),
    );
  });
}
