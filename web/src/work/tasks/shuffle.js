import { orderEffects } from '../../core/effects.js';
import { layerOutput, withSentence } from '../../core/sentence.js';
import { orderOf } from '../../core/shuffle.js';
import { timed } from '../timed.js';
import { here } from './language.js';
import { layer } from './task.js';

/** Computes the effect of the tokens' order, with and without an encoding. */
export const shuffleTask = {
  name: /** @type {const} */ ('shuffle'),
  reads: /** @type {const} */ ([...layer, 'encoding', 'base', 'shuffle', 'order', 'orderCausal']),
  own: true,
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    if (given.own) {
      const order = orderOf(given.tokens.length, given);
      return timed(() => here.own?.ordered(given, order));
    }
    return withSentence(attn, given, ({ embedding, layer, model }) =>
      timed(() => {
        const order = orderOf(given.tokens.length, given);
        const exclusion = { causal: given.orderCausal };
        return orderEffects(layerOutput(attn, given, model, layer, exclusion), embedding, order);
      }),
    );
  },
};
