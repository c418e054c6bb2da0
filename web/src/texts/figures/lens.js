/** Text shown in the figure of predictions after each layer. */

export const title = 'After each layer';
export const layers = 'after layer';
export const embedding = 'embedding';
/** @param {number} layer 0 for the embedding */
export const after = (layer) => (layer ? `after layer ${layer}` : 'after the embedding');
/** @param {{ tokens: number, layers: number }} of */
export const label = ({ tokens, layers }) =>
  `The most probable next token for ${tokens} tokens, after the embedding and after each of ${layers} layers`;
/** @param {string} when */
export const cell = (when) =>
  `{token}: ${when}, the most probable next token is “{first}” with probability {value}.`;
/** @param {string} when */
export const cellUnknown = (when) => `{token}: ${when}, the model’s output is not a number.`;
/** Stands for a token if the model’s output is not a number. */
export const unknown = { id: -1, label: 'NaN', probability: NaN };
export const notNumbers =
  'In cells with NaN, the model’s output is not a number (NaN or ∞), so no token has a probability.';
/** @param {{ label: string, share: string }[]} others */
export const others = (others) =>
  `Then come ${others.map(({ label, share }) => `“${label}” (${share})`).join(' and ')}.`;
/** What was done, and what does not follow from it. */
export const done =
  'The last normalisation and the output layer were trained only for the row after the last layer. If a token does not appear after an earlier layer, that row may still contain it in a form that only later layers can read.';
/** @param {{ token: string, label: string, share: string, since: string }} of */
export const summary = ({ token, label, share, since }) =>
  `After “${token}”, the most probable next token is “${label}”, with probability ${share}. It has been the most probable token since the row ${since}.`;
export const empty = 'No tokens yet.';
export const legend = 'probability';
/** @param {number} drawn @param {number} all */
export const drawn = (drawn, all) =>
  drawn === 1
    ? `Only the last of ${all} tokens is drawn.`
    : `The last ${drawn} of ${all} tokens are drawn.`;
