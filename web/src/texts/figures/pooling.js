/** Text shown in the figure in which points are pooled by their keys. */

export const title = 'Attention draws a curve through points';
/** @param {{ points: number, queries: number, name: string, error: string, average: string }} of */
export const summary = ({ points, queries, name, error, average }) =>
  `${points} points pooled for ${queries} queries by the scoring function ${name}: the root mean square error is ${error}. With a plain average of all points it is ${average}.`;
/** Columns of the exported tables. */
export const exported = { pooled: ['query', 'pooled', 'true'], points: ['key', 'value'] };
export const query = 'query q';
export const key = 'key k, sorted';
/** @param {number} queries @param {number} keys */
export const label = (queries, keys) => `Attention weights of ${queries} queries by ${keys} keys`;
export const weights = 'attention weights';
export const hint = 'Drag a point, or Tab to it and use the arrow keys.';
export const cell =
  'q = {q} gives k = {k} (where y = {y}) the weight {value}. The pooled value is {pooled}; the true value is {truth}';
export const weight = 'attention weight';
/** Labels of the small panels. */
export const scoring = 'scoring function';
export const error = (/** @type {string} */ error) => `error ${error}`;
export const errorTitle = 'root mean square of the difference from the true function';
export const logarithmic = 'attention weights, all on the same logarithmic scale';
/** Labels of the large plot. */
export const plot = 'Training points, true function and pooled curve';
export const x = 'x: keys and query';
export const y = 'y: values';
export const movable = 'movable point';
/** @param {{ index: number, points: number, x: number, y: number }} point */
export const point = ({ index, points, x, y }) =>
  `Point ${index + 1} of ${points} at x ${x}, y ${y}. Arrow keys move it, Page Down and Page Up go to its neighbours.`;
export const pooled = 'pooled';
export const truth = 'true function 2 sin x + x';
export const aPoint = 'a point';
/** Continues `aPoint` on the page, but not in exported pictures. */
export const drag = ': drag it';

/** The scoring functions, with a note on most of them. */
export const scoringTexts = {
  gaussian: {
    name: 'Gaussian',
    note: 'The minus sign gives near keys the largest scores. Here σ is the width of the bell, its standard deviation. The smaller it is, the more closely the curve follows the points, noise included.',
  },
  scaledDot: { name: 'scaled dot product', note: '' },
  additive: { name: 'additive', note: '' },
  average: {
    name: 'average',
    note: 'All keys have the same weight for every query: pooling without attention.',
  },
  hard: {
    name: 'hard',
    note: 'The best key, the nearest neighbour, gets all the weight, whatever σ is.',
  },
  boxcar: {
    name: 'boxcar',
    note: 'All keys within the distance σ count the same. If there are none, all weights are zero.',
  },
  epanechnikov: {
    name: 'Epanechnikov',
    note: 'The weight falls linearly to zero at σ. (D2L calls this shape Epanechnikov; statisticians call it triangular.)',
  },
};

/** Notes on scoring functions that have two forms. */
export const formTexts = {
  encodings: (/** @type {number} */ width) =>
    `Queries and keys are vectors p(x/σ) of ${width} numbers each: the waves that chapter 4 explains. All have the same length, so the dot product is large where they point in the same direction, that is, where q is near k.`,
  numbers:
    'The dot product of two plain numbers is q·k, which is not a distance. For every q above 0, the largest key gets the most attention, however far it is from q. Vectors of about the same length avoid this.',
  byHand:
    'A small network compares q with k. The numbers in it are set by hand, so that it answers with a bump of width σ around q = k. Training would have to find such numbers.',
  /** @param {number} units @param {number} seed */
  random: (units, seed) =>
    `A small network with ${units} hidden units compares q with k. Its numbers are random (Xavier, seed ${seed}), so before training its attention is arbitrary.`,
};
