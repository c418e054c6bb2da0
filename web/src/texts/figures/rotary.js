/** Text shown in the figure about rotary positions. */

export const title = 'A query and a key, turned';
/** @param {{ query: string, key: string, at: [string, string], score: string, spread: string }} of */
export const summary = ({ query, key, at, score, spread }) =>
  `“${query}” at position ${at[0]} and “${key}” at position ${at[1]}: score ${score}. At the same distance, scores differ by at most ${spread}.`;
export const cell =
  '{query} at position {row}, {key} at position {column}, distance {distance}: {value}';
export const score = 'score';
/** @param {string} query position of the query @param {string} key */
export const who = (query, key) =>
  `query {query} at position ${query}, key {key} at position ${key}`;
/** @param {number[]} angles angles in degrees */
export const clocks = (angles) =>
  `${angles.length} clocks with two hands each: ${angles
    .map((angle) => `${angle.toFixed(0)} degrees`)
    .join(', ')} from key to query`;
export const sum = (/** @type {string} */ parts) => `score: ${parts} ≈ {score}`;
export const under =
  'Below each clock are its two columns, the angle from the key’s hand to the query’s hand, the part of the score from these columns (both lengths times the cosine of the angle), and λ, the number of positions in one turn.';
export const ofQuery = 'position of the query';
export const ofKey = 'position of the key';
/** @param {number} rows @param {number} columns */
export const label = (rows, columns) =>
  `Scores of a query and a key, ${rows} positions by ${columns}`;
export const all = 'scores at all positions';
export const diagonal =
  'Along a diagonal the distance is constant, and scores differ by at most {spread}, the rounding error of 32-bit floats.';
