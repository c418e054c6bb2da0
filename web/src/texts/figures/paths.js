/** @param {number | null} length */
const connections = (length) => (length === 1 ? 'connection' : 'connections');

/** Text shown in the figure about paths. */

export const title = 'The path from one token to another';
export const two = 'A path needs two tokens.';
/** @param {{ from: string, to: string, k: number } & Record<'cnn' | 'rnn' | 'attention', number | null>} of */
export const summary = ({ from, to, k, cnn, rnn, attention }) =>
  `From “${from}” to “${to}” the path has length ${cnn} in a CNN with kernel size ${k}, ${rnn} in an RNN, and ${attention} in self-attention.`;
export const cnn = 'CNN';
export const rnn = 'RNN';
export const attention = 'self-attention';
/** Columns and rows of the exported table. */
export const exported = ['tokens', 'CNN', 'RNN', 'self-attention'];
export const rows = ['these two tokens', 'the two tokens furthest apart'];
export const pick = 'Pick two tokens';
/** Notes on the three diagrams. */
export const cnnNote = (/** @type {number} */ k) =>
  `One layer sees ${k} tokens, and each further layer sees ${k - 1} more. The two tokens meet in the first output that sees both.`;
export const rnnNote =
  'The RNN takes in the earlier token at that token’s step, and passes it on from state to state.';
export const attentionNote =
  'Every output reads every token, so any two tokens are one connection apart.';
export const counts =
  'The length is the number of layers (in an RNN, steps) that a message passes in sequence. Messages from both words travel at the same time, so only the longer path counts.';
/** @param {number} layers */
export const countsIn = (layers) =>
  `The length is the number of layers (in an RNN, steps) that a message passes in sequence. Messages from both words travel at the same time, so only the longer path counts. In the CNN they meet after ${layers} ${layers === 1 ? 'layer' : 'layers'}.`;
export const hint =
  'Pick a token above or in the pictures. It replaces the earlier of your two picks.';
export const never = 'never';
export const apart = (/** @type {number | null} */ length) =>
  `{length} ${connections(length)} apart; at most {longest}`;
/** @param {{ name: string, from: string, to: string, length: number | null }} of */
export const meet = ({ name, from, to, length }) =>
  length === null
    ? `${name}: ${from} and ${to} never meet`
    : `${name}: ${from} and ${to} meet after ${length} ${connections(length)}`;
