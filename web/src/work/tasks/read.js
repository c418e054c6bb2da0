import { sentenceTask } from './sentenceTask.js';
import { sentence } from './task.js';

/** Computes the input of a layer for a long sentence. */
export const readTask = sentenceTask('read', sentence, ({ embedding, input, positions }) => ({
  ...{ embedding, input, positions },
}));
