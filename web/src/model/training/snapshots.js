/** @typedef {Record<string, import('attn').Tensor>} Weights */

/** Spacing of the first ones, in steps, and how many there are at the most: 48 of 0.3 to 0.7 MB each. */
const [firstEvery, most] = [5, 48];

/**
 * Weights of earlier steps, evenly spaced. When there are too many, every other one goes: memory stays
 * bounded, however long a run is.
 */
export class Snapshots {
  #every = firstEvery;
  /** @type {{ step: number, weights: Weights }[]} */
  #kept = [];

  /**
   * Keeps the weights after a step, if it is one of those that are kept.
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
   * Keeps other weights of a step: whatever was kept of it and after it goes.
   * @param {number} step
   * @param {Weights} weights
   */
  replace(step, weights) {
    this.#kept = [...this.#kept.filter((each) => each.step < step), { step, weights }];
  }

  get first() {
    return this.#kept[0];
  }

  /** The last one that is not after a step. @param {number} step */
  at(step) {
    return this.#kept.findLast((each) => each.step <= step);
  }
}
