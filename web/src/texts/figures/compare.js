/** Text shown in the figure that compares two sentences. */

export const title = 'Compare two sentences';

/** The controls. */
export const other = 'compare with';
export const copy = 'Start from your sentence';
export const stage = 'values';
export const stages = {
  residual: 'row after a layer',
  attention: 'attention output',
  mlp: 'feed-forward output',
  head: 'one head',
};
export const head = 'head';
export const shows = 'colours';
export const showing = { effect: 'effect of patching', distance: 'difference of rows' };
/** @param {number} total */
export const measure = (total) => `Patch each of ${total} rows`;
export const stop = 'Stop';

/** @param {{ yours: number, other: number }} totals */
export const unequal = ({ yours, other }) =>
  `Your sentence has ${yours} tokens, and the other one has ${other} tokens. They are compared position by position, so both need the same number of tokens. Replace a word with a word that has as many tokens.`;
export const same =
  'Both sentences are the same so far. Replace a word in the field above with a word that has as many tokens.';

/** The predictions. */
export const yours = 'after your sentence';
export const others = 'after the other sentence';
/** @param {{ label: string, first: string, second: string }} of */
export const chosen = ({ label, first, second }) =>
  `“${label}” has probability ${first} after your sentence and ${second} after the other one. Its log-probability differs by {value}.`;
export const small =
  'This difference is small, so the map may show large shares for small changes.';
/** @param {number} rows @param {string} time */
export const took = (rows, time) => `Patching ${rows} rows one by one took ${time}.`;
/** @param {number} done @param {number} total */
export const coming = (done, total) =>
  `${done} of ${total} rows so far. Hatched cells have no result yet.`;

/** The map. */
export const layers = { residual: 'after layer', others: 'layer' };
export const embedding = 'embedding';
/** The name of the first column if it is narrow. @param {keyof typeof stages} stage */
export const short = (stage) => (stage === 'residual' ? '0' : '1');
/** @param {{ stage: keyof typeof stages, layer: number, head: number }} at */
export const where = ({ stage, layer, head }) =>
  ({
    residual: layer ? `the row after layer ${layer}` : 'the embedding',
    attention: `the attention output of layer ${layer + 1}`,
    mlp: `the feed-forward output of layer ${layer + 1}`,
    head: `the output of head ${head + 1} in layer ${layer + 1}`,
  })[stage];
/** @param {{ shows: keyof typeof showing, tokens: number, columns: number }} of */
export const label = ({ shows, tokens, columns }) =>
  shows === 'effect'
    ? `Share of the difference that a patch restores, for ${tokens} tokens and ${columns} layers`
    : `Difference between the two sentences, for ${tokens} tokens and ${columns} layers`;
/** @param {string} where */
export const restores = (where) => `{token}: patching ${where} restores {value} of the difference`;
/** @param {string} where */
export const differs = (where) => `{token}: ${where} differs by {value} of its length`;
/** @param {{ value: string, label: string, share: string }} of */
export const patched = ({ value, label, share }) =>
  `With this patch, the log-probability is ${value}, and the most probable next token is “${label}” (${share}).`;
/** @param {string} distance */
export const distance = (distance) =>
  `Between the two sentences, the row differs by ${distance} of its length.`;
export const legend = {
  effect: 'share of the difference that is restored',
  distance: 'length of the difference ÷ length of your row',
};

/** Explains the computation and the limits of what it shows. */
export const done = {
  effect:
    'Each patch replaced one row in the run on the other sentence with the row from your sentence, and everything after it was computed again. 0 means that the log-probability stays the same as after the other sentence, and 1 means that it becomes the same as after your sentence. The map applies only to this pair of sentences. A value near 0 does not show that the model ignores a row, because other rows may carry the same information.',
  distance:
    'The model read both sentences without any patch. A large difference does not show that the prediction depends on it: only patching shows that.',
};
/** @param {{ label: string, token: string, where: string, share: string }} of */
export const summary = ({ label, token, where, share }) =>
  `Of all rows that differ, ${where} at “${token}” matters most for “${label}”: patching it restores ${share} of the difference.`;
/** @param {{ tokens: number }} of */
export const compared = ({ tokens }) => `Two sentences of ${tokens} tokens are compared.`;
export const empty = 'There is no comparison yet.';
