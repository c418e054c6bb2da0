import { cppProgram, javascriptProgram, pythonProgram } from '../../programs/programs.js';
import { layerCode } from '../attention/code.js';

/** The intermediates between input and output, as the layer names them. */
const names = ['q', 'k', 'v', 'scaled_scores', 'biased_scores', 'weights', 'head_output'];

/** @param {string[]} texts @param {string} [quote] */
const asList = (texts, quote = '"') => texts.map((text) => quote + text + quote).join(', ');

/**
 * Programs that go through a head stage by stage, up to its output.
 * @param {import('../../core/sentence.js').SentenceSettings} settings
 * @param {string[]} tokens
 * @param {number} head
 * @param {import('../../models/language/languagePrograms.js').Learned | null} [learned] the
 *   language model, if the layer is one of its layers
 */
export function stagesCode(settings, tokens, head, learned) {
  const { dModel, heads } = settings;
  const { javascript, python, cpp } = layerCode(settings, tokens, learned);
  const depth = dModel / heads;
  const [begin, end] = [head * depth, (head + 1) * depth];
  return {
    python: pythonProgram({
      body: `${python.before}

# Head ${head + 1} of ${heads}: columns ${begin} to ${end - 1}.
${
  learned
    ? `Q, K, V = (y[${head}] for y in mha.project(x))`
    : `W_q, W_k, W_v = (w[${begin}:${end}] for w in mha.in_proj_weight.detach().chunk(3))
Q, K, V = x @ W_q.T, x @ W_k.T, x @ W_v.T`
}
scores = Q @ K.T
scaled = scores / ${depth} ** 0.5
masked = scaled.masked_fill(${python.options.join(', ')}, float("-inf"))
weights = masked.softmax(dim=1)
O = weights @ V`,
      result: 'O',
    }),
    cpp: cppProgram({
      body: `${cpp.before}

std::vector<float> y(n * d_model);
const attn::Tensor X(x.data(), {1, n, d_model}), Y(y.data(), {1, n, d_model});
attn::Intermediates shown({${asList(names)}});
layer.forward(X, X, X, Y,
              {.attention = {${cpp.options.join(',\n                             ')}}, .intermediates = &shown});

// Head ${head + 1} of ${heads}.
const std::int64_t D = d_model / num_heads;
const float* const o = shown["head_output"].data() + ${head} * n * D;`,
      ...{ result: 'o', rows: 'n', columns: 'D', includes: ['<string_view>'] },
    }),
    javascript: javascriptProgram({
      body: `${javascript.before}

const { intermediates } = layer.forward(x, x, x, {
${javascript.options.map((option) => `  ${option},\n`).join('')}  intermediates: [${asList(names, "'")}],
});
// Head ${head + 1} of ${heads}.
const D = dModel / numHeads;
const all = intermediates.head_output.data;
const O = { data: all.subarray(${head} * n * D, ${head + 1} * n * D), shape: [n, D] };`,
      result: 'O',
    }),
  };
}
