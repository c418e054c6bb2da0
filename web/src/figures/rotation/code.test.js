import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { rotaryPrograms, rotationPrograms, sinePrograms } from './code.js';
import { turnedScores } from './rotary.js';

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints P[i + δ] − M_δ · P[i]`, { skip }, async () => {
    const settings = { length: 7, width: 9, base: 100, delta: -3.5 };
    const rows = await run(language, rotationPrograms(settings)[language]);
    assert.deepEqual([rows.length, rows[0].length], [7, 8]);
    for (const value of rows.flat()) assert.ok(Math.abs(value) < 3.1e-7, `${value}`);
  });

  test(`the ${language} program prints the figure’s sines`, { skip }, async () => {
    const [settings, pair] = [{ length: 7, width: 9, base: 100, delta: -3.5 }, 1];
    const rows = await run(language, sinePrograms(settings, pair)[language]);
    assert.equal(rows.length, settings.length);
    rows.forEach((row, position) => {
      const sineAt = (/** @type {number} */ at) => Math.sin(at * 100 ** (-2 / 8));
      const [now, later] = [sineAt(position), sineAt(position + settings.delta)];
      [now, later, later].forEach((value, k) => {
        assert.ok(Math.abs(row[k] - value) < 4e-7, `${position}, ${k}: ${row[k]} for ${value}`);
      });
    });
  });

  test(`the ${language} program prints the figure’s scores`, { skip }, async () => {
    /** @type {[string, string]} */
    const words = ['tired', 'lady'];
    const settings = { length: 9, base: 100 };
    const rows = await run(language, rotaryPrograms(words, settings)[language]);
    const { scores } = turnedScores(await load({ threads: 1 }), words, settings);
    assert.deepEqual([rows.length, rows[0].length], [9, 9]);
    rows.flat().forEach((value, k) => {
      assert.ok(Math.abs(value - scores.data[k]) < 1e-5, `${k}: ${value} for ${scores.data[k]}`);
    });
  });
}
