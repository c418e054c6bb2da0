// A language model with random weights, for tests.

import { LanguageModel } from '../web/src/models/language/languageModel.js';

/**
 * The model and the file that contains it.
 * @param {import('attn').Attn} attn
 * @param {'rotary' | 'sinusoidal'} [positions]
 */
export function smallLanguageModel(attn, positions = 'rotary') {
  /** @type {import('../web/src/models/language/languageModel.js').Config} */
  const config = {
    ...{ vocabularySize: 24, dModel: 16, numHeads: 2, numLayers: 2, dimFeedforward: 40 },
    ...{ activation: 'gelu', positions, base: 1000, scaleBySqrtDim: true, maxLength: 32 },
  };
  const { vocabularySize, dModel, numHeads, numLayers, dimFeedforward } = config;
  const encoder = new attn.TransformerEncoder({
    ...{ dModel, numHeads, numLayers, dimFeedforward, normFirst: true, finalNorm: true },
  });
  /** @type {[string, number[]][]} */
  const shapes = [
    ['embedding.weight', [vocabularySize, dModel]],
    ...encoder
      .parameterNames()
      .map(
        (name) =>
          /** @type {[string, number[]]} */ ([`encoder.${name}`, encoder.parameter(name).shape]),
      ),
  ];
  encoder.dispose();
  const tensors = Object.fromEntries(
    shapes.map(([name, shape], stream) => [
      name,
      attn.randomNormal({ shape, seed: 5, stream, deviation: shape.length > 1 ? 0.4 : 0.8 }),
    ]),
  );
  const bytes = attn.toSafetensors(tensors, { config: JSON.stringify(config) });
  return { bytes, config, model: new LanguageModel(attn, bytes) };
}
