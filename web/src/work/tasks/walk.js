import { walkOf } from '../../core/walk.js';
import { sentenceTask } from './sentenceTask.js';
import { sentence } from './task.js';

/** Computes each step by which a head of one of the page's models processes one word. */
export const walkTask = sentenceTask(
  'walk',
  [...sentence, 'head', 'shuffle', 'walkWord'],
  (sentence, attn, given) => {
    const { embedding, input: x, parts } = /** @type {LayerSentence} */ (sentence);
    const { layer, exclusion, model, reading } = parts;
    return given.tokens.length
      ? walkOf(attn, given, { embedding, x, layer, exclusion, model, reading })
      : null;
  },
);

/** @typedef {import('../../models/model.js').LayerSentence} LayerSentence */
