import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { scoringFunctions } from '../../core/points.js';
import { poolingPrograms } from './code.js';
import { drawPoints, pool } from './pooling.js';

const attn = await load({ threads: 1 });
const points = drawPoints(12, 5);
/** @type {import('./pooling.js').PoolingOptions} */
const options = {
  kernelWidth: 0.7,
  dotInput: 'encoding',
  additiveWeights: 'byHand',
  additiveSeed: 3,
};

/** @type {[import('./pooling.js').Scoring, Partial<import('./pooling.js').PoolingOptions>][]} */
const cases = [
  ...scoringFunctions.map((scoring) => /** @type {[typeof scoring, {}]} */ ([scoring, {}])),
  ['scaledDot', { dotInput: 'number' }],
  ['additive', { additiveWeights: 'random' }],
];

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  for (const [scoring, changes] of cases) {
    const name = [scoring, ...Object.values(changes)].join(', ');
    test(`the ${language} program pools the drawn points: ${name}`, { skip }, async () => {
      const settings = { ...options, ...changes };
      const { data } = pool(attn, scoring, points, settings).output;
      const rows = await run(language, poolingPrograms(scoring, points, settings)[language]);
      assert.deepEqual([rows.length, rows[0].length], [50, 1]);
      rows.flat().forEach((value, i) => assert.ok(Math.abs(value - data[i]) < 2e-5, `${value}`));
    });
  }
}
