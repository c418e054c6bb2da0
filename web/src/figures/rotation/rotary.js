import { product } from '../../core/product.js';
import { matrixOf } from '../../drawing/matrix.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** Size of a query and a key. Each of the drawn clock hands takes two numbers. */
export const depth = 8;

/**
 * @typedef {object} Moved a query and a key, each rotated by its position
 * @property {Float32Array} query (D)
 * @property {Float32Array} key (D)
 * @property {number} score their dot product
 */

/**
 * Rotates the query and key of two words to every possible position.
 * @param {Attn} attn
 * @param {[string, string]} words words of the query and the key
 * @param {{ length: number, base: number }} settings
 */
export function turnedScores(attn, words, { length, base }) {
  const { data } = attn.ngramEmbedding(words, { dModel: depth, seed: 0 });
  const everywhere = Float64Array.from({ length }, (_, place) => place);
  const rope = new attn.RotaryEmbedding({ rotaryDim: depth, base, pairing: 'interleaved' });
  try {
    const [queries, keys] = [0, 1].map((row) => turned(rope, vectorOf(data, row), everywhere));
    const scores = matrixOf(product(attn, queries, keys));
    return { scores, spread: spreadAlongDiagonals(scores) };
  } finally {
    rope.dispose();
  }
}

/**
 * The query and key at their current positions, which may be fractional or outside the sentence.
 * @param {Attn} attn
 * @param {[string, string]} words
 * @param {{ base: number, places: [number, number] }} settings
 * @returns {Moved}
 */
export function turnedPair(attn, words, { base, places }) {
  const { data } = attn.ngramEmbedding(words, { dModel: depth, seed: 0 });
  const rope = new attn.RotaryEmbedding({ rotaryDim: depth, base, pairing: 'interleaved' });
  try {
    const [query, key] = places.map((place, row) =>
      turned(rope, vectorOf(data, row), Float64Array.of(place)),
    );
    return { query: query.data, key: key.data, score: product(attn, query, key).data[0] };
  } finally {
    rope.dispose();
  }
}

/** @param {Float32Array} data @param {number} row */
const vectorOf = (data, row) => data.subarray(row * depth, (row + 1) * depth);

/**
 * Rotates one vector to several positions.
 * @param {InstanceType<Attn['RotaryEmbedding']>} rope
 * @param {Float32Array} vector
 * @param {Float64Array} positions
 * @returns {Tensor} (n, D)
 */
function turned(rope, vector, positions) {
  const n = positions.length;
  const data = new Float32Array(n * depth);
  for (let row = 0; row < n; row++) data.set(vector, row * depth);
  const { data: all } = rope.forward({ data, shape: [1, n, depth] }, { positions });
  return { data: all, shape: [n, depth] };
}

/**
 * The largest difference between two scores at the same distance.
 * @param {Matrix} scores (n, n)
 */
export function spreadAlongDiagonals({ data, rows }) {
  let most = 0;
  for (let distance = 1 - rows; distance < rows; distance++) {
    let [low, high] = [Infinity, -Infinity];
    for (let key = Math.max(0, -distance); key < Math.min(rows, rows - distance); key++) {
      const score = data[(key + distance) * rows + key];
      low = Math.min(low, score);
      high = Math.max(high, score);
    }
    most = Math.max(most, high - low);
  }
  return most;
}

/**
 * The contribution of a pair of numbers to the score, and the angle from the key's hand to the
 * query's hand, clockwise in degrees.
 * @param {Moved} moved
 * @param {number} pair
 */
export function handsOf({ query, key }, pair) {
  const hand = (/** @type {Float32Array} */ of) => {
    const [up, right] = [of[2 * pair], of[2 * pair + 1]];
    return { up, right, length: Math.hypot(up, right) };
  };
  const [q, k] = [hand(query), hand(key)];
  const between = Math.atan2(q.right * k.up - q.up * k.right, q.up * k.up + q.right * k.right);
  return {
    ...{ query: q, key: k },
    degrees: (between * 180) / Math.PI,
    part: q.up * k.up + q.right * k.right,
  };
}
