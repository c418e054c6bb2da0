/** Text about predictions without and with changes to a model, such as cuts. */

export const now = 'what may come next';
export const follow = (/** @type {string} */ token) => `follow ${token}`;
/** @param {string} when */
export const predictions = (when) => `What may come next, ${when}`;
export const moved = 'how much the prediction after each token changes';
export const divergence = 'Kullback–Leibler divergence ';
/** @param {string} token */
export const ofNext = (token) => `change of the log-probability of ${token}: `;
export const movedSays =
  'The bar and the number below it are the Kullback–Leibler divergence between the two predictions for the next token, in nats. The last number is the change in the log-probability of the token that does come next. A dash means that the prediction is exactly the same.';
export const movedNaN = 'NaN means that one of the two predictions is not a number.';
/** @param {string} when */
export const notNumbers = (when) =>
  `The model’s output ${when} is not a number (NaN or ∞), so it gives no probabilities.`;
export const exported = ['token', 'probability'];
export const exportedMoves = [
  'Kullback–Leibler divergence',
  'change of log-probability of next token',
];
export const cross = '×';

/** The ranking of the places in a model that are changed one by one. */
/** @param {number} done @param {number} total */
export const coming = (done, total) => `${done} of ${total} so far.`;
export const stop = 'Stop';
/** @param {number} total */
export const showAll = (total) => `show all ${total}`;
export const exportedRanking = ['place', 'change of log-probability'];
