import { schemes } from '../../training/schemes.js';
import { choice, integer, number, text } from './property.js';

export const limits = {
  step: { min: 0, max: 5000 },
  rate: { min: 1e-4, max: 10 },
  head: { min: 0, max: 7 },
};

/** @type {readonly import('../../training/worlds.js').WorldName[]} */
const worldNames = ['copy', 'reverse', 'sort', 'repeat', 'add', 'count', 'dates'];

/** @typedef {'positions' | 'heads' | 'layers' | 'mask' | 'decoder'} Difference */

/** The settings that start a new run when they change. */
/** @typedef {'world' | 'trainSeed' | 'rate' | 'schemeA' | 'schemeB' | 'trainHeads' | 'trainLayers' | 'differ'} RunSetting */

/** @typedef {typeof import('../../state/settings.svelte.js').settings} Settings */
/** @typedef {<Name extends RunSetting>(name: Name, value: Settings[Name]) => void} OnRunChange */

/** @type {readonly Difference[]} */
const differences = ['positions', 'heads', 'layers', 'mask', 'decoder'];

/**
 * The options in which the two models that learn a task can differ. If the answers are written as a
 * separate sequence, the decoder can differ instead of the mask, because a mask makes no sense for
 * such a task.
 * @param {boolean} written
 */
export const differencesOf = (written) =>
  differences.filter((each) => each !== (written ? 'mask' : 'decoder'));

/** The settings of the chapter on training. */
export const properties = {
  /** The task, the seed, the learning rate, and the step to show. */
  world: choice('reverse', worldNames),
  trainSeed: integer(1, { min: 0, max: 2 ** 31 - 1 }),
  rate: number(3e-3, limits.rate),
  trainStep: integer(0, limits.step),

  /**
   * The positional scheme and the numbers of heads and layers of the first model. The second model
   * differs in the option `differ`. If that option is the scheme, the second model has `schemeB`.
   */
  schemeA: choice('sinusoidal', schemes),
  schemeB: choice('none', schemes),
  trainHeads: choice(4, [1, 4]),
  trainLayers: choice(2, [1, 2]),
  differ: choice('positions', differences),

  /** The example that the reader wrote, if any, and the selected head: layer · 4 + head. */
  example: text('', 64),
  trainHead: integer(0, limits.head),
};
