/** @typedef {Record<string, import('attn').Tensor>} Weights */

/** Initial spacing in steps, and the largest number of snapshots: 48 of 0.3 to 0.7 MB each. */
const [firstEvery, most] = [5, 48];

/**
 * Weights of earlier, evenly spaced steps. When there are too many, every other one is removed, so
 * that memory stays bounded however long a run is.
 */
export class Snapshots {
  #every = firstEvery;
  /** @type {{ step: number, weights: Weights }[]} */
  #kept = [];

  /**
   * Keeps the weights after a step, if the spacing includes it.
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
   * Replaces the weights of a step. Removes everything kept for this step and later ones.
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
