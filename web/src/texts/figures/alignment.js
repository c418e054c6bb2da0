/** Text shown in the figure about the alignment of two sentences. */

/** @param {string} setBy how the parameters were set; may be empty */
export const title = (setBy) =>
  setBy ? `Alignment by additive attention, ${setBy}` : 'Alignment by additive attention';
export const empty = 'One of the sentences is empty.';
/** @param {{ targets: number, sources: number, strongest: { word: string, other: string, weight: string }[] }} of */
export const summary = ({ targets, sources, strongest }) =>
  `Alignment of ${targets} words with ${sources} words. The largest weights: ${strongest
    .map(({ word, other, weight }) => `${word} with ${other}, ${weight}`)
    .join('; ')}.`;
/** @param {number} targets @param {number} sources */
export const label = (targets, sources) =>
  `Alignment, ${targets} words of the target by ${sources} words of the source`;
export const nothing = 'An alignment needs two sentences. Type a word or two in each.';
export const hint = 'Each row shows what one word of the written sentence attends to.';
export const attends = '{query} attends to {key} with weight {value}';
export const scored = '{query} attends to {key} with weight {value}, score {score}';
export const weight = 'attention weight';
