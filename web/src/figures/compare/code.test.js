import assert from 'node:assert/strict';

import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { byColumns, restored } from '../../core/patching.js';
import { finish } from '../../core/finish.js';
import { comparison, patched } from '../../models/patching.js';
import { compareCode } from './code.js';

const other = [3, 5, 7, 7, 0, 3];
const target = 5;

for (const stage of /** @type {const} */ (['residual', 'attention', 'mlp', 'head'])) {
  await testLanguagePrograms(
    `the effects of patching, ${stage}`,
    (given, learned) => compareCode({ ...given, head: 1, other, target, stage }, learned),
    (model) => {
      const { numLayers, numHeads } = model.config;
      /** @type {import('../../models/changes.js').Changeable} */
      const changeable = {
        heads: Array(numLayers).fill(numHeads),
        run: (ids, { intermediates: names, patch }) =>
          model.changed(ids, { patch }, { layer: null, positions: true, names }),
        label: String,
        likeliest: () => [{ id: 0, probability: 1 }],
      };
      const given = { ids, stage, head: 1, token: target };
      const split = { ids: other, tokens: other.map(String) };
      const { compared } = comparison(changeable, /** @type {any} */ (split), {
        ...{ ...given, total: ids.length, drawn: 1 },
      });
      const { chosen, distances } = compared ?? assert.fail();
      const { cells } = finish(patched(changeable, { ...given, other }));
      const shares = cells.map(({ value }) => restored(value, chosen));
      return [...byColumns(shares, ids.length, distances.shape[1]).data];
    },
  );
}
