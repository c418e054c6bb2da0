import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';
import { reasonToSkip, run } from '../../../../tests/programs.js';

import { finish } from '../../core/finish.js';
import { encoded, Embedder } from '../../core/sentence.js';
import { measureBytes, types } from './bytes.js';
import { bytesPrograms, driftPrograms, errorPrograms } from './code.js';
import { exactValue } from './precision.js';

const [width, base, position] = [32, 10000, 8_388_607];

/** The attention weights in a window of 16 positions, computed from exact encodings. */
const exactWeights = Array.from({ length: 16 }, (_, i) => {
  const scores = Array.from({ length: 16 }, (_, k) => {
    let sum = 0;
    for (let j = 0; j < width / 2; j++) sum += Math.cos((i - k) / base ** ((2 * j) / width));
    return Math.exp(sum / Math.sqrt(width));
  });
  const total = scores.reduce((sum, score) => sum + score);
  return scores.map((score) => score / total);
});

const attn = await load({ threads: 1 });

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);

  test(`the ${language} program prints the errors of float32`, { skip }, async () => {
    const [errors] = await run(language, errorPrograms({ width, base, position })[language]);
    assert.equal(errors.length, width);
    // Which bits are lost depends on a language's power function, but the number of lost bits does
    // not.
    assert.ok(errors[0] < 1e-7 && errors[1] < 1e-7, 'the first pair has frequency 1');
    assert.ok(Math.max(...errors) > 0.01);
    for (const [column, error] of errors.entries()) {
      const ulps = position / base ** ((column - (column % 2)) / width) / 2 ** 23;
      assert.ok(error <= 3 * ulps + 2e-7, `column ${column}: ${error}`);
    }
    assert.ok(Number.isFinite(exactValue(position, 3, width, base)));
  });

  test(`the ${language} program prints the weights of a window`, { skip }, async () => {
    const rows = await run(language, driftPrograms({ width, base, start: position })[language]);
    const differences = rows.map((row, i) =>
      Math.max(...row.map((value, k) => Math.abs(value - exactWeights[i][k]))),
    );
    const largest = Math.max(...differences);
    if (language === 'cpp') assert.ok(largest < 1e-6, `${largest}`);
    else assert.ok(largest > 1e-3 && largest < 0.1, `${largest}`);
  });

  for (const tokens of [null, ['the', 'cat', 'sat', 'on', 'the', 'mat']]) {
    const what = tokens ? 'a sentence' : 'positions';
    test(
      `the ${language} program prints the errors of the weights of ${what}`,
      { skip },
      async () => {
        const positions = { length: 7, base: 100, start: 3, step: 2 };
        const settings = { ...positions, width: 12, dModel: 16 };
        const rows = tokens
          ? encoded(attn, new Embedder(attn).embed(tokens, 16), {
              encoding: 'sinusoidal',
              base: 100,
            })
          : attn.sinusoidalEncoding({ ...positions, dModel: 12 });
        const { losses } = finish(measureBytes(attn, rows));
        for (const type of types) {
          const printed = await run(language, bytesPrograms(settings, tokens, type)[language]);
          const { error, largest } = losses[type].weights;
          printed.flat().forEach((value, i) => {
            assert.ok(Math.abs(value - error.data[i]) <= 1e-6, `${type} ${i}: ${value}`);
          });
          assert.equal(printed.length, rows.shape[0]);
          assert.ok(largest > 2e-6, `${type}: ${largest}`);
        }
      },
    );
  }
}
