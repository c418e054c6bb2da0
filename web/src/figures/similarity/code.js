import { cppProgram, double, javascriptProgram, pythonProgram } from '../../programs/programs.js';

/**
 * Programs that compute P·Pᵀ.
 * @param {{ length: number, width: number, base: number, start: number, step: number }} settings
 */
export const similarityPrograms = ({ length, width, base, start, step }) => ({
  python: pythonProgram({
    body: `length, width, base, start, step = ${length}, ${width}, ${double(base)}, ${start}, ${step}

position = start + step * torch.arange(length, dtype=torch.float64).reshape(-1, 1)
angle = position / base ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
P = torch.zeros((length, width), dtype=torch.float64)
P[:, 0::2] = torch.sin(angle)
P[:, 1::2] = torch.cos(angle[:, : width // 2])
products = P @ P.T`,
    result: 'products',
  }),
  cpp: cppProgram({
    body: `const std::int64_t length = ${length}, width = ${width};
std::vector<float> P(length * width), products(length * length), ones(length, 1), unused(length);
attn::sinusoidal_encoding(attn::Tensor(P.data(), {length, width}),
                          {.base = ${double(base)}, .start = ${start}, .step = ${step}});

// The scores of an attention whose queries and keys are the rows of P.
const attn::Tensor rows(P.data(), {1, 1, length, width});
attn::scaled_dot_product_attention(
    rows, rows, attn::Tensor(ones.data(), {1, 1, length, 1}),
    attn::Tensor(unused.data(), {1, 1, length, 1}),
    {.scale = 1, .scaled_scores = attn::Tensor(products.data(), {1, 1, length, length})});`,
    result: 'products',
    rows: 'length',
    columns: 'length',
  }),
  javascript: javascriptProgram({
    body: `const P = attn.sinusoidalEncoding({
  length: ${length},
  dModel: ${width},
  base: ${base},
  start: ${start},
  step: ${step},
});

// The scores of an attention whose queries and keys are the rows of P.
const { scaledScores: products } = attn.scaledDotProductAttention(P, P, P, {
  scale: 1,
  needScaledScores: true,
});`,
    result: 'products',
  }),
});
