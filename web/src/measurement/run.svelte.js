import { reasonOf } from '../work/errors.js';
import { TaskWorker } from '../work/scheduler.js';
import { measureTask } from '../work/tasks/measure.js';

/** @typedef {import('./workloads.js').Job} Job */

/**
 * Results of a job so far.
 * @typedef {object} Result
 * @property {string} id
 * @property {number} threads  number of threads
 * @property {{ length: number, seconds: number, calls: number }[]} points
 * @property {{ length: number, difference: number } | null} comparison
 * @property {string} failure  why the job ended early
 */

/** @param {Job} job @returns {Result} */
const noResult = ({ id }) => ({ id, threads: 1, points: [], comparison: null, failure: '' });

/** Measures a list of jobs one after another, each in its own worker. */
export class Run {
  /** @type {Result[]} */
  results = $state.raw([]);
  /** The job that is being measured, or null. @type {{ job: Job, length: number } | null} */
  current = $state.raw(null);
  /** Progress from 0 to 1. */
  progress = $state(0);
  /** State of the last run. @type {'none' | 'running' | 'done' | 'stopped'} */
  state = $state('none');

  /** @type {TaskWorker | undefined} */
  #worker;
  /** Number of the current run. Earlier runs check it to detect that they are outdated. */
  #number = 0;

  /** Starts a new measurement and discards earlier results. @param {Job[]} jobs */
  async start(jobs) {
    this.stop();
    const number = ++this.#number;
    this.results = jobs.map(noResult);
    this.progress = 0;
    this.state = 'running';
    for (const [index, job] of jobs.entries()) {
      this.current = { job, length: job.lengths[0] };
      const { variant, threads } = job;
      const worker = new TaskWorker({ ...(variant && { variant }), ...(threads && { threads }) });
      this.#worker = worker;
      try {
        await this.#measure(worker, job, (length) => {
          if (number !== this.#number) return;
          const next = job.lengths.indexOf(length) + 1;
          this.current = { job, length: job.lengths[next] ?? length };
          this.progress = (index + next / job.lengths.length) / jobs.length;
        });
      } catch (error) {
        if (number !== this.#number) return;
        this.#update(job, { failure: reasonOf(error) });
      } finally {
        worker.end();
      }
      if (number !== this.#number) return;
      this.progress = (index + 1) / jobs.length;
    }
    this.state = 'done';
    this.current = null;
  }

  /** Ends a run at once and keeps its results. */
  stop() {
    if (this.state !== 'running') return;
    this.#worker?.end();
    this.#number += 1;
    this.state = 'stopped';
    this.current = null;
  }

  /** @param {Job} job @param {Partial<Result>} changes */
  #update({ id }, changes) {
    this.results = this.results.map((result) =>
      result.id === id ? { ...result, ...changes } : result,
    );
  }

  /**
   * @param {TaskWorker} worker
   * @param {Job} job
   * @param {(length: number) => void} onpoint
   */
  async #measure(worker, job, onpoint) {
    this.#update(job, { threads: await worker.numThreads() });
    /** @type {Result['points']} */
    const points = [];
    const onProgress = (/** @type {import('../work/tasks/measure.js').Report} */ report) => {
      if ('difference' in report) {
        this.#update(job, { comparison: report });
        return;
      }
      points.push(report);
      this.#update(job, { points: [...points] });
      onpoint(report.length);
    };
    await worker.run(measureTask, job, { onProgress });
  }
}
