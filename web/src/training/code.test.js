import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { lanes } from '../../../tests/lanes.js';
import { reasonToSkip, run } from '../../../tests/programs.js';
import { lossPrograms, reachPrograms, tableProgram, trainingPrograms } from './code.js';
import { Lane } from './lane.js';
import { loadInvention } from './model.js';
import { exampleOf, worlds } from './worlds.js';

const steps = 3;
for (const language of /** @type {const} */ (['cpp', 'javascript', 'python'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints the same table as the page learns`, { skip }, async () => {
    const printed = await run(language, tableProgram(lanes[0], steps)[language] ?? '');
    assert.deepEqual([printed.length, printed[0].length], [20, 64]);
    // Python draws different random numbers.
    if (language === 'python') return;
    const attn = await load({ training: true, threads: 1, variant: 'simd128' });
    const lane = new Lane(attn, lanes[0]);
    assert.equal(lane.train(steps).step, steps);
    const { table } = lane.look(exampleOf(attn, worlds.copy, 7, '').ids);
    lane.dispose();
    printed.flat().forEach((value, i) => {
      assert.ok(Math.abs(value - (table?.data[i] ?? NaN)) < 1e-3, `${i}: ${value}`);
    });
  });
}

for (const language of /** @type {const} */ (['cpp', 'javascript', 'python'])) {
  const skip = await reasonToSkip(language);
  for (const options of lanes.filter(({ world }) => world !== 'dates')) {
    const { world, positions } = options;
    const text = reachPrograms(options, steps)[language];
    if (!text) continue;
    test(
      `the ${language} program tests longer inputs like the page: ${world}, ${positions}`,
      { skip },
      async () => {
        const printed = await run(language, text);
        const attn = await load({ training: true, threads: 1, variant: 'simd128' });
        const lane = new Lane(attn, options, await loadInvention(options));
        lane.train(steps);
        const { sizes, accuracy } = lane.reach();
        lane.dispose();
        assert.deepEqual(
          printed.map(([size]) => size),
          sizes,
        );
        printed.forEach(([, share], i) => {
          // Python draws different random numbers.
          if (language === 'python') assert.ok(share >= 0 && share < 1, `${share}`);
          else assert.ok(Math.abs(share - accuracy[i]) < 0.01, `${share} for ${accuracy[i]}`);
        });
      },
    );
  }
}

for (const language of /** @type {const} */ (['cpp', 'javascript', 'python'])) {
  const skip = await reasonToSkip(language);
  for (const options of lanes) {
    const { world, positions, decoder = '' } = options;
    test(
      `the ${language} program trains like the page: ${world}, ${positions} ${decoder}`.trim(),
      { skip },
      async () => {
        const attn = await load({ training: true, threads: 1, variant: 'simd128' });
        const { ids } = exampleOf(attn, worlds[world], options.seed, '');
        const recurrent = decoder === 'recurrent';
        const [layer, head] = recurrent ? [0, 0] : [options.layers - 1, options.heads - 1];
        const text = trainingPrograms(options, { ids, steps, layer, head })[language];
        if (language === 'python' && !text) return;
        const printed = await run(language, text ?? '');
        const [rows, columns] =
          world === 'dates'
            ? [10, ids.filter((id) => id !== worlds.dates.written?.padding).length]
            : [ids.length, ids.length];
        assert.deepEqual([printed.length, printed[0].length], [rows, columns]);
        // Python draws different random numbers.
        if (language === 'python') return;
        const lane = new Lane(attn, options, await loadInvention(options));
        assert.equal(lane.train(steps).step, steps);
        const { data } = lane.look(ids).weights[layer];
        lane.dispose();
        const expected = data.subarray(head * rows * columns);
        printed.flat().forEach((value, i) => {
          assert.ok(Math.abs(value - expected[i]) < 1e-3, `${i}: ${value} for ${expected[i]}`);
        });
      },
    );
  }
}

for (const language of /** @type {const} */ (['cpp', 'javascript', 'python'])) {
  const skip = await reasonToSkip(language);
  for (const options of [...[1, 3, 8, 11].map((i) => lanes[i]), ...lanes.slice(-3)]) {
    const { world, positions, decoder = '' } = options;
    const text = lossPrograms(options, steps)[language];
    if (!text) continue;
    test(
      `the ${language} program prints the page’s losses: ${world}, ${positions} ${decoder}`.trim(),
      { skip },
      async () => {
        const printed = await run(language, text);
        assert.deepEqual(
          printed.map(([step]) => step),
          [1, 2, 3],
        );
        // Python draws different random numbers.
        if (language === 'python') return;
        const attn = await load({ training: true, threads: 1, variant: 'simd128' });
        const lane = new Lane(attn, options, await loadInvention(options));
        const { losses } = lane.train(steps);
        lane.dispose();
        printed.forEach(([, loss], i) => {
          assert.ok(Math.abs(loss - losses[i]) < 1e-3, `${i}: ${loss} for ${losses[i]}`);
        });
      },
    );
  }
}
