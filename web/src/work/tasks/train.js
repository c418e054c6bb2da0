import { Lane } from '../../training/lane.js';
import { loadInvention } from '../../training/model.js';

/** Creates a model to train. It stays in the worker, and the page calls its methods. */
export const trainTask = {
  name: /** @type {const} */ ('train'),
  reads: [],
  /**
   * @param {import('attn').Attn} attn  a module loaded with support for training
   * @param {import('../../training/model.js').LaneOptions} options
   */
  run: async (attn, options) =>
    new Lane(
      /** @type {import('attn').TrainingAttn} */ (attn),
      options,
      await loadInvention(options),
    ),
};
