import { head, testLayerPrograms, tokens, weightsOfHead } from '../../../../tests/layerPrograms.js';
import { attentionCode } from './code.js';

await testLayerPrograms(
  'the weights of a head',
  (settings, learned) => attentionCode(settings, tokens, head, learned),
  weightsOfHead,
);
