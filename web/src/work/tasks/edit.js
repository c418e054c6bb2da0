import { sentenceTask } from './sentenceTask.js';
import { sentence } from './task.js';

/** Computes the effect of changing one number in a projection. */
export const editTask = sentenceTask(
  'edit',
  [...sentence, 'head', 'editMatrix', 'editCell', 'editBy'],
  (sentence) => sentence.edit(),
  ({ weights }) => [weights],
);
