import { uncased } from '../core/sentence.js';
import { double, literal } from './programs.js';
import { pythonCode } from './pythonCode.js';

/** @typedef {import('../state/properties/index.js').Settings} Settings */

/**
 * The first lines of programs about the sentence, which define the layer's input `x` (n, E).
 * @param {Pick<Settings, 'dModel' | 'encoding' | 'base'>} settings
 * @param {string[]} tokens
 * @param {...('xavier' | false)} drawn names of the random functions that the Python program also
 *   needs
 * @returns {Record<'python' | 'cpp' | 'javascript', string>}
 */
export function inputCode({ dModel, encoding, base }, tokens, ...drawn) {
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
    python: `${pythonCode('embedding', ...drawn)}
tokens = [${words}]
n, d_model = len(tokens), ${dModel}
x = torch.stack([embedding(token, d_model) for token in tokens])${
      encoded
        ? `
position = torch.arange(n, dtype=torch.float64)[:, None]
angle = position / ${double(base)} ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
x = (x + torch.stack((angle.sin(), angle.cos()), dim=2).reshape(n, d_model)).float()`
        : ''
    }`,
  };
}
