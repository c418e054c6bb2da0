import { testLayerPrograms } from '../../../../tests/layerPrograms.js';
import { difference } from '../../core/difference.js';
import { attend, editedLayer } from '../../core/edit.js';
import { editCode } from './code.js';

const edit = { row: 9, column: 2, value: 1.75 };

await testLayerPrograms(
  'the change of the output',
  (given, learned) => editCode({ ...given, edit }, learned),
  ({ attn, layer, x, exclusion, given, model }) => {
    const base = model?.config.base;
    const edited = editedLayer(attn, layer, { which: given.editMatrix, ...edit, base });
    const after = attend(edited, x, exclusion);
    edited.dispose();
    const { data, shape } = difference(after.output, layer.forward(x, x, x, exclusion).output);
    return { data, columns: shape[1] };
  },
);
