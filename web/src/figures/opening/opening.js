/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/**
 * The first rows and columns of a matrix.
 * @param {Matrix} matrix one row per token
 * @param {number} rows
 * @param {number} columns
 * @returns {Matrix}
 */
export function firstOf({ data, rows: all, columns: width }, rows, columns) {
  const [height, across] = [Math.min(rows, all), Math.min(columns, width)];
  const part = new Float32Array(height * across);
  for (let row = 0; row < height; row++) {
    part.set(data.subarray(row * width, row * width + across), row * across);
  }
  return { data: part, rows: height, columns: across };
}

/**
 * Transposes a matrix.
 * @param {Matrix} matrix
 * @returns {Matrix}
 */
export function transposed({ data, rows, columns }) {
  const turned = new Float32Array(data.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      turned[column * rows + row] = data[row * columns + column];
    }
  }
  return { data: turned, rows: columns, columns: rows };
}

/**
 * Reverses the order of a matrix's columns.
 * @param {Matrix} matrix
 * @returns {Matrix}
 */
export function mirrored({ data, rows, columns }) {
  const turned = data.slice();
  for (let row = 0; row < rows; row++) {
    turned.subarray(row * columns, (row + 1) * columns).reverse();
  }
  return { data: turned, rows, columns };
}

/**
 * The keys with the largest weights for a query, the largest first. Keys with weight 0 are omitted.
 * @param {Matrix} weights
 * @param {number} query
 * @param {number} most
 */
export function strongestKeys({ data, columns }, query, most) {
  return Array.from(data.subarray(query * columns, (query + 1) * columns), (weight, key) => ({
    key,
    weight,
  }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || a.key - b.key)
    .slice(0, most);
}

/**
 * The two different tokens with the largest weight between them, null if all these weights are 0.
 * @param {Matrix} weights
 * @returns {import('../../core/arcs.js').Arc | null}
 */
export function strongestPair({ data, rows, columns }) {
  let pair = null;
  for (let query = 0; query < rows; query++) {
    for (let key = 0; key < columns; key++) {
      const weight = data[query * columns + key];
      if (key !== query && weight > (pair?.weight ?? 0)) pair = { query, key, weight };
    }
  }
  return pair;
}

/** Width of the thickest arch at its query, in CSS pixels. */
const thickest = 4;

/** Opacity of arches while another token's arches stand out, as a fraction of their opacity. */
const faded = 0.2;

/**
 * The shape of the arch for a weight, in CSS pixels. The arch leads from the query at x = `from` to
 * the key at x = `to`. Both ends are at y = `ground`, and the arch is `rise` high. At the query it
 * is 2 · `broad` wide. If a token attends to itself, the shape is a dot with radius `broad`.
 * @param {import('../../core/arcs.js').Arc} arc
 * @param {number} count number of tokens
 * @param {number} largest the weight of the thickest arch
 * @param {{ width: number, height: number, rightToLeft?: boolean, faintest?: number, lit?: number |
 *   null }} size
 *   faintest: opacity of the thinnest arch; lit: if set, only this token's arches stand out
 */
export function archOf({ query, key, weight }, count, largest, size) {
  const { width, height, rightToLeft = false, faintest = 0.1, lit = null } = size;
  const visible = lit === null || lit === query ? 1 : faded;
  const ground = height - 1.5 * thickest;
  const x = (/** @type {number} */ token) => {
    const along = ((token + 0.5) / count) * width;
    return rightToLeft ? width - along : along;
  };
  const [from, to] = [x(query), x(key)];
  if (query === key) {
    return { from, to, ground, rise: 0, broad: 1.4 * thickest * Math.sqrt(weight), alpha: visible };
  }
  const strength = weight / largest;
  return {
    ...{ from, to, ground, rise: ground * Math.sqrt(Math.abs(query - key) / count) },
    broad: 0.8 * thickest * strength,
    alpha: visible * (faintest + (1 - faintest) * strength),
  };
}
