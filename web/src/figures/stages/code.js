import { exclusion, headOf } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { cxx, js } from '../../programs/writers.js';
import { layerCalls } from '../attention/code.js';

/** The layer's names for the intermediate results between input and output. */
const names = ['q', 'k', 'v', 'scaled_scores', 'biased_scores', 'weights', 'head_output'];

/**
 * Programs that go through a head stage by stage, up to its output.
 * @param {import('../../core/sentence.js').Given} given
 * @param {import('../../models/language/languagePrograms.js').Learned | null} learned the
 *   language model that the layer belongs to, if any
 */
export function stagesCode(given, learned) {
  const { tokens, dModel, head, heads } = given;
  const masks = exclusion(given, tokens.length);
  const depth = dModel / heads;
  const [begin, end] = [head * depth, (head + 1) * depth];
  const intermediates = names.map((name) => `'${name}'`);
  return printMatrix('head', 'n', 'D', [
    ...layerCalls(given, learned),
    {
      python: `
# Head ${head + 1} of ${heads}: columns ${begin} to ${end - 1}.
${
  learned
    ? `Q, K, V = (y[${head}] for y in mha.project(x))`
    : `W_q, W_k, W_v = (w[${begin}:${end}] for w in mha.in_proj_weight.detach().chunk(3))
Q, K, V = x @ W_q.T, x @ W_k.T, x @ W_v.T`
}
scores = Q @ K.T
scaled = scores / ${depth} ** 0.5
masked = scaled.masked_fill(~attends, float("-inf"))
weights = masked.softmax(dim=1)
head = weights @ V`,
      cpp: cxx`
std::vector<float> y(n * d_model);
const attn::Tensor X(x.data(), {1, n, d_model}), Y(y.data(), {1, n, d_model});
attn::Intermediates shown({${names.map((name) => `"${name}"`).join(', ')}});
layer.forward(X, X, X, Y, ${{ attention: masks.cpp, intermediates: '&shown' }});
const std::int64_t D = d_model / num_heads;`,
      javascript: js`
const { intermediates } = layer.forward(x, x, x, ${{ ...masks.javascript, intermediates }});
const D = dModel / numHeads;`,
    },
    headOf(
      { javascript: 'intermediates.head_output.data', cpp: 'shown["head_output"].data()' },
      'D',
      { head, heads },
    ),
  ]);
}
