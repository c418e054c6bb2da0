import { modelOf } from './here.js';
import { masks } from './task.js';

/** Computes every head of every layer for the sentence, one layer at a time. */
export const wallTask = {
  name: /** @type {const} */ ('wall'),
  reads: /** @type {const} */ (['weights', 'heads', 'dModel', 'encoding', 'base', ...masks]),
  /** @param {import('attn').Attn} attn @param {import('../../core/sentence.js').Given} given */
  async run(attn, given) {
    const { wall } = await import('../../models/wall/wall.js');
    return wall([/** @type {any} */ (modelOf(attn, given)).reader(given)].flat(), given);
  },
};
