import { head, testLayerPrograms, tokens, weightsOfHead } from '../../../../tests/layerPrograms.js';
import { pipelineCode } from './code.js';

await testLayerPrograms(
  'the weights of a head, from the embeddings on',
  (settings, learned) => pipelineCode(settings, tokens, head, learned),
  weightsOfHead,
  ({ embedding }) => ({ 'pipeline-embedding': embedding }),
);
