import { Lane } from '../training/lane.js';

/** A model that learns: it stays in the worker, and the page calls its methods. */
export const trainTask = {
  name: /** @type {const} */ ('train'),
  reads: [],
  /**
   * @param {import('attn').Attn} attn  loaded to train
   * @param {import('../training/model.js').LaneOptions} options
   */
  run: async (attn, options) =>
    new Lane(/** @type {import('attn').TrainingAttn} */ (attn), options),
};
