// Measures a head's behaviour in a sentence from its weights.

/** @typedef {'previousToken' | 'firstToken' | 'sameToken' | 'induction' | 'place'} Pattern */

/**
 * Shares of a head's attention from 0 to 1; null if no token of the sentence allows the
 * measurement.
 * @typedef {Record<Pattern, number | null>} Shares
 */

/**
 * Index of the first query that counts. Query 0 has no previous token, and for query 1 the previous
 * token is also the first token.
 */
export const firstQuery = 2;

/**
 * For each token, its twins: the other positions at which the same token occurs. If `causal` is
 * true, only earlier positions count.
 * @param {readonly number[]} ids
 * @param {boolean} causal
 * @param {readonly number[]} [keys] the tokens of another text, if the twins are in that text
 * @returns {number[][]}
 */
export const twinsOf = (ids, causal, keys) =>
  ids.map((id, i) => {
    /** @type {number[]} */
    const twins = [];
    const others = keys ?? ids;
    for (let j = 0; j < (causal ? i : others.length); j++) {
      if ((keys || j !== i) && others[j] === id) twins.push(j);
    }
    return twins;
  });

/**
 * Reverses the order of the tokens, except for tokens that are kept in place.
 * @param {readonly number[]} ids
 * @param {(id: number) => boolean} isKept
 */
export function reversed(ids, isKept) {
  const words = ids.filter((id) => !isKept(id));
  return ids.map((id) => (isKept(id) ? id : /** @type {number} */ (words.pop())));
}

/**
 * Measures the shares of a head's attention in a sentence.
 * @param {Float32Array} weights (queries, keys)
 * @param {Float32Array | null} others the same head's weights for the words in reverse order; null
 *   if the keys belong to another text, in which queries have no previous token and no position
 * @param {readonly (readonly number[])[]} twins the other positions of each token, from `twinsOf()`
 * @returns {Shares} means over the queries that attend to at least one key
 */
export function sharesOf(weights, others, twins) {
  const n = weights.length / twins.length;
  const sums = { previousToken: 0, firstToken: 0, sameToken: 0, induction: 0, place: 0 };
  let [queries, again] = [0, 0];
  for (let i = 0; i < twins.length; i++) {
    const row = weights.subarray(i * n, (i + 1) * n);
    if (!row.some((weight) => weight > 0)) continue;
    if (i >= firstQuery) {
      queries += 1;
      sums.firstToken += row[0];
      if (others) {
        sums.previousToken += row[i - 1];
        for (let j = 0; j < n; j++) sums.place += Math.min(row[j], others[i * n + j]);
      }
    }
    if (!twins[i].length) continue;
    again += 1;
    for (const j of twins[i]) {
      sums.sameToken += row[j];
      if (j + 1 < n) sums.induction += row[j + 1];
    }
  }
  const mean = (/** @type {number} */ sum, /** @type {number} */ count) =>
    count ? sum / count : null;
  return {
    previousToken: mean(sums.previousToken, others ? queries : 0),
    firstToken: mean(sums.firstToken, queries),
    sameToken: mean(sums.sameToken, again),
    induction: mean(sums.induction, again),
    place: mean(sums.place, others ? queries : 0),
  };
}

/**
 * Uniform attention, for comparison.
 * @param {number} n
 * @param {boolean} causal
 * @param {number} [keys]
 */
export const even = (n, causal, keys = n) =>
  Float32Array.from({ length: n * keys }, (_, at) => {
    const [i, j] = [Math.floor(at / keys), at % keys];
    return !causal ? 1 / keys : j <= i ? 1 / (i + 1) : 0;
  });
