import { formulaFunctions } from '../../invention/formulaCode.js';
import { layer, sentence, setParameter } from '../../programs/calls.js';
import { gap, printMatrix } from '../../programs/print.js';

/**
 * Programs for a scheme that a reader has written. They add its encoding to the words and its bias
 * to the scores, and print the attention weights. Queries and keys are the encoded words
 * themselves, without projections.
 * @param {import('../../invention/invention.js').Written} written
 * @param {{ tokens: string[], dModel: number, causal: boolean }} settings
 */
export function inventedPrograms(written, { tokens, dModel, causal }) {
  const [added, bias] = [written.added.trim() !== '', written.bias.trim() !== ''];
  return printMatrix('weights', 'n', 'n', [
    formulaFunctions(written),
    ...sentence({ dModel, encoding: 'none', base: 10000 }, tokens),
    gap,
    added && {
      python: `table = torch.tensor([[float(P(i, k, n, d_model)) for k in range(d_model)] for i in range(n)])
encoded = x + table`,
      cpp: `std::vector<float> table;
for (std::int64_t i = 0; i < n; ++i) {
  for (std::int64_t k = 0; k < d_model; ++k) table.push_back(static_cast<float>(P(i, k, n, d_model)));
}`,
      javascript: `const table = { data: new Float32Array(n * dModel), shape: [n, dModel] };
for (let i = 0; i < n; i++) {
  for (let k = 0; k < dModel; k++) table.data[i * dModel + k] = P(i, k, n, dModel);
}`,
    },
    added && layer('positions', 'LearnedPositionalEncoding', { maxLength: 'n', dModel: 'dModel' }),
    added && setParameter('positions', 'weight', 'table', ['n', 'dModel']),
    added
      ? {
          cpp: 'positions.forward(view(x), view(x));',
          javascript: 'const encoded = positions.forward(x);',
        }
      : { python: 'encoded = x', javascript: 'const encoded = x;' },
    bias && {
      python: `# The bias of the first head.
bias = torch.tensor([[float(b(i, j, 0, n, d_model)) for j in range(n)] for i in range(n)])`,
      cpp: `// The bias of the first head.
std::vector<float> bias;
for (std::int64_t i = 0; i < n; ++i) {
  for (std::int64_t j = 0; j < n; ++j) bias.push_back(static_cast<float>(b(i, j, 0, n, d_model)));
}`,
      javascript: `// The bias of the first head.
const bias = { data: new Float32Array(n * n), shape: [n, n] };
for (let i = 0; i < n; i++) {
  for (let j = 0; j < n; j++) bias.data[i * n + j] = b(i, j, 0, n, dModel);
}`,
    },
    {
      python: `scores = encoded @ encoded.T / d_model**0.5${bias ? ' + bias' : ''}${
        causal ? '\nscores = scores.masked_fill(torch.ones(n, n).triu(1) > 0, -math.inf)' : ''
      }
weights = scores.softmax(1)`,
      cpp: `
std::vector<float> output(n * d_model), weights(n * n);
const attn::Tensor words(x.data(), {1, 1, n, d_model});
attn::scaled_dot_product_attention(
    words, words, words, attn::Tensor(output.data(), {1, 1, n, d_model}),
    {${bias ? '.bias = attn::Tensor(bias.data(), {n, n}),\n     ' : ''}${causal ? '.causal = true, ' : ''}.weights = attn::Tensor(weights.data(), {1, 1, n, n})});`,
      javascript: `
const { weights } = attn.scaledDotProductAttention(encoded, encoded, encoded, {
  ${causal ? 'causal: true,\n  ' : ''}${bias ? 'bias,\n  ' : ''}needWeights: true,
});`,
    },
  ]);
}
