import { exclusionCode } from '../../programs/exclusionCode.js';
import { inputCode } from '../../programs/inputCode.js';
import { cppProgram, javascriptProgram, pythonProgram } from '../../programs/programs.js';

/** @typedef {import('../../core/sentence.js').SentenceSettings} SentenceSettings */

/**
 * The first lines of programs about the layer, which define its input `x`, the `layer`, and the
 * masks.
 * @param {SentenceSettings} settings
 * @param {string[]} tokens
 * @param {import('../../models/language/languagePrograms.js').Learned | null} [learned] the
 *   language model, if the layer is one of its layers
 */
export function layerCode(settings, tokens, learned) {
  if (learned) return learned.languageCode(settings, learned, 'attention');
  const { heads, weights, seed } = settings;
  const identity = weights === 'identity';
  const input = inputCode(settings, tokens, !identity && 'xavier');
  const masks = exclusionCode(settings, tokens.length);
  const lines = (/** @type {string[]} */ ...parts) => parts.filter(Boolean).join('\n');
  return {
    javascript: {
      before: lines(
        `${input.javascript}
const numHeads = ${heads};
const layer = new attn.MultiHeadAttention({
  ...{ dModel, numHeads, bias: false },
  ${identity ? "init: 'identity'" : `...{ init: 'xavier', seed: ${seed} }`},
});`,
        masks.javascript.before,
      ),
      options: masks.javascript.options,
    },
    python: {
      before: lines(
        `${input.python}
mha = torch.nn.MultiheadAttention(d_model, ${heads}, bias=False, batch_first=True)
with torch.no_grad():
${
  identity
    ? `    mha.in_proj_weight.copy_(torch.eye(d_model).repeat(3, 1))
    mha.out_proj.weight.copy_(torch.eye(d_model))`
    : `    for stream, w in enumerate((*mha.in_proj_weight.chunk(3), mha.out_proj.weight)):
        w.copy_(xavier(d_model, d_model, ${seed}, stream))`
}`,
        masks.python.before,
      ),
      options: masks.python.options,
    },
    cpp: {
      before: lines(
        `${input.cpp}
const std::int64_t num_heads = ${heads};
attn::MultiHeadAttention layer({.d_model = d_model, .num_heads = num_heads, .bias = false});
layer.${identity ? 'initialize_identity()' : `initialize_xavier(${seed})`};`,
        masks.cpp.before,
      ),
      options: masks.cpp.options,
    },
  };
}

/**
 * Programs that compute the weights of a head.
 * @param {SentenceSettings} settings
 * @param {string[]} tokens
 * @param {number} head
 * @param {import('../../models/language/languagePrograms.js').Learned | null} [learned]
 */
export function attentionCode(settings, tokens, head, learned) {
  const parts = layerCode(settings, tokens, learned);
  return attentionPrograms(parts, head, settings.heads);
}

/**
 * Programs that compute the weights of a head of the given layer.
 * @param {ReturnType<typeof layerCode>} parts
 * @param {number} head
 * @param {number} heads
 */
export function attentionPrograms({ javascript, python, cpp }, head, heads) {
  return {
    python: pythonProgram({
      body: `${python.before}

_, weights = mha(x[None], x[None], x[None], attn_mask=${python.options.join(', ')},
                 average_attn_weights=False)
head = weights[0, ${head}]  # head ${head + 1} of ${heads}`,
      result: 'head',
    }),
    cpp: cppProgram({
      body: `${cpp.before}

std::vector<float> y(n * d_model), weights(num_heads * n * n);
const attn::Tensor X(x.data(), {1, n, d_model}), Y(y.data(), {1, n, d_model});
layer.forward(X, X, X, Y,
              {.attention = {${[...cpp.options, '.weights = attn::Tensor(weights.data(), {1, num_heads, n, n})'].join(',\n                             ')}}});
const float* const head = weights.data() + ${head} * n * n;  // head ${head + 1} of ${heads}`,
      ...{ result: 'head', rows: 'n', columns: 'n', includes: ['<string_view>'] },
    }),
    javascript: javascriptProgram({
      body: `${javascript.before}

const { weights } = layer.forward(x, x, x, { ${[...javascript.options, 'needWeights: true'].join(', ')} });
// Head ${head + 1} of ${heads}.
const head = { data: weights.data.subarray(${head} * n * n, ${head + 1} * n * n), shape: [n, n] };`,
      result: 'head',
    }),
  };
}
