// The worker of decoding.js. It processes the tokens one by one and reports each result at once.

import { serve } from 'attn/worker/serve';

/** @import { Attn } from 'attn' */

export const tasks = {
  /**
   * @param {Attn} attn
   * @param {string[]} tokens
   * @param {{ dModel: number, numHeads: number, seed: number }} options
   */
  *decode(attn, tokens, options) {
    const { dModel } = options;
    const layer = new attn.MultiHeadAttention(options);
    const cache = layer.makeCache(1, { capacity: tokens.length });
    const embeddings = attn.ngramEmbedding(tokens, { dModel }).data;
    try {
      for (const [i, token] of tokens.entries()) {
        // Passes only the new token. The cache holds the keys and values of the earlier tokens.
        const embedding = {
          data: embeddings.subarray(i * dModel, (i + 1) * dModel),
          shape: [1, dModel],
        };
        const x = attn.positionalEncoding(embedding, { start: i });
        const { output, weights } = layer.forward(x, x, x, { cache, needWeights: true });
        yield { token, output: output.data, weights: weights.data };
      }
      return cache.length;
    } finally {
      cache.dispose();
      layer.dispose();
    }
  },
};

serve(tasks);
