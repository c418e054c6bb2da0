import * as texts from '../../texts/figures/timings.js';

/** @typedef {import('../../measurement/workloads.js').Job} Job */

export const lengths = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

export const names = /** @type {Record<string, string>} */ (texts.names);

/**
 * The layers of the table, for one sequence on one thread.
 * @param {{ d: number, k: number }} sizes
 * @returns {Job[]}
 */
export const jobsOf = ({ d, k }) => [
  { id: 'convolution', work: 'convolution', threads: 1, shape: { d, k }, lengths, power: 1 },
  { id: 'recurrence', work: 'recurrence', threads: 1, shape: { d }, lengths, power: 1 },
  {
    id: 'attention',
    work: 'attention',
    threads: 1,
    shape: { heads: 1, dim: d },
    lengths,
    power: 2,
  },
];
