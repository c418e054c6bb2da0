/**
 * Programs that measure whether the layer sees the order of its input.
 * @param {import('../../state/properties.js').Settings} settings
 * @param {string[]} tokens
 * @param {number[]} order
 */
export function shuffleCode(settings, tokens, order) {
  const { dModel, heads, weights, seed, base, encoding, causal } = settings;
  const n = tokens.length;
  const encodes = encoding === 'sinusoidal';
  const used = weights === 'xavier' ? seed : 0;
  return {
    python: `# The embeddings are exported as embedding.npy by the figure in the chapter on self-attention.
import numpy as np
import torch

x = torch.from_numpy(np.load('pipeline-embedding.npy'))  # (${n}, ${dModel})
order = ${JSON.stringify(order)}
mha = torch.nn.MultiheadAttention(${dModel}, ${heads}, bias=False, batch_first=True)
${
  weights === 'identity'
    ? `with torch.no_grad():
    mha.in_proj_weight.copy_(torch.eye(${dModel}).repeat(3, 1))
    mha.out_proj.weight.copy_(torch.eye(${dModel}))
`
    : ''
}
i, j = torch.arange(${n}.0)[:, None], torch.arange(0, ${dModel}, 2)
angle = i / ${base} ** (j / ${dModel})
p = torch.stack((angle.sin(), angle.cos()), -1).reshape(${n}, ${dModel})
later = torch.ones(${n}, ${n}, dtype=torch.bool).triu(1)

def f(x):
    x = ${encodes ? 'x + p' : 'x'}
    return mha(x[None], x[None], x[None], attn_mask=${causal ? 'later' : 'None'})[0][0]

print((f(x)[order] - f(x[order])).abs().max())
`,
    javascript: `import { load } from 'attn';

const attn = await load();
const tokens = ${JSON.stringify(tokens)};
const order = ${JSON.stringify(order)};
const layer = new attn.MultiHeadAttention({
  dModel: ${dModel}, numHeads: ${heads}, init: '${weights}', seed: ${used},
});
const f = (tokens) => {
  const embedded = attn.ngramEmbedding(tokens, { dModel: ${dModel}, seed: 0 });
  const x = ${encodes ? `attn.positionalEncoding(embedded, { base: ${base} })` : 'embedded'};
  return layer.forward(x, x, x, { causal: ${causal} }).output.data;
};
const [before, after] = [f(order.map((i) => tokens[i])), f(tokens)];
let largest = 0;
for (let i = 0; i < before.length; i++) {
  const from = order[Math.floor(i / ${dModel})] * ${dModel} + (i % ${dModel});
  largest = Math.max(largest, Math.abs(after[from] - before[i]));
}
console.log(largest);
layer.dispose();
`,
    cpp: `#include <attn/attn.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

int main() {
  const std::vector<std::string_view> tokens{${tokens.map((token) => JSON.stringify(token)).join(', ')}};
  const std::vector<std::size_t> order{${order.join(', ')}};
  const std::int64_t n = ${n}, e = ${dModel};
  attn::MultiHeadAttention layer({.d_model = e, .num_heads = ${heads}});
  layer.${weights === 'identity' ? 'initialize_identity()' : `initialize_xavier(${used})`};

  const auto f = [&](const std::vector<std::string_view>& words) {
    std::vector<float> x(n * e), output(n * e);
    const attn::Tensor rows(x.data(), {n, e});
    attn::ngram_embedding(words, rows);
${encodes ? `    attn::PositionalEncoding({.base = ${base}}).forward(rows, rows);\n` : ''}    layer.forward(rows, rows, rows, attn::Tensor(output.data(), {n, e}),
                  {${causal ? '.causal = attn::Diagonal::top_left()' : ''}});
    return output;
  };

  std::vector<std::string_view> shuffled;
  for (const std::size_t i : order) shuffled.push_back(tokens[i]);
  const std::vector<float> after = f(tokens), before = f(shuffled);
  float largest = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t column = 0; column < e; ++column) {
      const float difference = after[order[row] * e + column] - before[row * e + column];
      largest = std::max(largest, std::abs(difference));
    }
  }
  std::printf("%.9g\\n", largest);
}
`,
  };
}
