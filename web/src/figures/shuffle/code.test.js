import { testLayerPrograms } from '../../../../tests/layerPrograms.js';
import { layerOutput } from '../../core/sentence.js';
import { orderEffect } from '../../core/shuffle.js';
import { shuffleCode } from './code.js';

const order = [3, 0, 5, 1, 4, 2];

await testLayerPrograms(
  'the differences',
  (given, learned) => shuffleCode({ ...given, order }, learned),
  ({ attn, layer, embedding, exclusion, given, model }) => {
    const f = layerOutput(attn, given, model, layer, exclusion);
    const placed = given.encoding !== 'none';
    const { difference } = orderEffect((x) => f(x, placed), embedding, order);
    return { data: difference.data, columns: difference.shape[1] };
  },
);
