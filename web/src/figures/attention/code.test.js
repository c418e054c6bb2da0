import { testLayerPrograms, weightsOfHead } from '../../../../tests/layerPrograms.js';
import { attentionCode } from './code.js';

await testLayerPrograms('the weights of a head', attentionCode, weightsOfHead);
