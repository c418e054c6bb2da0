import { double, literal } from '../frame/programs.js';
import { uncased } from './sentence.js';

/** @typedef {import('../state/properties.js').Settings} Settings */

/**
 * What programs about the sentence begin with: what the layer reads, `x` (n, E), as lines.
 * @param {Pick<Settings, 'dModel' | 'encoding' | 'base'>} settings
 * @param {string[]} tokens
 * @param {string} file the exported x, which the Python program reads: PyTorch has no such embeddings
 * @returns {Record<'python' | 'cpp' | 'javascript', string>}
 */
export function inputCode({ dModel, encoding, base }, tokens, file) {
  const words = uncased(tokens).map(literal).join(', ');
  const encoded = encoding === 'sinusoidal';
  return {
    javascript: `const tokens = [${words}];
const [n, dModel] = [tokens.length, ${dModel}];
const embedded = attn.ngramEmbedding(tokens, { dModel });
const x = ${encoded ? `attn.positionalEncoding(embedded, { base: ${base} })` : 'embedded'};`,
    cpp: `const std::vector<std::string_view> tokens{${words}};
const std::int64_t n = ${tokens.length}, d_model = ${dModel};
std::vector<float> x(n * d_model);
const auto view = [&](std::vector<float>& rows) { return attn::Tensor(rows.data(), {n, d_model}); };
attn::ngram_embedding(tokens, view(x));${
      encoded
        ? `\nattn::PositionalEncoding({.base = ${double(base)}}).forward(view(x), view(x));`
        : ''
    }`,
    python: `import numpy as np

# Exported by this figure: embeddings${encoded ? ` plus the encoding of base ${base}` : ' without an encoding'}.
x = torch.from_numpy(np.load("${file}.npy"))
n, d_model = x.shape`,
  };
}
