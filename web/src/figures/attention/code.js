import { exclusion, headOf, layer, sentence } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { cxx, js } from '../../programs/writers.js';

/** @typedef {import('../../core/sentence.js').Given} Given */
/** @typedef {import('../../models/language/languagePrograms.js').Learned} Learned */
/** @typedef {import('../../programs/print.js').Call} Call */

/**
 * The calls with which each program about the layer begins. They define the layer's input `x`, the
 * `layer` (`mha` in Python), and the masks.
 * @param {Given} given
 * @param {Learned | null} learned the language model that the layer belongs to, if any
 * @returns {Call[]}
 */
export function layerCalls(given, learned) {
  if (learned) return learned.languageCalls(given, learned, 'attention');
  const { tokens, heads, weights, seed } = given;
  const isIdentity = weights === 'identity';
  return [
    ...sentence(given, tokens),
    {
      python: `mha = torch.nn.MultiheadAttention(d_model, ${heads}, bias=False, batch_first=True)
with torch.no_grad():
${
  isIdentity
    ? `    mha.in_proj_weight.copy_(torch.eye(d_model).repeat(3, 1))
    mha.out_proj.weight.copy_(torch.eye(d_model))`
    : `    for stream, w in enumerate((*mha.in_proj_weight.chunk(3), mha.out_proj.weight)):
        w.copy_(xavier(d_model, d_model, ${seed}, stream))`
}`,
      cpp: `const std::int64_t num_heads = ${heads};`,
      javascript: `const numHeads = ${heads};`,
    },
    layer('layer', 'MultiHeadAttention', {
      ...{ dModel: 'dModel', numHeads: 'numHeads', bias: false },
      ...(isIdentity ? { init: 'identity' } : { init: 'xavier', seed }),
    }),
    exclusion(given, tokens.length).lines,
  ];
}

/**
 * Defines the output of the layer as `f(x)`.
 * @param {Given} given
 * @param {Call} [before] lines that change x first
 * @returns {Call}
 */
export function layerFunction(given, before = {}) {
  const masks = exclusion(given, given.tokens.length);
  return {
    python: `
def f(x):
${before.python || ''}    with torch.no_grad():
        return mha(x[None], x[None], x[None], attn_mask=~attends)[0][0]
`,
    cpp: cxx`
const auto f = [&](std::vector<float> x) {
  std::vector<float> y(n * d_model);
${before.cpp || ''}  layer.forward(view(x), view(x), view(x), view(y), ${{ attention: masks.cpp }});
  return y;
};`,
    javascript: js`
const f = (x) => {
${before.javascript || ''}  return layer.forward(x, x, x, ${masks.javascript}).output;
};`,
  };
}

/** Programs that compute the weights of a head. @param {Given} given @param {Learned | null} learned */
export const attentionCode = (given, learned) =>
  attentionPrograms(layerCalls(given, learned), given);

/**
 * Programs that compute the weights of a head. The opening `calls` define the head's layer.
 * @param {Call[]} calls
 * @param {Given} given
 */
export function attentionPrograms(calls, given) {
  const { tokens, head, heads } = given;
  const masks = exclusion(given, tokens.length);
  const weights = 'attn::Tensor(weights.data(), {1, num_heads, n, n})';
  return printMatrix('head', 'n', 'n', [
    ...calls,
    {
      python: `
_, weights = mha(x[None], x[None], x[None], attn_mask=~attends,
                 average_attn_weights=False)
head = weights[0, ${head}]  # head ${head + 1} of ${heads}`,
      cpp: cxx`
std::vector<float> y(n * d_model), weights(num_heads * n * n);
const attn::Tensor X(x.data(), {1, n, d_model}), Y(y.data(), {1, n, d_model});
layer.forward(X, X, X, Y, ${{ attention: { ...masks.cpp, weights } }});`,
      javascript: js`
const { weights } = layer.forward(x, x, x, ${{ ...masks.javascript, needWeights: true }});`,
    },
    headOf({ javascript: 'weights.data', cpp: 'weights.data()' }, 'n', { head, heads }),
  ]);
}
