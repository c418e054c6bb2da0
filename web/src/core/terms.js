/**
 * How one number was computed from others.
 * @typedef {object} Term
 * @property {number} index the summation index
 * @property {string} name name of the index
 * @property {number} a
 * @property {number} b
 * @property {number} product
 *
 * @typedef {object} Sum
 * @property {Term[]} terms the listed terms: the largest first, or in their original order if all
 *   terms are listed
 * @property {number} others number of terms that are not listed
 * @property {number} rest sum of the terms that are not listed
 */

/**
 * Computes Σ a[i]·b[i] and lists its terms. If there are more than `most`, lists only the largest.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 * @param {(index: number) => string} name
 * @param {number} most number of terms to list
 * @returns {Sum}
 */
export function sumOfProducts(a, b, name, most) {
  const terms = Array.from(a, (value, i) => ({
    index: i,
    name: name(i),
    a: value,
    b: b[i],
    product: value * b[i],
  }));
  const few = terms.length <= most;
  const ranked = few
    ? terms
    : [...terms].sort((s, t) => Math.abs(t.product) - Math.abs(s.product)).slice(0, most);
  const listed = new Set(ranked.map(({ index }) => index));
  let [others, rest] = [0, 0];
  for (const { index, product } of terms) {
    if (listed.has(index)) continue;
    others += 1;
    rest += product;
  }
  return {
    terms: ranked,
    others,
    rest,
  };
}

/**
 * The terms of a row's softmax. Each has a score, a share, and an exponential relative to the
 * exponential of the row's largest score.
 * @param {ArrayLike<number>} scores −∞ where excluded
 * @param {(index: number) => string} name
 * @param {number} at the index in question, always listed
 * @param {number} most
 * @param {number} [sink] an additional score that takes a share of the weight but has no value
 * vector
 */
export function softmaxTerms(scores, name, at, most, sink = -Infinity) {
  let largest = sink;
  for (let i = 0; i < scores.length; i++) largest = Math.max(largest, scores[i]);
  const exponential = (/** @type {number} */ score) =>
    score === -Infinity ? 0 : Math.exp(score - largest);
  let total = exponential(sink);
  for (let i = 0; i < scores.length; i++) total += exponential(scores[i]);
  const order = Array.from(scores, (_, i) => i)
    .filter((i) => scores[i] > -Infinity || i === at)
    .sort((i, j) => scores[j] - scores[i]);
  const listed = order.slice(0, most);
  if (!listed.includes(at)) listed[listed.length - 1] = at;
  return {
    largest,
    total,
    others: order.length - listed.length,
    terms: listed.map((i) => ({
      index: i,
      name: name(i),
      score: scores[i],
      exponential: exponential(scores[i]),
      share: total > 0 ? exponential(scores[i]) / total : 0,
    })),
  };
}
