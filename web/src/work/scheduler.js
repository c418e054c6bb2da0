// Runs the page's computations in workers. The modules in `tasks` define them.

import { connect } from 'attn/worker/connect';

import { host } from '../host/host.js';
import { fetchedTask } from './tasks/fetched.js';
import { holdTask } from './tasks/hold.js';

/** @typedef {import('attn/worker').RemoteAttn<any>} Remote */

/**
 * A worker for tasks. It starts with the first task, and restarts after the browser or `end` has
 * ended it.
 */
export class TaskWorker {
  #options;
  /** @type {Promise<Remote> | undefined} */
  #starting;
  /**
   * The worker that `#starting` belongs to.
   * @type {{ isReady: boolean } | undefined} isReady: true once `#first` is done
   */
  #current;
  /** Tasks that each worker runs first. @type {((remote: Remote) => Promise<unknown>)[]} */
  #first = [];

  /**
   * @param {Pick<import('attn').LoadOptions, 'variant' | 'threads' | 'training' | 'models'>}
   *   options options of the module in the worker
   */
  constructor(options) {
    this.#options = options;
  }

  /**
   * @template Given, Progress, Result
   * @param {import('./tasks/task.js').Task<string, Given, Progress, Result>} task
   * @param {Given} given
   * @param {{ signal?: AbortSignal, onProgress?: (value: Progress) => void }} [options]
   * @returns {Promise<Result>} the result of the task; fails with code
   *   `load_failed` if no worker can start
   */
  async run({ name }, given, options = {}) {
    const remote = await this.#started();
    return /** @type {any} */ (remote.with(options)).run(name, given);
  }

  /**
   * Runs a task before all other tasks, in this worker and in every worker that replaces it.
   * @template Given
   * @param {import('./tasks/task.js').Task<string, Given, any, any>} task
   * @param {Given} given
   */
  first({ name }, given) {
    const run = this.again({ name }, given);
    // A worker that is still starting runs these tasks without being asked.
    if (!this.#current?.isReady) return;
    this.#starting = this.#starting?.then(async (remote) => {
      await run(remote);
      return remote;
    });
  }

  /**
   * Runs a task in each worker started from now on, before any other task.
   * @param {{ name: string }} task
   * @param {unknown} given
   */
  again({ name }, given) {
    const run = (/** @type {Remote} */ remote) => remote.run(/** @type {any} */ (name), given);
    this.#first.push(run);
    return run;
  }

  /** Number of threads that share the worker's work. */
  async numThreads() {
    return (await this.#started()).numThreads;
  }

  /** Ends the worker immediately. Pending tasks fail. */
  end() {
    const starting = this.#starting;
    this.#starting = this.#current = undefined;
    starting?.then(
      (remote) => remote.terminate(),
      () => {},
    );
  }

  #started() {
    return (this.#starting ??= this.#start().catch((cause) => {
      throw Object.assign(new Error(cause.message, { cause }), { code: 'load_failed' });
    }));
  }

  async #start() {
    /** @type {{ isReady: boolean }} */
    const current = { isReady: false };
    this.#current = current;
    const [worker, options] = await Promise.all([host.startWorker(), host.module(this.#options)]);
    /** @type {Remote} */
    const remote = await connect(worker, options);
    void this.#watch(remote, current).catch(() => {});
    void remote.run(fetchedTask.name).then(
      (urls) => host.keepFiles(/** @type {any} */ (urls)),
      () => {},
    );
    for (const run of this.#first) await run(remote);
    current.isReady = true;
    return remote;
  }

  /**
   * Detects when the browser has terminated the worker. The worker holds a lock, which is released
   * when the worker dies. There is no other signal. Pages without a secure context have no locks
   * and cannot detect this.
   * @param {Remote} remote
   * @param {{ isReady: boolean }} current
   */
  async #watch(remote, current) {
    if (!navigator.locks) return;
    const lock = crypto.randomUUID();
    await remote.run(holdTask.name, lock);
    await navigator.locks.request(lock, () => {
      // After `end()` another worker may have been started.
      if (current === this.#current) this.#starting = this.#current = undefined;
      remote.terminate();
    });
  }
}
