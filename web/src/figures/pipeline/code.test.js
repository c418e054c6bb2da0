import { testLayerPrograms, tokens } from '../../../../tests/layerPrograms.js';
import { pipelineCode } from './code.js';

await testLayerPrograms(
  'what the layer reads',
  (settings) => pipelineCode(settings, tokens),
  ({ x }) => ({ data: x.data, columns: x.shape[1] }),
  ({ embedding }) => ({ 'pipeline-embedding': embedding }),
);
