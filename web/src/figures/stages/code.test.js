import { head, testLayerPrograms } from '../../../../tests/layerPrograms.js';
import { columnsOf, stagesOf } from '../../core/stages.js';
import { stagesCode } from './code.js';

await testLayerPrograms('the output of a head', stagesCode, ({ attn, layer, x, exclusion }) => {
  const { dModel, numHeads } = layer;
  const { attended } = stagesOf(attn, x, layer, exclusion, head);
  const depth = dModel / numHeads;
  return columnsOf(attended, head * depth, (head + 1) * depth);
});
