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

/** The settings whose changes start a new run. */
/** @typedef {'world' | 'trainSeed' | 'rate' | 'schemeA' | 'schemeB' | 'trainHeads' | 'trainLayers' | 'differ'} RunSetting */

/** @typedef {typeof import('../../state/settings.svelte.js').settings} Settings */
/** @typedef {<Name extends RunSetting>(name: Name, value: Settings[Name]) => void} OnRunChange */

/** @type {readonly Difference[]} */
const differences = ['positions', 'heads', 'layers', 'mask', 'decoder'];

/**
 * The differences that a world offers between its two models. Worlds with written answers offer a
 * choice of decoder instead of a mask, because a mask makes no sense in such worlds.
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
   * The scheme, heads and layers of the models, the second model's alternative scheme, and the
   * option in which the models differ.
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
