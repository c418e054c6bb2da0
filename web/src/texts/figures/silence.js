/** Text shown in the figure in which parts of a language model are silenced. */

export const title = 'Which heads matter here?';
/** @param {import('../../core/silence.js').Part} part */
export const part = ({ layer, part }) =>
  part === 'layer'
    ? `all of layer ${layer + 1}`
    : `layer ${layer + 1}, ${part === 'mlp' ? 'feed-forward' : `head ${part + 1}`}`;
export const ranked = 'Changes in the log-probability, by part';
/** @param {import('../../core/silence.js').Part} at */
export const look = (at) => `show ${part(at)}`;

/** The switches. */
export const switches = 'Switches that silence parts of the model';
export const head = 'head';
export const mlp = 'feed-fwd';
export const layer = 'all';
/** @param {number} layer */
export const row = (layer) => `layer ${layer + 1}`;
/** @param {{ part: string, change: string }} of */
export const switchSays = ({ part, change }) =>
  change ? `silence ${part}: ${change}` : `silence ${part}`;
export const off = '×';
export const silenced = 'Silenced parts';
export const undo = 'Switch on again:';
export const undoAll = 'Switch all parts on again';

/**
 * @param {{ parts: string, how: import('../../core/silence.js').Replacement, label: string,
 *   before: string, after: string }} of
 */
export const effect = ({ parts, how, label, before, after }) =>
  `Silenced parts give ${replacements[how]}: ${parts}. “${label}” now has probability ${after} instead of ${before}. The picture shows the model with all its parts.`;
export const toFigure = 'What else changes';
/** Switches for the parts of the layer that a figure shows. */
export const silenceLayer = {
  mlp: 'silence the feed-forward network',
  layer: 'silence the whole layer',
};

/** The predictions. */
export const before = 'with all parts';
export const after = 'with silenced parts';
/** @param {{ label: string, before: string, after: string }} of */
export const changed = ({ label, before, after }) =>
  `“${label}” had probability ${before}, and has ${after} with silenced parts. Its log-probability changes by {value}.`;
/** @param {{ label: string, before: string }} of */
export const unchanged = ({ label, before }) =>
  `“${label}” has probability ${before}. Nothing is silenced yet: press a switch.`;

/** @param {{ label: string, share: string }} of */
export const chosen = ({ label, share }) =>
  `“${label}” has probability ${share}. The bars and the colours of the switches show how its log-probability changes when one head, or one feed-forward network, is silenced while everything else works. The largest change comes first.`;
/** @param {number} parts @param {string} time */
export const took = (parts, time) => `Silencing ${parts} parts one by one took ${time}.`;
/** @param {number} total */
export const measure = (total) => `Silence each of ${total} parts`;
/** What silencing does, and what does not follow from the result. */
export const done = {
  zero: 'A silenced part gives only zeros. The model never met such zeros in training, so these unusual zeros may cause some of the change.',
  mean: 'A silenced part gives the same numbers at every token: the mean of its output over all tokens that the model reads. It keeps what all tokens have in common, and loses only the differences between them. The mean includes later tokens, so it can also change the predictions after earlier ones.',
};
export const others =
  'The changes do not add up, because later parts react to the missing output. A part that changes little here may matter for other words.';
/** @param {{ label: string, largest: string, change: string }} of */
export const summary = ({ label, largest, change }) =>
  `Silencing ${largest} changes the log-probability of “${label}” most, by ${change}.`;
export const empty = 'No part has been silenced yet.';
export const replacement = 'silenced parts give';
export const replacements = { zero: 'zeros', mean: 'their mean' };
