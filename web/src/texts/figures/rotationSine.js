/** Text shown in the figure about a sine without its cosine. */

export const title = 'A sine alone does not know where it is going';
/** @param {string} positions @param {boolean} earlier */
export const later = (positions, earlier) =>
  `${positions} positions ${earlier ? 'before' : 'later'}`;
/** @param {{ pair: number, positions: number }} of */
export const single = ({ pair, positions }) =>
  `Columns ${2 * pair} and ${2 * pair + 1}, ${positions} positions.`;
/** @param {{ pair: number, position: number, twin: number, later: string }} of */
export const summary = ({ pair, position, twin, later }) =>
  `In column ${2 * pair}, positions ${position} and ${twin} have nearly the same sine, but different sines ${later}. Sine and cosine together determine the sine ${later}.`;
/** @param {string} title @param {number} positions */
export const label = (title, positions) => `${title}: ${positions} positions`;
export const y = (/** @type {string} */ later) => `sine, ${later}`;
export const alone = 'from the sine alone: two ways to continue';
export const now = 'sine now';
export const both = 'from sine and cosine: one way to continue';
export const made = 'cos δω · sine now + sin δω · cosine now';
/** @param {{ pair: number, position: number }} of */
export const none = ({ pair, position }) =>
  `Column ${2 * pair}: position ${position} has no twin here. A twin is a position with the same sine now and a different sine later. Choose another position.`;
/** @param {{ pair: number, position: number, twin: number, later: string }} of */
export const twins = ({ pair, position, twin, later }) =>
  `Column ${2 * pair}: at positions ${position} and ${twin} the sine is nearly the same, {now} and {twinNow}. But the sines ${later} differ: {then} and {twinThen}.`;
