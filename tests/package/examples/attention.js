// Attention on plain arrays: one query looks up a value among three keys.

import { load } from 'attn';

const attn = await load();

const query = { data: Float32Array.of(0, 4), shape: [1, 2] };
const key = { data: Float32Array.of(1, 0, 0, 1, -1, 0), shape: [3, 2] };
const value = { data: Float32Array.of(10, 20, 60), shape: [3, 1] };

const { output, weights } = attn.scaledDotProductAttention(query, key, value, {
  needWeights: true,
});
console.log('weights', weights.data); // softmax of (0, 4, 0) / √2
console.log('output', output.data, output.shape);
