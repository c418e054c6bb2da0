/** Text shown in the figure about dividing scores by √D. */

export const title = 'What dividing by √D achieves';
/**
 * @param {{ head: number, tokens: number, divided: ({ by: string } & Record<'entropy' | 'largest' |
 *   'slope', string>)[] }} of
 */
export const summary = ({ head, tokens, divided }) =>
  `Head ${head + 1}, ${tokens} tokens. ${divided
    .map(
      ({ by, entropy, largest, slope }) =>
        `Divided by ${by}: entropy ${entropy} bits, largest weight ${largest}, gradient ${slope}`,
    )
    .join('; ')}.`;
export const undivided = 'nothing';
export const weight = 'attention weight';
/** @param {number} head @param {string} by */
export const divided = (head, by) => `head ${head + 1}, scores divided by ${by}`;
/** @param {{ head: number, by: string, tokens: number, keys: number }} of */
export const label = ({ head, by, tokens, keys }) =>
  `Attention weights of head ${head + 1}, scores divided by ${by}, ${tokens} queries by ${keys} keys`;
export const sentence = (/** @type {number} */ head) =>
  `your sentence, head ${head + 1}: means over all rows`;
export const by = 'scores divided by';
export const entropy = 'entropy, bits';
export const largest = 'largest weight';
export const gradient = 'gradient';
export const random = 'random vectors: 64 queries, 64 keys';
export const width = 'width D';
export const spread = 'spread of scores';
export const notDivided = 'not divided';
export const byRoot = 'divided by √D';
export const about =
  'The gradient, the sum of w\u00a0·\u00a0(1\u00a0−\u00a0w) over a row, says how much the weights move if the scores are moved a little. Near 1, softmax listens; near 0, it is deaf. If scores are divided by D, softmax also listens, but it chooses less clearly: the weights are more even.';
