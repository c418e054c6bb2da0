/** Text shown in the figure of what a head's query matches and what its value promotes. */

export const title = 'What a head looks for, and what it adds';

/** The controls. */
export const layer = 'layer';
export const head = 'head';
export const query = 'token';
export const key = 'keys at';
/** @param {string} token @param {number} position */
export const option = (token, position) => `${position + 1}. ${token}`;

/** @param {{ token: string, layer: number, head: number, query: number, key: number }} of */
export const asked = ({ token, layer, head, query, key }) => {
  const distance = query - key;
  const where = distance
    ? `at position ${key + 1}, ${distance === 1 ? 'one token' : `${distance} tokens`} earlier`
    : 'at the same position';
  return `Head ${head + 1} of layer ${layer + 1} reads “${token}” at position ${query + 1}. Its query is compared with the key of each token of the vocabulary ${where}. Its value is what the head gives to a token that looks at “${token}”.`;
};
export const matches = 'Score of its query and their keys';
export const promotes = 'What its value adds to the scores of next tokens';
export const most = { matches: 'the best matches', promotes: 'most promoted' };
export const least = { matches: 'the worst matches', promotes: 'least promoted' };
export const notNumbers =
  'Some of these values are not numbers (NaN or ∞), so they cannot be ranked.';

/** What was computed, and what does not follow from it. */
export const done =
  'Every row was computed as if its token came straight from the embedding. A head of layer 1 reads exactly these rows. In later layers, heads read rows that earlier layers have changed, so a head may look for something else there. A large score does not say how much attention a token gets, because softmax compares it with the scores of the other tokens in a sentence. The last normalisation was applied to the value alone, without biases, so its numbers rank tokens and cannot be compared with the scores in other figures.';
/** @param {{ token: string, layer: number, head: number, match: string, promoted: string }} of */
export const summary = ({ token, layer, head, match, promoted }) =>
  `In head ${head + 1} of layer ${layer + 1}, the query of “${token}” matches “${match}” best, and its value promotes “${promoted}” most.`;
export const empty = 'No tokens yet.';
export const exported = {
  matches: ['token', 'score of query and key'],
  promotes: ['token', 'added to the score'],
};
