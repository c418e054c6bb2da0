/** Text shown in the figure in which parts of a language model are silenced. */

export const title = 'Which heads matter here?';
/** @param {{ layer: number, head: number | null }} part */
export const part = ({ layer, head }) =>
  head === null ? `layer ${layer + 1}, feed-forward` : `layer ${layer + 1}, head ${head + 1}`;
export const parts = 'Changes in the log-probability, by part';
/** @param {{ layer: number, head: number | null }} at */
export const look = (at) => `show ${part(at)}`;
/** @param {{ label: string, share: string }} of */
export const chosen = ({ label, share }) =>
  `“${label}” has probability ${share}. The bars show how its log-probability changes when one head, or one feed-forward network, is silenced. The largest change comes first.`;
/** What silencing does, and what does not follow from the result. */
export const done = {
  zero: 'A silenced part gives only zeros. The model never met such zeros in training, so these unusual zeros may cause some of the change.',
  mean: 'A silenced part gives the same numbers at every token: the mean of its output over all tokens that the model reads. It keeps what all tokens have in common, and loses only the differences between them.',
};
export const others =
  'The changes do not add up, because later parts react to the missing output. A part that changes little here may matter for other words.';
/** @param {{ label: string, largest: string, change: string }} of */
export const summary = ({ label, largest, change }) =>
  `Silencing ${largest} changes the log-probability of “${label}” most, by ${change}.`;
export const empty = 'No tokens yet.';
export const replacement = 'silenced parts give';
export const replacements = { zero: 'zeros', mean: 'its mean' };
export const exported = ['part', 'change of log-probability'];
