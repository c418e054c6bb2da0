/** Text shown in the figure about the loss in several word orders. */

export const title = 'How much order matters';
/** @param {{ name: string, loss: string }[]} cases */
export const summary = (cases) => cases.map(({ name, loss }) => `${name}: loss ${loss}`).join('; ');
/** Columns of the exported table. */
export const exported = ['order', 'loss'];
export const blind = 'worse than blind guessing';
export const guess = (/** @type {string} */ tokens) => `like guessing among ${tokens}`;
