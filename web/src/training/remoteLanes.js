import { TaskWorker } from '../work/scheduler.js';
import { trainTask } from '../work/tasks/train.js';

/** @typedef {import('./lane.js').Lane} Lane */

/** The methods of a model that is trained in a worker. */
/** @typedef {{ [Name in keyof Lane]: (...args: Parameters<Lane[Name]>) =>
 *   Promise<ReturnType<Lane[Name]>> }} RemoteLane */

/**
 * Starts models, each in a separate worker. Training always uses the SIMD128 build, so that a run
 * is bit-identical in every browser.
 */
export class RemoteLanes {
  #workers;

  /** @param {number} count number of models */
  constructor(count) {
    this.#workers = Array.from(
      { length: count },
      () => new TaskWorker({ variant: 'simd128', threads: 1, training: true }),
    );
  }

  /**
   * @param {import('./model.js').LaneOptions[]} options options of each model
   * @param {Uint8Array[]} [checkpoints] a checkpoint of each model
   */
  async start(options, checkpoints) {
    const lanes = /** @type {RemoteLane[]} */ (
      /** @type {unknown} */ (
        await Promise.all(this.#workers.map((worker, i) => worker.run(trainTask, options[i])))
      )
    );
    if (checkpoints) await Promise.all(lanes.map((lane, i) => lane.restore(checkpoints[i])));
    return lanes;
  }

  /** Ends the workers, and all models with them. */
  end() {
    for (const worker of this.#workers) worker.end();
  }
}
