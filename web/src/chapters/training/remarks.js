// Remarks on notable results of a run.

import { worlds } from '../../training/worlds.js';
import { texts } from '../../texts/training.js';

/** @import { Evaluation } from '../../training/lane.js' */
/** @import { LaneOptions } from '../../training/model.js' */
/** @import { WorldName } from '../../training/worlds.js' */

/**
 * Tasks whose blanks (tokens to be filled in) differ only by position.
 * @type {readonly WorldName[]}
 */
const placed = ['copy', 'reverse'];

const inHundred = (/** @type {number} */ share) => Math.round(100 * share);

/**
 * Returns a remark about each model that cannot distinguish blanks but is right at least twice as
 * often as by chance.
 * @param {object} run
 * @param {{ name: string, isBlind: boolean, evaluations: readonly Evaluation[] }[]} run.lanes
 * @param {WorldName} run.world
 * @param {number} [run.to]  the selected step; the latest by default
 */
export function guesses({ lanes, world, to = Infinity }) {
  if (!placed.includes(world)) return [];
  const blind = 1 / worlds[world].kinds;
  return lanes.flatMap(({ name, isBlind, evaluations }) => {
    const newest = evaluations.findLast(({ step }) => step <= to);
    if (!isBlind || !newest || newest.accuracy < 2 * blind) return [];
    return [texts.guesses({ name, right: inHundred(newest.accuracy), blind: inHundred(blind) })];
  });
}

/**
 * Compares a model with positions to a model without them, which can only guess. Describes the
 * first size beyond the training size at which the model with positions does worse, if that model
 * does better at a size up to the training size. Returns an empty string otherwise.
 * @param {object} run
 * @param {{ name: string, positions: LaneOptions['positions'], isBlind: boolean, reach: { sizes:
 *   number[], accuracy: number[] } | null }[]} run.lanes
 * @param {WorldName} run.world
 * @param {number} run.trained  the training size
 */
export function misledBeyond({ lanes, world, trained }) {
  const guesser = lanes.findIndex(({ isBlind }) => isBlind);
  if (!placed.includes(world) || guesser < 0) return '';
  const [one, other] = [lanes[1 - guesser], lanes[guesser]];
  if (one.positions === 'none' || !one.reach || !other.reach) return '';
  const { sizes, accuracy } = one.reach;
  const guessed = other.reach;
  const others = sizes.map((size) => guessed.accuracy[guessed.sizes.indexOf(size)] ?? NaN);
  const before = sizes.findIndex((size, i) => size <= trained && accuracy[i] > others[i]);
  const at = sizes.findIndex((size, i) => size > trained && accuracy[i] < others[i] - 0.02);
  if (before < 0 || at < 0) return '';
  return texts.misled({
    ...{ size: sizes[at], unit: worlds[world].unit, name: one.name },
    ...{ right: inHundred(accuracy[at]), other: other.name, others: inHundred(others[at]) },
  });
}
