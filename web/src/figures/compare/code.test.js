import { ids, testLanguagePrograms } from '../../../../tests/languagePrograms.js';
import { byColumns, restored, valuesOf } from '../../core/patching.js';
import { finish } from '../../core/finish.js';
import { compared, patched } from '../../models/patching.js';
import { compareCode } from './code.js';

const other = [3, 5, 7, 7, 0, 3];
const target = 5;

for (const stage of /** @type {const} */ (['residual', 'attention', 'mlp', 'head'])) {
  await testLanguagePrograms(
    `the effects of patching, ${stage}`,
    (given, learned) => compareCode({ ...given, head: 1, other, target, stage }, learned),
    (model) => {
      const parts = {
        values: valuesOf(stage, model.config.numLayers, 1),
        /** @type {import('../../models/patching.js').Run} */
        run: (ids, { intermediates: names, patch }) =>
          model.changed(ids, { patch }, { layer: null, positions: true, names }),
        label: String,
        likeliest: () => [{ id: 0, probability: 1 }],
      };
      const { chosen } = compared(parts, { ids, other, token: target });
      const { cells } = finish(patched(parts, { ids, other, token: target }));
      const shares = cells.map(({ value }) => restored(value, chosen));
      return [...byColumns(shares, ids.length, parts.values.length).data];
    },
  );
}
