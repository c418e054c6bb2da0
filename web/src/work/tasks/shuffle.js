import { sentenceTask } from './sentenceTask.js';
import { layer } from './task.js';

/** Computes the effect of the tokens' order, with and without an encoding. */
export const shuffleTask = sentenceTask(
  'shuffle',
  [...layer, 'encoding', 'base', 'shuffle', 'order', 'orderCausal'],
  (sentence) => sentence.ordered(),
);
