/** Text shown in the figure of contributions to a logit. */

export const title = 'What each part adds to a score';
/** @param {import('../../core/contributions.js').Part} part */
export const part = ({ kind, layer, head }) =>
  ({
    embedding: 'embedding',
    head: `layer ${layer + 1}, head ${head + 1}`,
    feedForward: `layer ${layer + 1}, feed-forward`,
    bias: 'biases',
    others: 'all other parts',
  })[kind];
export const parts = 'Contributions to the score, by part';
/** @param {{ layer: number, head: number }} at */
export const look = ({ layer, head }) => `show layer ${layer + 1}, head ${head + 1}`;
export const token = 'next token';
/** @param {{ label: string, total: string }} of */
export const chosen = ({ label, total }) =>
  `The score of “${label}” after the last token is ${total}. The bars add up to it.`;
/** What was done, and what does not follow from it. */
export const done =
  'The scale of the last normalisation was kept at its value for this row, so that the bars add up. A bar does not say what would happen without the part, because later layers also read what it adds. And a part that raises the scores of all tokens alike changes no probability.';
/** @param {{ label: string, largest: string, value: string, total: string }} of */
export const summary = ({ label, largest, value, total }) =>
  `The score of “${label}” is ${total}. The largest part is ${largest}, with ${value}.`;
export const notNumbers =
  'The model’s output is not a number (NaN or ∞), so the score cannot be split.';
export const empty = 'No tokens yet.';
export const exported = ['part', 'contribution'];
