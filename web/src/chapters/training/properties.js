import { schemes } from '../../model/training/schemes.js';
import { choice, integer, number, text } from '../../state/property.js';

export const limits = {
  step: { min: 0, max: 5000 },
  rate: { min: 1e-4, max: 10 },
  head: { min: 0, max: 7 },
};

/** @type {readonly import('../../model/training/worlds.js').WorldName[]} */
const worldNames = ['copy', 'reverse', 'sort', 'repeat', 'add', 'count', 'dates'];

/** @typedef {'positions' | 'heads' | 'layers' | 'mask' | 'decoder'} Difference */

/** The settings of which each change is another run. */
/** @typedef {'world' | 'trainSeed' | 'rate' | 'schemeA' | 'schemeB' | 'trainHeads' | 'trainLayers' | 'differ'} RunSetting */

/** @typedef {typeof import('../../state/settings.svelte.js').settings} Settings */
/** @typedef {<Name extends RunSetting>(name: Name, value: Settings[Name]) => void} OnRunChange */

/** @type {readonly Difference[]} */
const differences = ['positions', 'heads', 'layers', 'mask', 'decoder'];

/**
 * What two models that learn a world may differ in: only where something is written there is a decoder,
 * and a mask does not make sense there.
 * @param {boolean} written
 */
export const differencesOf = (written) =>
  differences.filter((each) => each !== (written ? 'mask' : 'decoder'));

/** What this chapter adds to the page's settings. */
export const properties = {
  /** What is learned, from which seed, how fast, and after how many steps it is looked at. */
  world: choice('reverse', worldNames),
  trainSeed: integer(1, { min: 0, max: 2 ** 31 - 1 }),
  rate: number(3e-3, limits.rate),
  trainStep: integer(0, limits.step),

  /** What both models have, and what the second one has another of. */
  schemeA: choice('sinusoidal', schemes),
  schemeB: choice('none', schemes),
  trainHeads: choice(4, [1, 4]),
  trainLayers: choice(2, [1, 2]),
  differ: choice('positions', differences),

  /** The example that is looked at, as far as the reader wrote it, and the head: layer · 4 + head. */
  example: text('', 64),
  trainHead: integer(0, limits.head),
};
