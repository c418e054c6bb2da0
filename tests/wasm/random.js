/** @import { Tensor } from 'attn' */

const kSeed = Number(process.env.ATTN_TEST_SEED || 20170612);
console.log(`ATTN_TEST_SEED=${kSeed}`);

/** A stream of uniform numbers (Mulberry32) that is the same in every run with the same seed. */
export class Random {
  #state;

  /** @param {number} [stream] */
  constructor(stream = 0) {
    this.#state = (kSeed + stream * 0x9e3779b9) >>> 0;
  }

  /** A number from [low, high). */
  uniform(low = -1, high = 1) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return low + (high - low) * (((z ^ (z >>> 14)) >>> 0) / 2 ** 32);
  }

  /**
   * A whole number from 0 to count − 1.
   * @param {number} count
   */
  below(count) {
    return Math.floor(this.uniform(0, count));
  }

  /**
   * @param {number[]} shape
   * @returns {Tensor}
   */
  tensor(...shape) {
    const length = shape.reduce((product, size) => product * size, 1);
    return { data: Float32Array.from({ length }, () => this.uniform()), shape };
  }

  /** @param {number} count */
  permutation(count) {
    const order = Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; --i) {
      const j = this.below(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}
