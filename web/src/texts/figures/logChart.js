/** The texts of charts of measured times. */

export const chart = 'chart';
export const title = 'Times';
export const time = 'time of one call';
export const nothing = 'Nothing has been measured yet; press Run to start.';
/** @param {string} growth a sentence @param {{ name: string, exponent: string }[]} slopes */
export const summary = (growth, slopes) =>
  `${growth} Exponents: ${slopes.map(({ name, exponent }) => `${name} ${exponent}`).join(', ')}.`;
export const axis = (/** @type {string} */ symbol) => `number of tokens ${symbol}`;
export const label = (/** @type {string} */ work) =>
  `Time of ${work} against the number of tokens, on logarithmic axes`;
export const how = {
  touch: 'Touch a measurement to read it; tap to lock it.',
  point: 'Point at a measurement, or focus the chart and use the arrow keys; click to lock.',
};
export const hint = (/** @type {number} */ points) =>
  `Slopes are fitted to the last ${points} points.`;
