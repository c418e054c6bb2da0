/**
 * A connection in a diagram, from a node in one row to a node in the same or the next row. Row 0
 * contains the tokens.
 * @typedef {{ row: number, column: number }} Node
 * @typedef {{ from: Node, to: Node }} Connection
 *
 * @typedef {object} Diagram
 * @property {number} rows  including the row of tokens
 * @property {Connection[]} connections  all connections
 * @property {Connection[]} path the connections from the two tokens to the node where both paths
 *   meet
 * @property {Node | null} meeting the node where both paths meet
 */

/** Maximum number of tokens that the figure draws. */
export const drawnTokens = 16;

/** @typedef {ReturnType<typeof pathLengths>} Lengths */

/**
 * The length of the longest path between any two of n tokens; null if there is none.
 * @param {import('attn').Attn} attn
 * @param {{ n: number, k: number }} sizes k: kernel size of the convolution
 */
export function pathLengths({ architectureCosts }, { n, k }) {
  const sizes = { n: Math.max(1, n), d: 1 };
  return {
    cnn: architectureCosts.convolution({ ...sizes, k }).maxPathLength,
    rnn: architectureCosts.recurrent(sizes).maxPathLength,
    attention: architectureCosts.selfAttention(sizes).maxPathLength,
  };
}

/**
 * The tokens that an output of a length-preserving convolution depends on: from `left` tokens
 * before it to `right` tokens after it. An even kernel includes one more token after it than
 * before.
 * @param {number} k
 */
export const window = (k) => ({ left: Math.floor((k - 1) / 2), right: Math.ceil((k - 1) / 2) });

/** @param {number} row @param {number} from @param {number} to @returns {Connection} */
const up = (row, from, to) => ({ from: { row, column: from }, to: { row: row + 1, column: to } });

/**
 * The convolution layers up to the first layer in which one output depends on both tokens.
 * @param {number} n
 * @param {number} k
 * @param {number} layers
 * @param {number} first
 * @param {number} second
 * @returns {Diagram}
 */
export function convolution(n, k, layers, first, second) {
  const { left, right } = window(k);
  const connections = [];
  for (let row = 0; row < layers; row++) {
    for (let to = 0; to < n; to++) {
      for (let from = Math.max(0, to - left); from <= Math.min(n - 1, to + right); from++) {
        connections.push(up(row, from, to));
      }
    }
  }
  // After L layers, output p depends on inputs p − L·left … p + L·right. Of the outputs that depend
  // on both tokens, take the middle one.
  const [low, high] = [Math.min(first, second), Math.max(first, second)];
  const from = Math.max(0, high - layers * right);
  const to = Math.min(n - 1, low + layers * left);
  if (from > to) return { rows: layers + 1, connections, path: [], meeting: null };
  const meeting = Math.round((from + to) / 2);
  const path = [...new Set([first, second])].flatMap((token) => {
    let at = token;
    return Array.from({ length: layers }, (_, row) => {
      // Spread the path evenly over the layers, with no step longer than a window allows.
      const wanted = Math.round(token + ((meeting - token) * (row + 1)) / layers);
      const next = Math.min(at + left, Math.max(at - right, wanted));
      const step = up(row, at, next);
      at = next;
      return step;
    });
  });
  return { rows: layers + 1, connections, path, meeting: { row: layers, column: meeting } };
}

/**
 * A recurrent layer: each state reads its token and the previous state.
 * @param {number} n
 * @param {number} first
 * @param {number} second
 * @returns {Diagram}
 */
export function recurrence(n, first, second) {
  const step = (/** @type {number} */ from) => ({
    from: { row: 1, column: from },
    to: { row: 1, column: from + 1 },
  });
  const connections = [
    ...Array.from({ length: n }, (_, i) => up(0, i, i)),
    ...Array.from({ length: n - 1 }, (_, i) => step(i)),
  ];
  const [low, high] = [Math.min(first, second), Math.max(first, second)];
  const path = [...new Set([low, high])].map((token) => up(0, token, token));
  for (let i = low; i < high; i++) path.push(step(i));
  return { rows: 2, connections, path, meeting: { row: 1, column: high } };
}

/**
 * Self-attention: each output reads every token.
 * @param {number} n
 * @param {number} first
 * @param {number} second
 * @returns {Diagram}
 */
export function selfAttention(n, first, second) {
  const connections = [];
  for (let to = 0; to < n; to++)
    for (let from = 0; from < n; from++) connections.push(up(0, from, to));
  const path = [...new Set([first, second])].map((token) => up(0, token, second));
  return { rows: 2, connections, path, meeting: { row: 1, column: second } };
}
