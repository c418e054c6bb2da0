/** @typedef {import('../../core/edit.js').Projection} Projection */

/** Names of the projections. @type {Record<Projection, string>} */
export const projectionNames = { q: 'query', k: 'key', v: 'value', o: 'output' };

/** Text shown in the figure in which readers change one number of a projection. */

export const title = 'Change one number of a projection';
/** @param {{ which: Projection, row: number, column: number, from: string, to: string, head: number, weights: string, output: string }} of */
export const summary = ({ which, row, column, from, to, head, weights, output }) =>
  `Changing the number in row ${row}, column ${column} of the ${projectionNames[which]} projection from ${from} to ${to} changes the attention weights of head ${head + 1} by at most ${weights}, and the outputs by at most ${output}.`;
export const hint = 'Choose a number in the projection to change it.';
export const weight = 'The weight that {query} gives to {key} changes by {value}';
export const output = '{token}, column {column}, changes by {value}';
export const cell = 'row {row}, column {column}: {value}';
export const weights = 'change of attention weights';
export const outputs = 'change of output';
/** @param {Projection} which @param {number} rows @param {number} columns */
export const matrixLabel = (which, rows, columns) =>
  `Numbers of the ${projectionNames[which]} projection, ${rows} by ${columns}`;
/** @param {Projection} which @param {string} part describes the part that is shown; may be empty */
export const projection = (which, part) => `${projectionNames[which]} projection${part}`;
/** @param {number} head @param {number} rows @param {number} columns */
export const weightsLabel = (head, rows, columns) =>
  `Change of the attention weights of head ${head + 1}, ${rows} by ${columns}`;
export const ofWeights = (/** @type {number} */ head) =>
  `change of the attention weights, head ${head + 1}`;
/** @param {number} rows @param {number} columns */
export const outputLabel = (rows, columns) => `Change of the output, ${rows} by ${columns}`;
export const ofOutput = 'change of the output';
export const most = 'at most {largest}';
