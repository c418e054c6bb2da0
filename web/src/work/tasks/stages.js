import { sentenceTask } from './sentenceTask.js';
import { sentence } from './task.js';

/** Computes a head's scores, scaled and masked scores, and weights. */
export const stagesTask = sentenceTask(
  'stages',
  [...sentence, 'head'],
  (sentence) => sentence.stages(),
  ({ scores, scaled, capped, masked, weights }) =>
    capped ? [scores, scaled, capped, masked, weights] : [scores, scaled, masked, weights],
);
