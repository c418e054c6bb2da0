import { candidates } from '../../programs/calls.js';
import { knockOutOf } from '../../core/cuts.js';
import { printMatrix } from '../../programs/print.js';

/**
 * Programs that predict the next token. They print a line for each of the ten most probable tokens
 * with its id and probability. With cuts, some queries may not look at some keys.
 * @param {import('../../core/sentence.js').Given & { temperature: number, topK: number,
 *   cuts?: readonly import('../../core/cuts.js').Cut[] }} given
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 */
export function nextWordCode(given, learned) {
  const { temperature, topK, cuts = [] } = given;
  const { vocabularySize, numLayers } = learned.config;
  const knockOut = knockOutOf(cuts, numLayers);
  const cpp = knockOut.map(
    ({ attention, head, query, key }) =>
      `cut.knock_out("${attention}", ${head ?? '{}'}, ${query}, ${key});\n`,
  );
  const javascript = knockOut.map(({ attention, head, query, key }) => {
    const one = head === undefined ? '' : `head: ${head}, `;
    return `  { attention: '${attention}', ${one}query: ${query}, key: ${key} },\n`;
  });
  const python = cuts.map(
    ({ layer, head, query, key }) =>
      `excluded[${[layer ?? ':', head ?? ':', query, key].join(', ')}] = True\n`,
  );
  const kept = topK || vocabularySize;
  const shown = Math.min(10, kept);
  return printMatrix('candidates', shown, 2, [
    ...learned.modelCalls(given, learned, cuts.length > 0),
    {
      python: `
x = embed(ids)
${
  cuts.length
    ? `excluded = torch.ones(n, n, dtype=torch.bool).triu(1).repeat(${numLayers}, num_heads, 1, 1)
${python.join('')}masks = torch.zeros(excluded.shape).masked_fill(excluded, float("-inf"))
for each, mask in zip(encoder, masks):
    x = each(x[None], src_mask=mask)[0]`
    : `later = torch.ones(n, n, dtype=torch.bool).triu(1)
for each in encoder:
    x = each(x[None], src_mask=later)[0]`
}
norm = state["encoder.norm.weight"], state["encoder.norm.bias"]
h = torch.nn.functional.layer_norm(x, (d_model,), *norm)
logits, order = (h[-1] @ state["embedding.weight"].T).sort(descending=True, stable=True)
probabilities = (logits[:${kept}] / ${temperature}).softmax(0)
candidates = torch.stack((order[:${shown}], probabilities[:${shown}]), dim=1)`,
      cpp: `
std::vector<float> x = embed(ids);
${cuts.length ? `attn::Interventions cut;\n${cpp.join('')}` : ''}encoder.forward(view(x), view(x), {.attention = {.causal = true}${cuts.length ? ', .interventions = &cut' : ''}});
const attn::Linear output(embedding);
std::vector<float> logits(${vocabularySize});
output.forward(view(x).slice(0, n - 1, n), attn::Tensor(logits.data(), {1, ${vocabularySize}}));`,
      javascript: `
const output = new attn.Linear({ tiedTo: embedding });
${cuts.length ? `const knockOut = [\n${javascript.join('')}];\n` : ''}const { output: h } = encoder.forward(embed(ids), { attention: { causal: true }${cuts.length ? ', knockOut' : ''} });
const last = { data: h.data.subarray((n - 1) * dModel), shape: [1, dModel] };
const logits = output.forward(last).data;`,
    },
    candidates({ temperature, kept, shown }),
  ]);
}

/** `nextWordCode` with cuts, which programs for a reader's model do not have. */
export const cutCode = nextWordCode;
