/** Text shown in the figure in which readers cut arcs. */

export const title = 'Cut an arc';
/** How to cut, by touch and otherwise. */
export const how = {
  touch: 'Tap an arc or a cell to cut it. Tap it again to undo the cut.',
  point:
    'Click an arc or a cell, or press Enter on a cell, to cut it. Do the same again to undo the cut.',
};
/** @param {{ layer: number, head: number, tokens: number }} of */
export const label = ({ layer, head, tokens }) =>
  `Attention weights of head ${head + 1} in layer ${layer + 1}, ${tokens} queries by ${tokens} keys`;
export const attends = '{query} looks at {key} with weight {value}';
export const cut = '{query} may not look at {key}: the arc is cut';
export const later = '{query} may not look at {key}, which comes later';
export const before = 'without cuts';
export const after = 'with the cuts';
/** @param {{ label: string, before: string, after: string }} of */
export const changed = ({ label, before, after }) =>
  `“${label}” had probability ${before}, and has ${after} with the cuts. Its log-probability changes by {value}.`;
/** @param {{ label: string, before: string }} of */
export const unchanged = ({ label, before }) =>
  `“${label}” has probability ${before}. Nothing is cut yet.`;
/** What a cut does, and what does not follow from the result. */
export const done =
  'The other weights of the row were scaled up so that they add up to 1, and everything after them was computed again. A large change shows that this prediction used the arc. A small change does not show that the model ignores the word: other arcs may carry the same information.';
export const cuts = 'Cuts';
/** @param {{ layer: number | null, head: number | null }} at */
export const where = ({ layer, head }) => {
  if (layer === null) return 'everywhere';
  return head === null ? `layer ${layer + 1}` : `layer ${layer + 1}, head ${head + 1}`;
};
export const undo = 'Undo the cut';
export const undoAll = 'Undo all cuts';
export const empty = 'No tokens yet.';
/** @param {{ cuts: number, token: string, before: string, after: string }} of */
export const summary = ({ cuts, token, before, after }) =>
  cuts
    ? `With ${cuts === 1 ? '1 cut' : `${cuts} cuts`}, the probability of “${token}” goes from ${before} to ${after}.`
    : `The probability of “${token}” is ${before}. Nothing is cut.`;
/** The controls. */
export const layer = 'layer';
export const head = 'head';
export const scope = 'cut in';
export const scopes = { head: 'this head', layer: 'this layer', all: 'everywhere' };
export const legend = 'attention weight';
/** @param {number} most @param {number} all */
export const last = (most, all) => `The model reads the last ${most} of ${all} tokens here.`;

/** The ranking of earlier words. */
export const words = 'which earlier word does the prediction depend on?';
export const ranked = 'Changes in the log-probability, by hidden word';
/** @param {{ token: string, key: number }} of */
export const word = ({ token, key }) => `${token}, position ${key}`;
/** @param {string} word */
export const hide = (word) => `cut every arc to ${word}`;
/** @param {{ label: string, share: string }} of */
export const chosen = ({ label, share }) =>
  `“${label}” has probability ${share} if nothing is cut. Each bar hides one word from all later words, in every head of every layer, and shows how the log-probability changes. The largest change comes first. Choose a word to hide it.`;
/** @param {number} words @param {string} time */
export const took = (words, time) => `Hiding ${words} words one by one took ${time}.`;
/** @param {number} total */
export const measure = (total) => `Hide each of ${total} earlier words`;
