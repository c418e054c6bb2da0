import { head, testLayerPrograms, tokens } from '../../../../tests/layerPrograms.js';
import { attentionCode } from './code.js';

const { length } = tokens;

await testLayerPrograms(
  'the weights of a head',
  (settings) => attentionCode(settings, tokens, head),
  ({ layer, x, exclusion }) => {
    const { weights } = layer.forward(x, x, x, { ...exclusion, needWeights: true });
    const { data } = /** @type {import('attn').Tensor} */ (weights);
    return { data: data.subarray(head * length ** 2, (head + 1) * length ** 2), columns: length };
  },
  ({ x }) => ({ 'weights-input': x }),
);
