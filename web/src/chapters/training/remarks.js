// Remarks on notable results of a run.

import { settings } from '../../state/settings.svelte.js';
import { worlds } from '../../training/worlds.js';
import { texts } from '../../texts/training.js';

/** @import { Lanes } from './lanes.svelte.js' */
/** @import { WorldName } from '../../training/worlds.js' */

/**
 * Tasks whose blanks (tokens to be filled in) differ only by position.
 * @type {readonly WorldName[]}
 */
const placed = ['copy', 'reverse'];

const inHundred = (/** @type {number} */ share) => Math.round(100 * share);

/** The latest results of both models. Empty if there are none. @param {Lanes} lanes */
export const resultsOf = ({ shown, step }) =>
  shown.flatMap(({ name, what = '', evaluations }) => {
    const { accuracy, places } = evaluations.at(-1) ?? {};
    return accuracy === undefined || !places || !step
      ? []
      : [{ name, what, right: inHundred(accuracy), places: Array.from(places, inHundred) }];
  });

/**
 * Returns a remark about each model that cannot distinguish blanks but is right at least twice as
 * often as by chance.
 * @param {Lanes} lanes
 */
export function guesses({ shown, training: { earlier } }) {
  const { world } = settings;
  if (!placed.includes(world)) return [];
  const blind = 1 / worlds[world].kinds;
  return shown.flatMap(({ name, isBlind, evaluations }) => {
    const newest = evaluations.findLast(({ step }) => step <= (earlier?.step ?? Infinity));
    if (!isBlind || !newest || newest.accuracy < 2 * blind) return [];
    return [texts.guesses({ name, right: inHundred(newest.accuracy), blind: inHundred(blind) })];
  });
}

/**
 * Compares a model with positions to a model without them, which can only guess. Describes the
 * first size beyond the training size at which the model with positions does worse, if that model
 * does better at a size up to the training size. Returns an empty string otherwise.
 * @param {Lanes} lanes
 */
export function misledBeyond({ shown, world: { size: trained, unit } }) {
  const guesser = shown.findIndex(({ isBlind }) => isBlind);
  if (!placed.includes(settings.world) || guesser < 0) return '';
  const [one, other] = [shown[1 - guesser], shown[guesser]];
  if (one.positions === 'none' || !one.reach || !other.reach) return '';
  const { sizes, accuracy } = one.reach;
  const guessed = other.reach;
  const others = sizes.map((size) => guessed.accuracy[guessed.sizes.indexOf(size)] ?? NaN);
  const before = sizes.findIndex((size, i) => size <= trained && accuracy[i] > others[i]);
  const at = sizes.findIndex((size, i) => size > trained && accuracy[i] < others[i] - 0.02);
  if (before < 0 || at < 0) return '';
  return texts.misled({
    ...{ size: sizes[at], unit, name: one.name },
    ...{ right: inHundred(accuracy[at]), other: other.name, others: inHundred(others[at]) },
  });
}
