/**
 * How strongly a head behaves like each part of an induction circuit, from 0 to 1.
 * @typedef {object} HeadScores
 * @property {number} previous mean attention from a token to the previous token
 * @property {number} followed mean attention from a repeated token to the token that followed its
 *   previous occurrence
 */

/**
 * The scores of each head over examples, layer by layer (Olsson et al. 2022).
 * @param {readonly import('attn').Tensor[]} weights weights of each layer, (examples, heads, n, n)
 * @param {Int32Array} ids (examples, n)
 * @param {(at: number) => boolean} isAsked true if the model must predict the token that follows
 *   `ids[at]`
 * @returns {HeadScores[]}
 */
export function headScores(weights, ids, isAsked) {
  return weights.flatMap(({ data, shape: [examples, heads, length] }) =>
    Array.from({ length: heads }, (_, head) => {
      let [previous, followed, queries, again] = [0, 0, 0, 0];
      for (let example = 0; example < examples; example++) {
        const tokens = ids.subarray(example * length, (example + 1) * length);
        for (let i = 1; i < length; i++) {
          const row = ((example * heads + head) * length + i) * length;
          previous += data[row + i - 1];
          queries++;
          const last = tokens.lastIndexOf(tokens[i], i - 1);
          if (last < 0 || !isAsked(example * length + i)) continue;
          followed += data[row + last + 1];
          again++;
        }
      }
      return { previous: previous / queries, followed: followed / again };
    }),
  );
}
