/** Text shown in the figure about the next word. */

export const title = 'The next word';
/** @param {string} token @param {{ label: string, share: string }[]} candidates */
export const summary = (token, candidates) =>
  `After “${token}” the model expects ${candidates
    .map(({ label, share }) => `“${label}”, ${share}`)
    .join('; ')}.`;
export const empty = 'No tokens yet.';
export const notNumbers =
  'The model’s output is not a number (NaN or ∞), so no token has a probability.';
/** @param {number} last */
export const notComputed = (last) =>
  `Predictions are computed only after the last ${last} tokens of this text.`;
/** Columns of the exported tables. */
export const exported = ['token', 'probability'];
export const text = 'The text, token by token';
export const first = 'the first token: nothing predicts it';
/** @param {string} share @param {string} weight */
export const token = (share, weight) =>
  `predicted with probability ${share}; attention weight ${weight}`;
export const candidates = 'What may come next';
export const write = (/** @type {string} */ token) => `add ${token}`;
