/** Text shown in the figure about the similarity of positions. */

export const title = 'How similar two positions are';
/** @param {number} positions @param {string} self */
export const summary = (positions, self) =>
  `The dot products of ${positions} positions with each other: ${self} for each position with itself. They are constant along each diagonal, because they depend only on the distance.`;
export const cell = 'positions {i} and {k}, {distance} apart: {value}';
export const product = 'dot product';
export const i = 'position i';
export const k = 'position k';
export const label = (/** @type {number} */ positions) =>
  `Dot products of ${positions} positions with each other`;
export const profileLabel = (/** @type {string} */ position) =>
  `Dot products of position ${position} with all positions`;
export const profile = (/** @type {string} */ position) =>
  `dot products of position ${position} with position k`;
