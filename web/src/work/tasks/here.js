import { exclusionOf, noMasks } from '../../core/exclusion.js';
import { Spelled } from '../../models/spelled.js';

/** @typedef {import('../../core/sentence.js').Given} Given */

/**
 * The models in this worker, once they are loaded.
 * @type {{
 *   pages: import('../../models/language/pages.js').Pages | null,
 *   own: import('../../models/own/ownServer.js').OwnModel
 *     | import('../../models/own/encoderDecoder.js').EncoderDecoder | null,
 * }}
 */
export const here = { pages: null, own: null };

/**
 * The model that the given settings select.
 * @param {import('attn').Attn} attn
 * @param {Given} given
 */
export function modelOf(attn, given) {
  if (!given.own && given.weights !== 'learned') return new Spelled(attn);
  const model = given.own ? here.own : here.pages;
  if (!model) throw new Error('the model is not loaded');
  return model;
}

/**
 * Runs a computation for a sentence in this worker.
 * @template T
 * @param {import('attn').Attn} attn
 * @param {Given} given
 * @param {(sentence: any) => T} compute
 */
export function withSentence(attn, given, compute) {
  // Not every task passes masks, because not every computation depends on them.
  const exclusion = exclusionOf({ ...noMasks, ...given }, given.tokens.length);
  const sentence = modelOf(attn, given).sentence(given, exclusion);
  try {
    return compute(sentence);
  } finally {
    sentence.dispose();
  }
}
