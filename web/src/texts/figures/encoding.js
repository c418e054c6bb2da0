/** The texts of drawings of a positional encoding. The custom elements contain them, too. */

export const column = 'column';
export const position = 'position i';
export const draw = 'Click to draw a column as a curve';
export const together = 'curves on the same axes';
export const apart = 'curves side by side';
/** The selected number, and the formula of a sinusoidal encoding. */
export const cell = 'position {position}, column {column}: {value}';
export const wave = 'position {position}, column {column}: {formula} = {value}';
/** @param {number} column */
export const drawCurve = (column) => `draw curve ${column}`;
/** @param {number} column */
export const removeCurve = (column) => `remove curve ${column}`;
export const legend = 'encoding';
/** The positions as binary numbers, and a shorter title. */
export const binary = 'in binary';
export const bits = 'bits';
/** @param {{ first: number, last: number, bits: number }} of */
export const counter = ({ first, last, bits }) =>
  `Positions ${first} to ${last} as binary numbers of ${bits} bits`;
export const none =
  'To draw a column as a curve, press above it in the heatmap, or lock one of its cells.';
/** @param {number} column */
export const removeOf = (column) => `Remove the curve of column ${column}`;
/** @param {number[]} columns */
export const curves = (columns) => `Curves of columns ${columns.join(', ')} over the position`;
export const wavelength = 'λ: wavelength in positions';
export const chart = 'chart';
/** @param {number} column */
export const columnOf = (column) => `column ${column}`;
/** How to select a point of a curve. */
export const how = {
  touch: 'Touch a curve to read it; tap to lock it.',
  point: 'Point at a curve, or focus the chart and use the arrow keys; click to lock.',
};

/** Text shown in the page's figure. */

export const title = 'Every position has its own row';
/**
 * @param {{ rows: number, first: string, last: string, columns: number, base: string, curves:
 *   number[], position: string }} of
 */
export const summary = ({ rows, first, last, columns, base, curves, position }) =>
  `Sinusoidal encoding of ${rows} positions from ${first} to ${last} in ${columns} columns, base ${base}: as colours, as binary numbers, as curves of columns ${curves.join(', ') || 'none'}, and as clock hands of position ${position}.`;
/** @param {number} rows @param {number} columns */
export const label = (rows, columns) =>
  `Sinusoidal encoding, ${rows} positions by ${columns} columns`;
export const hands =
  'The clock hands of position {position}: each pair of columns gives the tip of a hand that makes one turn in λ positions.';
export const turn = 'Let time pass';
export const stop = 'Stop';
/** @param {number} pairs @param {number} position */
export const clocks = (pairs, position) =>
  `Clock hands of ${pairs} pairs of columns at position ${position}`;
