import { sentenceTask } from './sentenceTask.js';
import { sentence } from './task.js';

/** Computes scores, scaled and masked scores, and weights of a head. */
export const stagesTask = sentenceTask(
  'stages',
  [...sentence, 'head'],
  (sentence) => sentence.stages(),
  ({ scores, scaled, capped, masked, weights }) =>
    capped ? [scores, scaled, capped, masked, weights] : [scores, scaled, masked, weights],
);
