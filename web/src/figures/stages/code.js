import { cppProgram, javascriptProgram, pythonProgram } from '../../frame/programs.js';
import { layerCode } from '../attention/code.js';

/**
 * Programs that go through a head stage by stage, to its output.
 * @param {import('../../model/sentence.js').SentenceSettings} settings
 * @param {string[]} tokens
 * @param {number} head
 */
export function stagesCode(settings, tokens, head) {
  const { dModel, heads } = settings;
  const { javascript, python, cpp } = layerCode(settings, tokens, 'stages-input');
  const depth = dModel / heads;
  const [begin, end] = [head * depth, (head + 1) * depth];
  return {
    python: pythonProgram({
      body: `${python.before}

# Head ${head + 1} of ${heads}: columns ${begin} to ${end - 1}.
W_q, W_k, W_v = (w[${begin}:${end}] for w in mha.in_proj_weight.detach().chunk(3))
Q, K, V = x @ W_q.T, x @ W_k.T, x @ W_v.T
scores = Q @ K.T
scaled = scores / ${depth} ** 0.5
masked = scaled.masked_fill(${python.options.join(', ')}, float("-inf"))
weights = masked.softmax(dim=1)
O = weights @ V`,
      result: 'O',
    }),
    cpp: cppProgram({
      body: `${cpp.before}

// Head ${head + 1} of ${heads}: columns ${begin} to ${end - 1}.
const std::int64_t D = d_model / num_heads, begin = ${head} * D;
const attn::ConstTensor projections = layer.parameter("in_proj_weight");
std::vector<float> q(n * D), k(n * D), v(n * D), o(n * D);
attn::Linear linear(d_model, D, false);
for (int which = 0; std::vector<float>* rows : {&q, &k, &v}) {
  const std::int64_t first = which++ * d_model + begin;
  linear.set_parameter("weight", projections.slice(0, first, first + D));
  linear.forward(view(x), attn::Tensor(rows->data(), {n, D}));
}

std::vector<float> scaled(n * n), masked(n * n), weights(n * n);
const auto head = [&](std::vector<float>& rows) { return attn::Tensor(rows.data(), {1, 1, n, D}); };
const auto square = [&](std::vector<float>& rows) { return attn::Tensor(rows.data(), {1, 1, n, n}); };
attn::scaled_dot_product_attention(
    head(q), head(k), head(v), head(o),
    {${[...cpp.options, '.scaled_scores = square(scaled)', '.biased_scores = square(masked)', '.weights = square(weights)'].join(',\n     ')}});`,
      ...{ result: 'o', rows: 'n', columns: 'D', includes: ['<string_view>'] },
    }),
    javascript: javascriptProgram({
      body: `${javascript.before}

// Head ${head + 1} of ${heads}: columns ${begin} to ${end - 1}.
const D = dModel / numHeads;
const projections = layer.parameter('in_proj_weight').data;
const linear = new attn.Linear({ inFeatures: dModel, outFeatures: D, bias: false });
const [q, k, v] = [0, 1, 2].map((which) => {
  const first = (which * dModel + ${head} * D) * dModel;
  const data = projections.subarray(first, first + D * dModel);
  linear.setParameter('weight', { data, shape: [D, dModel] });
  return linear.forward(x);
});
const stages = attn.scaledDotProductAttention(q, k, v, {
${[...javascript.options, 'needScaledScores: true', 'needBiasedScores: true', 'needWeights: true'].map((option) => `  ${option},\n`).join('')}});
const { scaledScores: scaled, biasedScores: masked, weights, output: O } = stages;`,
      result: 'O',
    }),
  };
}
