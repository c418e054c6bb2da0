import { head, testLayerPrograms, tokens, weightsOfHead } from '../../../../tests/layerPrograms.js';
import { pipelineCode } from './code.js';

await testLayerPrograms(
  'the weights of a head, from the embeddings on',
  (settings) => pipelineCode(settings, tokens, head),
  weightsOfHead,
  ({ embedding }) => ({ 'pipeline-embedding': embedding }),
);
