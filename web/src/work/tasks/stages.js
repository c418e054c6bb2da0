import { sentenceTask } from './sentenceTask.js';
import { sentence } from './task.js';

/** Computes a head's scores, the scores after scaling and masking, and the weights. */
export const stagesTask = sentenceTask(
  'stages',
  [...sentence, 'head'],
  (sentence) => sentence.stages(),
  ({ scores, scaled, capped, masked, weights }) =>
    capped ? [scores, scaled, capped, masked, weights] : [scores, scaled, masked, weights],
);
