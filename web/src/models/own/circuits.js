// The circuits of a head in a reader's model. Used in the model's worker.

import { circuits } from '../circuits.js';
import { addedPlaces } from './ownOrder.js';
import { tooLarge, unknownRows } from '../../texts/circuits.js';

/** Largest number of values in an embedding to copy (512 MB). */
const mostEmbedded = 2 ** 27;

/**
 * The tokens that a head's query matches, and the tokens that its value promotes.
 * @param {import('attn').Attn} attn
 * @param {import('attn').LanguageModel} model
 * @param {import('../model.js').CircuitsGiven} given
 * @param {(id: number) => string} label
 */
export function ownCircuits(attn, model, given, label) {
  return circuits(attn, aroundOf(attn, model, given, label), given);
}

/**
 * @param {import('attn').Attn} attn
 * @param {import('attn').LanguageModel} model
 * @param {Pick<import('../model.js').CircuitsGiven, 'token' | 'layer' | 'query'>} given
 * @param {(id: number) => string} label
 * @returns {import('../circuits.js').Around}
 */
export function aroundOf(attn, model, { token, layer, query }, label) {
  const { layers, vocabSize: vocabularySize } = model.description;
  const { dModel, rotaryDim = 0 } = layers[layer];
  const turning = model.rotaryFrequencies(layer, query + 1);
  if (model.parameterNames().some((name) => /^(project_in|embedding_norm)\./.test(name))) {
    throw new Error(unknownRows);
  }
  if (vocabularySize * dModel > mostEmbedded) throw new Error(tooLarge);
  const { data: table } = model.parameter('embedding.weight');
  const added = addedPlaces(attn, model, query + 1)?.data;
  // Some models multiply embeddings by a constant, which one row is enough to measure.
  const { intermediates } = model.forward([token], {
    ...{ needLogits: false, intermediates: ['embedded'] },
  });
  const embedded = intermediates.embedded.data.map((value, i) => value - (added?.[i] ?? 0));
  const factor =
    Math.hypot(...embedded) / Math.hypot(...table.subarray(token * dModel, (token + 1) * dModel));
  return {
    ...{
      layer: /** @type {any} */ (model.layers[layer]),
      described: layers[layer],
      vocabularySize,
    },
    parameter: (name) => model.parameter(`encoder.layers.${layer}.${name}`),
    rows: (begin, end, position) => ({
      data: table
        .subarray(begin * dModel, end * dModel)
        .map((value, i) => factor * value + (added?.[position * dModel + (i % dModel)] ?? 0)),
      shape: [end - begin, dModel],
    }),
    unembed: (x) => model.unembed(x),
    ...{ turned: turning ? rotaryDim : 0, factor: turning?.attentionFactor, label },
  };
}
