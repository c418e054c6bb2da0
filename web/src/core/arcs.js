/**
 * @typedef {object} Arc
 * @property {number} query
 * @property {number} key
 * @property {number} weight
 */

/** Largest number of lines to draw. */
export const mostLines = 600;

/**
 * The strongest connections of a head, in ascending order of weight, so that the strongest is drawn
 * on top. A weight that is not a number has no arc.
 * @param {import('../drawing/matrix.js').Matrix} weights (n, n)
 * @param {number | null} query restricts the result to this query's connections; null for all
 * @param {number} most
 * @returns {Arc[]}
 */
export function strongestArcs({ data, columns }, query, most) {
  let largest = 0;
  const [begin, end] = query === null ? [0, data.length] : [query * columns, (query + 1) * columns];
  for (let i = begin; i < end; i++) if (data[i] > largest) largest = data[i];
  if (largest === 0) return [];
  // Use a histogram to find the smallest weight to draw. A histogram is faster than sorting all
  // weights.
  const bins = new Uint32Array(256);
  const bin = (/** @type {number} */ weight) => Math.min(255, Math.floor((weight / largest) * 256));
  for (let i = begin; i < end; i++) bins[bin(data[i])] += 1;
  let [from, count] = [256, 0];
  while (from > 1 && (from === 256 || count + bins[from - 1] <= most)) count += bins[--from];
  /** @type {Arc[]} */
  const arcs = [];
  for (let i = begin; i < end; i++) {
    if (!(bin(data[i]) >= from)) continue;
    arcs.push({ query: Math.floor(i / columns), key: i % columns, weight: data[i] });
  }
  return arcs.sort((a, b) => a.weight - b.weight).slice(-most);
}
