/** Text shown in the figure that times three kinds of layers. */

export const title = 'Measured in this browser';
export const names = { convolution: 'convolution', recurrence: 'RNN', attention: 'self-attention' };
export const work = 'one layer';
export const growth = 'Measured in this browser, time grows as a power of n.';
/** @param {{ d: number, k: number }} sizes */
export const hint = ({ d, k }) =>
  `A run takes about ten seconds on one thread, in a worker, with d = ${d} and k = ${k}.`;
/** @param {string} name @param {string} why */
export const failed = (name, why) => `${name} could not be measured: ${why}`;
/** @param {{ d: number, k: number }} sizes */
export const measured = ({ d, k }) => `Measured with d = ${d}, k = ${k}.`;
export const outdated = 'The sizes have changed since this run. Run it again.';
