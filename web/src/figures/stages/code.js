import { attentionCode } from '../attention/code.js';

/**
 * Programs that compute every stage of a head with the current settings: those of the weights, and
 * what leads there and on from there.
 * @param {import('../../state/properties.js').Settings} settings
 * @param {string[]} tokens
 * @param {number} head
 */
export function stagesCode(settings, tokens, head) {
  const { dModel, heads } = settings;
  const { javascript, python, cpp } = attentionCode(settings, tokens, head);
  const [begin, end] = [(head * dModel) / heads, ((head + 1) * dModel) / heads];
  const n = tokens.length;
  return {
    javascript: javascript.replace(
      /const \{ weights \} = layer\.forward\(x, x, x, \{ (.*), needWeights: true \}\);[^]*|const \{ weights \} = layer\.forward\(x, x, x, \{ needWeights: true \}\);[^]*/,
      (_, exclusion) => `
// W_q, W_k and W_v lie one below the other.
const inProjection = layer.parameter('in_proj_weight');
const size = ${dModel} * ${dModel};
const [q, k, v] = [0, 1, 2].map((which) => {
  const linear = new attn.Linear({ inFeatures: ${dModel}, outFeatures: ${dModel}, bias: false });
  const data = inProjection.data.subarray(which * size, (which + 1) * size);
  linear.setParameter('weight', { data, shape: [${dModel}, ${dModel}] });
  const { data: rows } = linear.forward(x);
  linear.dispose();
  return { data: rows, shape: [1, ${n}, ${dModel}] };
});

// Head ${head + 1} has columns ${begin} to ${end - 1} of q, k, v and output.
const stages = attn.scaledDotProductAttention(q, k, v, {
  numHeads: ${heads},${exclusion ? `\n  ${exclusion},` : ''}
  needScaledScores: true, // q·k / √D
  needBiasedScores: true, // −Infinity where masked
  needWeights: true,
});
for (const [name, { shape }] of Object.entries(stages)) console.log(name, shape);
layer.dispose();
`,
    ),
    python: `${python}
# The stages before and after, for head ${head + 1}: columns ${begin} to ${end - 1}.
w_q, w_k, w_v = mha.in_proj_weight.chunk(3)
q, k, v = ((x @ w.T)[:, ${begin}:${end}] for w in (w_q, w_k, w_v))
scores = q @ k.T
scaled = scores / (${end - begin} ** 0.5)
masked = scaled.masked_fill(~attends, float('-inf'))
weights = masked.softmax(-1)
output = weights @ v
print(output)
`,
    cpp,
  };
}
