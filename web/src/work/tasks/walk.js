import { withSentence } from '../../core/sentence.js';
import { walkOf } from '../../core/walk.js';
import { timed } from '../timed.js';
import { sentence } from './task.js';

/** Computes the steps of one word through a head. */
export const walkTask = {
  name: /** @type {const} */ ('walk'),
  reads: /** @type {const} */ ([...sentence, 'head', 'shuffle', 'walkWord']),
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    return withSentence(attn, given, (sentence) => timed(() => walkOf(attn, given, sentence)));
  },
};
