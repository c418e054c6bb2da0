// A multi-head layer for two sentences of different lengths. The shorter sentence is padded to the
// length of the longer one.

import { load } from 'attn';

const attn = await load();

const dModel = 16;
const sentences = [
  ['attention', 'is', 'all', 'you', 'need'],
  ['so', 'they', 'say', '', ''],
];
const validLens = [5, 3];

// The embeddings of both sentences plus positions, (B, N, E).
const tokens = attn.ngramEmbedding(sentences.flat(), { dModel });
const x = attn.positionalEncoding({ data: tokens.data, shape: [2, 5, dModel] });

const layer = new attn.MultiHeadAttention({ dModel, numHeads: 4, seed: 1 });
const { output, weights } = layer.forward(x, x, x, { validLens, needWeights: true });
console.log('output', output.shape, 'weights', weights.shape);

// The first head's weights for the first word of the second sentence. Padding gets no weight.
const row = weights.data.subarray(1 * 4 * 5 * 5, 1 * 4 * 5 * 5 + 5);
console.log('row', row);
layer.dispose();
