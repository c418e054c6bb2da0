/** Text shown in the figure that shows a shift as a rotation. */

export const title = 'A fixed distance is a fixed rotation';
/** @param {{ positions: number, delta: string, largest: string }} of */
export const summary = ({ positions, delta, largest }) =>
  `Turning the encoding of ${positions} positions by M for δ = ${delta} gives the encoding ${delta} positions further on. The largest difference is ${largest}.`;
export const cell = 'position {row}, column {column}: encoded {encoded}, turned {sum}';
export const matrixCell = '{M}, row {row}, column {column}: {value}';
export const matrix = 'encoding, M';
export const difference = 'difference';
/** @param {number} positions @param {number} columns */
export const largest = (positions, columns) =>
  `Largest difference between {shifted} and {turned} (${positions} positions, ${columns} columns): {largest}, a rounding error`;
/** @param {number} rows @param {number} columns */
export const matrixLabel = (rows, columns) => `The matrix M, ${rows} by ${columns}`;
export const encodedThere = 'encoded there';
export const turnedThere = 'turned there';
/** The text below the clocks. */
export const under =
  'The grey hand shows position i, and the other hand shows position i\u00a0+\u00a0δ. Below each clock are the four numbers that turn its hand. They are a block on the diagonal of M_{δ}, in the rows and columns given below them. Then follow the angle and the wavelength λ.';
/** Below the other clocks. */
export const sign =
  'Hands turn clockwise and sines come first, so the minus sign is in the second row.';
export const blocks = 'one block for each clock';
/** @param {boolean} clocks whether there are more clocks */
export const more = (clocks) =>
  clocks
    ? 'The other clocks, and the difference between the two maps'
    : 'The difference between the two maps';
export const theirDifference = 'their difference';
/** @type {Record<'shifted' | 'turned' | 'difference', (rows: number, columns: number) => string>} */
export const labels = {
  shifted: (rows, columns) =>
    `Encoding of later positions, ${rows} positions by ${columns} columns`,
  turned: (rows, columns) => `Turned encoding, ${rows} positions by ${columns} columns`,
  difference: (rows, columns) => `Difference, ${rows} positions by ${columns} columns`,
};
