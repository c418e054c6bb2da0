import { timed } from '../timed.js';
import { withSentence } from './here.js';
import { sentenceTask } from './sentenceTask.js';
import { sentence } from './task.js';

/** @param {import('../../models/model.js').Sentence} sentence */
const inputOf = ({ embedding, input, positions }) => ({ embedding, input, positions });

/**
 * Computes the input of a layer for a long sentence. The reported time includes reading the
 * sentence.
 */
export const readTask = {
  ...sentenceTask('read', sentence, inputOf),
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  *run(attn, given) {
    yield 0;
    return timed(() => withSentence(attn, given, inputOf));
  },
};
