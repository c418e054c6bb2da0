import { head, testLayerPrograms, tokens, weightsOfHead } from '../../../../tests/layerPrograms.js';
import { attentionCode } from './code.js';

await testLayerPrograms(
  'the weights of a head',
  (settings) => attentionCode(settings, tokens, head),
  weightsOfHead,
  ({ x }) => ({ 'weights-input': x }),
);
