import { maxAbsDifference } from '../../core/difference.js';
import { defaultPace, isTooLong, timeCall } from '../../measurement/time.js';
import { workloads } from '../../measurement/workloads.js';

/**
 * @typedef {{ length: number, seconds: number, calls: number }
 *   | { length: number, difference: number }} Report
 */

/** Times one kind of work and reports a result for each length. */
export const measureTask = {
  name: /** @type {const} */ ('measure'),
  reads: [],
  /**
   * @param {import('attn').Attn} attn
   * @param {import('../../measurement/workloads.js').Job} job
   * @returns {Generator<Report, void>}
   */
  *run(attn, job) {
    const { prepare, exact } = workloads[job.work](attn, job);
    /** @type {{ length: number, seconds: number }[]} */
    const measured = [];
    for (const length of job.lengths) {
      if (isTooLong(measured, length, job.power, defaultPace)) break;
      const call = prepare(length);
      const { seconds, calls } = timeCall(call, defaultPace);
      measured.push({ length, seconds });
      yield { length, seconds, calls };
      if (exact && length === job.compareAt) {
        yield { length, difference: maxAbsDifference(call(), exact(length)) };
      }
    }
  },
};
