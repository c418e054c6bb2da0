import { hiddenFactor } from '../../core/layer.js';
import { exclusionCode } from '../../programs/exclusionCode.js';
import { inputCode } from '../../programs/inputCode.js';
import { cppProgram, javascriptProgram, pythonProgram } from '../../programs/programs.js';

/** @typedef {import('../../core/sentence.js').SentenceSettings & Pick<import('../../state/properties/index.js').Settings, 'norm'>} Settings */

/**
 * The first lines of programs about a block, which define its input `x` (n, E) and the `layer` with
 * the settings.
 * @param {Settings} settings
 * @param {string[]} tokens
 * @param {import('../../models/language/languagePrograms.js').Learned | null} [learned] the
 *   language model, if the layer is one of its layers
 */
export function blockPrelude(settings, tokens, learned) {
  if (learned) {
    const { javascript, cpp, python } = learned.languageCode(settings, learned, 'block');
    return {
      ...{ javascript: javascript.before, python: python.before },
      cpp: `${cpp.before}\nstd::vector<float> y(n * d_model);`,
    };
  }
  const { dModel, heads, weights, seed, norm } = settings;
  const input = inputCode(settings, tokens, 'xavier');
  const identity = weights === 'identity';
  return {
    javascript: `${input.javascript}
const numHeads = ${heads};

const layer = new attn.TransformerEncoderLayer({
  dModel,
  numHeads,
  dimFeedforward: ${hiddenFactor * dModel},
  normFirst: ${norm === 'pre'},
  attentionBias: false,
  seed: ${seed},
});${
      identity
        ? `
const attention = new attn.MultiHeadAttention({ dModel, numHeads, init: 'identity' });
for (const name of attention.parameterNames()) {
  layer.setParameter(\`self_attn.\${name}\`, attention.parameter(name));
}`
        : ''
    }`,
    cpp: `${input.cpp}
const std::int64_t num_heads = ${heads};
std::vector<float> y(n * d_model);

attn::TransformerEncoderLayer layer({.d_model = d_model,
                                     .num_heads = num_heads,
                                     .dim_feedforward = ${hiddenFactor * dModel},
                                     .norm_first = ${norm === 'pre'},
                                     .attention_bias = false});
layer.initialize_xavier({.seed = ${seed}});${
      identity
        ? `
attn::MultiHeadAttention attention({.d_model = d_model, .num_heads = num_heads});
attention.initialize_identity();
for (const std::string& name : attention.parameter_names()) {
  layer.set_parameter("self_attn." + name, attention.parameter(name));
}`
        : ''
    }`,
    python: `${input.python}
layer = torch.nn.TransformerEncoderLayer(
    d_model, nhead=${heads}, dim_feedforward=${hiddenFactor * dModel}, dropout=0,
    norm_first=${norm === 'pre' ? 'True' : 'False'}, batch_first=True)
with torch.no_grad():
    layer.self_attn.in_proj_bias.zero_()
    layer.self_attn.out_proj.bias.zero_()
    for stream, linear in enumerate((layer.linear1, layer.linear2), 6):
        linear.weight.copy_(xavier(*linear.weight.shape, ${seed}, stream))
        linear.bias.zero_()
${
  identity
    ? `    layer.self_attn.in_proj_weight.copy_(torch.eye(d_model).repeat(3, 1))
    layer.self_attn.out_proj.weight.copy_(torch.eye(d_model))`
    : `    four = (*layer.self_attn.in_proj_weight.chunk(3), layer.self_attn.out_proj.weight)
    for stream, weight in enumerate(four):
        weight.copy_(xavier(d_model, d_model, ${seed}, stream))`
}`,
  };
}

/**
 * Programs that compute the output of the block.
 * @param {Settings} settings
 * @param {string[]} tokens
 * @param {import('../../models/language/languagePrograms.js').Learned | null} [learned] the
 *   language model, if the layer is one of its layers
 */
export function encoderBlockCode(settings, tokens, learned) {
  const prelude = blockPrelude(settings, tokens, learned);
  const { javascript, cpp, python } = exclusionCode(settings, tokens.length);
  const attention = javascript.options.join(', ');
  // With a model, these lines come earlier.
  const before = (/** @type {string} */ text) => (text && !learned ? `${text}\n` : '');
  return {
    python: pythonProgram({
      body: `${prelude.python}

${before(python.before)}with torch.no_grad():
    y = layer(x[None], src_mask=~attends)[0]`,
      result: 'y',
    }),
    cpp: cppProgram({
      body: `${prelude.cpp}

${before(cpp.before)}layer.forward(view(x), view(y)${cpp.options.length ? `, {.attention = {${cpp.options.join(', ')}}}` : ''});`,
      ...{ result: 'y', rows: 'n', columns: 'd_model', includes: ['<string>', '<string_view>'] },
    }),
    javascript: javascriptProgram({
      body: `${prelude.javascript}

${before(javascript.before)}const { output: y } = layer.forward(x${attention ? `, { attention: { ${attention} } }` : ''});`,
      result: 'y',
    }),
  };
}
