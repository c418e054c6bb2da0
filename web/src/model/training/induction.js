/**
 * How far a head does what an induction head is made of, from 0 to 1.
 * @typedef {object} HeadScores
 * @property {number} previous mean attention of a token on the one before it
 * @property {number} followed mean attention of a token that comes again on what followed it last time
 */

/**
 * The scores of each head, layer after layer, over examples (Olsson et al. 2022).
 * @param {readonly import('attn').Tensor[]} weights of each layer, (examples, heads, n, n)
 * @param {Int32Array} ids (examples, n)
 * @param {(at: number) => boolean} isAsked whether what follows a token of `ids` is asked for
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
