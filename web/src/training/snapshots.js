/** @typedef {Record<string, import('attn').Tensor>} Weights */

/**
 * Initial spacing of snapshots in steps, and the largest number of snapshots. A snapshot has 0.3 to
 * 0.7 MB.
 */
const [firstEvery, most] = [5, 48];

/**
 * Weights of earlier, evenly spaced steps. If there are too many snapshots, every other snapshot is
 * removed, so that memory stays bounded however long a run is.
 */
export class Snapshots {
  #every = firstEvery;
  /** @type {{ step: number, weights: Weights }[]} */
  #kept = [];

  /**
   * Keeps the weights after a step if the step is a multiple of the current spacing.
   * @param {number} step
   * @param {() => Weights} weights
   */
  offer(step, weights) {
    if (step % this.#every !== 0) return;
    this.#kept.push({ step, weights: weights() });
    if (this.#kept.length <= most) return;
    this.#every *= 2;
    this.#kept = this.#kept.filter((each) => each.step % this.#every === 0);
  }

  /**
   * Keeps the weights for a step. Removes the snapshots of this step and of all later steps.
   * @param {number} step
   * @param {Weights} weights
   */
  replace(step, weights) {
    this.#kept = [...this.#kept.filter((each) => each.step < step), { step, weights }];
  }

  get first() {
    return this.#kept[0];
  }

  /** The last snapshot up to a step. @param {number} step */
  at(step) {
    return this.#kept.findLast((each) => each.step <= step);
  }
}
