// The baseline for the language model: a 3-gram model of the same tokens, with interpolated
// Kneser-Ney smoothing (Chen and Goodman 1999) and the discount n₁ / (n₁ + 2 n₂).

/** Counts the tokens that follow each context. */
class Follow {
  /** @type {Map<number, Map<number, number>>} by context, then by the token that follows */
  #counts = new Map();

  /**
   * @param {number} context
   * @param {number} token
   * @returns {boolean} true for the first occurrence of the token after this context
   */
  add(context, token) {
    const after = this.#counts.get(context) ?? new Map();
    this.#counts.set(context, after);
    const count = after.get(token) ?? 0;
    after.set(token, count + 1);
    return count === 0;
  }

  /** Computes the sums and the discount. Call it once, after all tokens have been counted. */
  finish() {
    const seen = [0, 0, 0];
    for (const after of this.#counts.values()) {
      for (const count of after.values()) if (count < 3) seen[count]++;
    }
    this.discount = seen[1] / (seen[1] + 2 * seen[2]);
    /** @type {Map<number, number>} */
    this.sums = new Map();
    for (const [context, after] of this.#counts) {
      this.sums.set(
        context,
        [...after.values()].reduce((a, b) => a + b, 0),
      );
    }
    return this;
  }

  /**
   * @param {number} context @param {number} token
   * @param {number} shorter the token's probability given the context without its first token
   */
  probability(context, token, shorter) {
    const sum = this.sums?.get(context);
    if (!sum) return shorter;
    const discount = this.discount ?? 0;
    const after = /** @type {Map<number, number>} */ (this.#counts.get(context));
    const count = Math.max(0, (after.get(token) ?? 0) - discount);
    return (count + discount * after.size * shorter) / sum;
  }
}

/**
 * @param {Uint16Array} training  training tokens
 * @param {Uint16Array} heldOut
 * @param {number} vocabulary  number of distinct tokens
 * @returns {number} the mean cross entropy of the held-out tokens, in nats
 */
export function trigramLoss(training, heldOut, vocabulary) {
  const [three, two, one] = [new Follow(), new Follow(), new Follow()];
  for (let i = 2; i < training.length; i++) {
    const [a, b, c] = training.subarray(i - 2, i + 1);
    // For shorter contexts, count distinct continuations instead of occurrences.
    if (three.add(a * vocabulary + b, c) && two.add(b, c)) one.add(0, c);
  }
  for (const each of [three, two, one]) each.finish();
  let sum = 0;
  for (let i = 2; i < heldOut.length; i++) {
    const [a, b, c] = heldOut.subarray(i - 2, i + 1);
    const single = one.probability(0, c, 1 / vocabulary);
    sum -= Math.log(three.probability(a * vocabulary + b, c, two.probability(b, c, single)));
  }
  return sum / (heldOut.length - 2);
}
