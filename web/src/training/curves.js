/**
 * A curve in a chart.
 * @typedef {object} Curve
 * @property {readonly number[]} xs ascending
 * @property {ArrayLike<number>} ys
 * @property {number} [lane] index of the model that the curve belongs to; by default the curve's
 *   index
 */

/**
 * The losses of all steps as a curve of at most `most` points, each the mean of several steps.
 * @param {readonly number[]} losses losses of steps 1, 2, …
 * @param {number} most
 * @returns {Curve}
 */
export function lossCurve(losses, most = 200) {
  const size = Math.max(1, Math.ceil(losses.length / most));
  const [xs, ys] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  for (let from = 0; from < losses.length; from += size) {
    const to = Math.min(losses.length, from + size);
    let sum = 0;
    for (let i = from; i < to; i++) sum += losses[i];
    xs.push((from + 1 + to) / 2);
    ys.push(sum / (to - from));
  }
  return { xs, ys };
}

/**
 * The accuracy on held-out examples as a curve.
 * @param {readonly import('./lane.js').Evaluation[]} evaluations
 * @returns {Curve}
 */
export const accuracyCurve = (evaluations) => ({
  xs: evaluations.map(({ step }) => step),
  ys: evaluations.map(({ accuracy }) => accuracy),
});

/**
 * The score `name` of each head, as one curve per head.
 * @param {readonly import('./lane.js').Evaluation[]} evaluations
 * @param {keyof import('./induction.js').HeadScores} name
 * @param {number} lane
 * @returns {Curve[]}
 */
export const scoreCurves = (evaluations, name, lane) =>
  (evaluations[0]?.heads ?? []).map((_, head) => ({
    lane,
    xs: evaluations.map(({ step }) => step),
    ys: evaluations.map(({ heads }) => heads[head][name]),
  }));

/**
 * Index of the x nearest to a value, −1 if there is none.
 * @param {Curve} curve
 * @param {number} x
 */
export function nearestTo({ xs }, x) {
  let best = xs.length ? 0 : -1;
  xs.forEach((each, i) => {
    if (Math.abs(each - x) < Math.abs(xs[best] - x)) best = i;
  });
  return best;
}

/** After this number of steps without progress, a model is expected to learn nothing more. */
const kPatience = 150;
/** Smallest change of the accuracy that counts as progress. */
const kProgress = 0.02;

/** @param {readonly import('./lane.js').Evaluation[]} evaluations */
function standsStill(evaluations) {
  const last = (evaluations.at(-1)?.step ?? 0) - kPatience;
  const best = (/** @type {typeof evaluations} */ some) =>
    Math.max(...some.map(({ accuracy }) => accuracy));
  const before = evaluations.filter(({ step }) => step <= last);
  return before.length > 0 && best(evaluations) < best(before) + kProgress;
}

/**
 * Returns whether more steps would change little. 'right' means that every model answers all
 * held-out examples correctly. 'still' means that some models do, and the other models no longer
 * improve.
 * @param {readonly (readonly import('./lane.js').Evaluation[])[]} lanes
 * @returns {'right' | 'still' | ''}
 */
export function endOf(lanes) {
  const isRight = (/** @type {(typeof lanes)[0]} */ lane) => lane.at(-1)?.accuracy === 1;
  if (lanes.every(isRight)) return 'right';
  return lanes.some(isRight) && lanes.every((lane) => isRight(lane) || standsStill(lane))
    ? 'still'
    : '';
}
