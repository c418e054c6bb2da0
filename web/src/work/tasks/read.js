import { withSentence } from '../../core/sentence.js';
import { timed } from '../timed.js';
import { sentence } from './task.js';

/** Computes the input of a language model's layer for a long sentence. */
export const readTask = {
  name: /** @type {const} */ ('read'),
  reads: sentence,
  own: true,
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    return timed(() =>
      withSentence(attn, given, ({ embedding, x, positions }) => ({
        embedding,
        input: x,
        positions,
      })),
    );
  },
};
