import { hiddenFactor } from '../../core/layer.js';
import { exclusion, layer, sentence } from '../../programs/calls.js';
import { gap, printMatrix } from '../../programs/print.js';
import { cxx, js, py } from '../../programs/writers.js';

/** @typedef {import('../../core/sentence.js').Given} Given */
/** @typedef {import('../../models/language/languagePrograms.js').Learned} Learned */

/**
 * The calls at the start of every program about a block. They define the block's input `x` (n, E)
 * and its `layer`, which has the given settings.
 * @param {Given} given
 * @param {Learned | null} learned the language model that the layer belongs to, if any
 * @returns {import('../../programs/print.js').Call[]}
 */
export function blockCalls(given, learned) {
  if (learned) return learned.languageCalls(given, learned, 'block');
  const { dModel, heads, weights, seed, norm } = given;
  const isIdentity = weights === 'identity';
  const dimFeedforward = hiddenFactor * dModel;
  const normFirst = norm === 'pre';
  const sizes = { dModel: 'dModel', numHeads: 'numHeads' };
  const options = { ...sizes, dimFeedforward, normFirst, attentionBias: false };
  return [
    ...sentence(given, given.tokens),
    {
      python: py`layer = torch.nn.TransformerEncoderLayer(
    d_model, nhead=${heads}, dim_feedforward=${dimFeedforward}, dropout=0,
    norm_first=${normFirst}, batch_first=True)
with torch.no_grad():
    layer.self_attn.in_proj_bias.zero_()
    layer.self_attn.out_proj.bias.zero_()
    for stream, linear in enumerate((layer.linear1, layer.linear2), 6):
        linear.weight.copy_(xavier(*linear.weight.shape, ${seed}, stream))
        linear.bias.zero_()
${
  isIdentity
    ? `    layer.self_attn.in_proj_weight.copy_(torch.eye(d_model).repeat(3, 1))
    layer.self_attn.out_proj.weight.copy_(torch.eye(d_model))`
    : `    four = (*layer.self_attn.in_proj_weight.chunk(3), layer.self_attn.out_proj.weight)
    for stream, weight in enumerate(four):
        weight.copy_(xavier(d_model, d_model, ${seed}, stream))`
}`,
      cpp: `const std::int64_t num_heads = ${heads};`,
      javascript: `const numHeads = ${heads};`,
    },
    layer('layer', 'TransformerEncoderLayer', { ...options, seed }),
    ...(isIdentity
      ? [
          layer('attention', 'MultiHeadAttention', { ...sizes, init: 'identity' }),
          {
            cpp: `for (const std::string& name : attention.parameter_names()) {
  layer.set_parameter("self_attn." + name, attention.parameter(name));
}`,
            javascript: `for (const name of attention.parameterNames()) {
  layer.setParameter(\`self_attn.\${name}\`, attention.parameter(name));
}`,
          },
        ]
      : []),
  ];
}

/**
 * Programs that compute the output of the block.
 * @param {Given} given
 * @param {Learned | null} learned the language model that the layer belongs to, if any
 */
export function encoderBlockCode(given, learned) {
  const { lines, javascript, cpp } = exclusion(given, given.tokens.length);
  return printMatrix('y', 'n', 'dModel', [
    ...blockCalls(given, learned),
    gap,
    // With learned weights, earlier calls already define the masks.
    !learned && lines,
    {
      python: `with torch.no_grad():
    y = layer(x[None], src_mask=~attends)[0]`,
      cpp: cxx`std::vector<float> y(n * d_model);
layer.forward(view(x), view(y), ${{ attention: cpp }});`,
      javascript: js`const { output: y } = layer.forward(x, ${{ attention: javascript }});`,
    },
  ]);
}
