import { testLayerPrograms, tokens } from '../../../../tests/layerPrograms.js';
import { orderEffect } from '../../model/shuffle.js';
import { shuffleCode } from './code.js';

const order = [3, 0, 5, 1, 4, 2];

await testLayerPrograms(
  'the differences',
  (settings) => shuffleCode(settings, tokens, order),
  ({ attn, layer, embedding, exclusion, settings }) => {
    const { base, encoding } = settings;
    const f = (/** @type {import('attn').Tensor} */ x) => {
      const encoded = encoding === 'none' ? x : attn.positionalEncoding(x, { base });
      return layer.forward(encoded, encoded, encoded, exclusion).output;
    };
    const { difference } = orderEffect(f, embedding, order);
    return { data: difference.data, columns: difference.shape[1] };
  },
  ({ embedding }) => ({ 'shuffle-embedding': embedding }),
);
