import { walkOf } from '../../figures/walk/walk.js';
import { withSentence } from '../sentence.js';
import { timed } from '../timed.js';
import { sentence } from './task.js';

/** Computes the steps of one word through a head. */
export const walkTask = {
  name: /** @type {const} */ ('walk'),
  reads: /** @type {const} */ ([...sentence, 'head', 'shuffle', 'walkWord']),
  /** @param {import('attn').Attn} attn @param {import('../sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    return withSentence(attn, given, (sentence) => timed(() => walkOf(attn, given, sentence)));
  },
};
