/** @typedef {import('../../state/properties.js').Settings} Settings */

/** A string literal that Python, C++ and JavaScript all read. @param {string} text */
const literal = (text) => JSON.stringify(text);

/** @param {{ row: number, column: number }[]} blocked @param {number} length */
const inside = (blocked, length) =>
  blocked.filter(({ row, column }) => row < length && column < length);

/**
 * Programs that compute the weights of a head with the current settings.
 * @param {Settings} settings
 * @param {string[]} tokens
 * @param {number} head
 */
export function attentionCode(settings, tokens, head) {
  return {
    javascript: javascript(settings, tokens, head),
    python: python(settings, tokens, head),
    cpp: cpp(settings, tokens, head),
  };
}

/** @param {Settings} settings @param {string[]} tokens @param {number} head */
function javascript(settings, tokens, head) {
  const { dModel, heads, weights, seed, base, causal, window, validLen } = settings;
  const n = tokens.length;
  const blocked = inside(settings.blocked, n);
  const options = [
    causal && 'causal: true',
    window && `window: { left: ${window}, right: ${window} }`,
    validLen && `validLens: [${Math.min(validLen, n)}]`,
    blocked.length && 'mask',
    'needWeights: true',
  ].filter(Boolean);
  const mask = blocked.length
    ? `
const mask = { data: new Uint8Array(${n} * ${n}).fill(1), shape: [${n}, ${n}] };
for (const [query, key] of ${JSON.stringify(blocked.map(({ row, column }) => [row, column]))}) {
  mask.data[query * ${n} + key] = 0;
}`
    : '';
  return `import { load } from 'attn';

const attn = await load();
const tokens = ${JSON.stringify(tokens)};
const embedded = attn.ngramEmbedding(tokens, { dModel: ${dModel}, seed: 0 });
const x = ${settings.encoding === 'sinusoidal' ? `attn.positionalEncoding(embedded, { base: ${base} })` : 'embedded'};
const layer = new attn.MultiHeadAttention({
  dModel: ${dModel}, numHeads: ${heads}, init: '${weights}', seed: ${weights === 'xavier' ? seed : 0},
});${mask}
const { weights } = layer.forward(x, x, x, { ${options.join(', ')} });
console.log(weights.data.subarray(${head} * ${n * n}, ${head + 1} * ${n * n})); // head ${head + 1}
layer.dispose();
`;
}

/** @param {Settings} settings @param {string[]} tokens @param {number} head */
function python(settings, tokens, head) {
  const { dModel, heads, weights, base, causal, window, validLen } = settings;
  const n = tokens.length;
  const blocked = inside(settings.blocked, n);
  const masks = [
    causal && 'attends &= key <= query',
    window && `attends &= (key - query).abs() <= ${window}`,
    validLen && `attends &= key < ${Math.min(validLen, n)}`,
    ...blocked.map(({ row, column }) => `attends[${row}, ${column}] = False`),
  ].filter(Boolean);
  return `# The input of the layer is exported as input.npy by the figure above this one.
import numpy as np
import torch

x = torch.from_numpy(np.load('pipeline-input.npy'))  # (${n}, ${dModel}), ${
    settings.encoding === 'sinusoidal'
      ? `embeddings plus the encoding of base ${base}`
      : 'embeddings without encoding'
  }
n, e = x.shape
mha = torch.nn.MultiheadAttention(e, ${heads}, bias=False, batch_first=True)
with torch.no_grad():
${
  weights === 'identity'
    ? `    mha.in_proj_weight.copy_(torch.eye(e).repeat(3, 1))
    mha.out_proj.weight.copy_(torch.eye(e))`
    : `    # Xavier's uniform rule; attn draws other numbers from its seed than PyTorch does.
    for w in (*mha.in_proj_weight.chunk(3), mha.out_proj.weight):
        torch.nn.init.xavier_uniform_(w)`
}
query, key = torch.arange(n)[:, None], torch.arange(n)[None, :]
attends = torch.ones(n, n, dtype=torch.bool)
${masks.join('\n')}${masks.length ? '\n' : ''}_, weights = mha(x[None], x[None], x[None], attn_mask=~attends,
                 average_attn_weights=False)
print(weights[0, ${head}])  # head ${head + 1}
`;
}

/** @param {Settings} settings @param {string[]} tokens @param {number} head */
function cpp(settings, tokens, head) {
  const { dModel, heads, weights, seed, base, causal, window, validLen } = settings;
  const n = tokens.length;
  const blocked = inside(settings.blocked, n);
  const options = [
    blocked.length && '.mask = attn::ConstMask(mask.data(), {n, n})',
    causal && '.causal = attn::Diagonal::top_left()',
    window && `.window = attn::Window{.left = ${window}, .right = ${window}}`,
    validLen && '.valid_lens = attn::ConstLengths(&valid_len, {1})',
    '.weights = attn::Tensor(weights.data(), {1, heads, n, n})',
  ].filter(Boolean);
  return `#include <attn/attn.hpp>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

int main() {
  const std::vector<std::string_view> tokens{${tokens.map(literal).join(', ')}};
  const std::int64_t n = std::int64_t(tokens.size()), e = ${dModel}, heads = ${heads};

  std::vector<float> x(n * e), output(n * e), weights(heads * n * n);
  const attn::Tensor rows(x.data(), {n, e});
  attn::ngram_embedding(tokens, rows);
${
  settings.encoding === 'sinusoidal'
    ? `  attn::PositionalEncoding({.base = ${base}}).forward(rows, rows);\n`
    : ''
}
  attn::MultiHeadAttention layer({.d_model = e, .num_heads = heads});
  layer.${weights === 'identity' ? 'initialize_identity()' : `initialize_xavier(${seed})`};
${
  blocked.length
    ? `  std::vector<std::uint8_t> mask(n * n, 1);
${blocked.map(({ row, column }) => `  mask[${row} * n + ${column}] = 0;\n`).join('')}`
    : ''
}${validLen ? `  const std::int32_t valid_len = ${Math.min(validLen, n)};\n` : ''}
  const attn::Tensor batch(x.data(), {1, n, e});
  layer.forward(batch, batch, batch, attn::Tensor(output.data(), {1, n, e}),
                {${options.join(',\n                 ')}});
  for (std::int64_t query = 0; query < n; ++query) {  // head ${head + 1}
    for (std::int64_t key = 0; key < n; ++key) {
      std::printf("%.9g ", weights[(${head} * n + query) * n + key]);
    }
    std::printf("\\n");
  }
}
`;
}
