import { testLayerPrograms, tokens } from '../../../../tests/layerPrograms.js';
import { layerOutput } from '../../core/sentence.js';
import { orderEffect } from '../../core/shuffle.js';
import { shuffleCode } from './code.js';

const order = [3, 0, 5, 1, 4, 2];

await testLayerPrograms(
  'the differences',
  (settings, learned) => shuffleCode(settings, tokens, order, learned),
  ({ attn, layer, embedding, exclusion, settings, model }) => {
    const given = /** @type {import('../../core/sentence.js').Given} */ (
      /** @type {unknown} */ (settings)
    );
    const f = layerOutput(attn, given, model, layer, exclusion);
    const placed = settings.encoding !== 'none';
    const { difference } = orderEffect((x) => f(x, placed), embedding, order);
    return { data: difference.data, columns: difference.shape[1] };
  },
);
