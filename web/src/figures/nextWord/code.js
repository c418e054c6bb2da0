import { candidates } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';

/**
 * Programs that predict the next token. They print a line for each of the ten most probable tokens
 * with its id and probability.
 * @param {import('../../core/sentence.js').SentenceSettings} settings
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 * @param {{ temperature: number, topK: number }} options
 */
export function nextWordCode(settings, learned, { temperature, topK }) {
  const { vocabularySize } = learned.config;
  const kept = topK || vocabularySize;
  const shown = Math.min(10, kept);
  return printMatrix('candidates', shown, 2, [
    ...learned.modelCalls(settings, learned),
    {
      python: `
x = embed(ids)
later = torch.ones(n, n, dtype=torch.bool).triu(1)
for each in encoder:
    x = each(x[None], src_mask=later)[0]
norm = state["encoder.norm.weight"], state["encoder.norm.bias"]
h = torch.nn.functional.layer_norm(x, (d_model,), *norm)
logits, order = (h[-1] @ state["embedding.weight"].T).sort(descending=True, stable=True)
probabilities = (logits[:${kept}] / ${temperature}).softmax(0)
candidates = torch.stack((order[:${shown}], probabilities[:${shown}]), dim=1)`,
      cpp: `
std::vector<float> x = embed(ids);
encoder.forward(view(x), view(x), {.attention = {.causal = true}});
const attn::Linear output(embedding);
std::vector<float> logits(${vocabularySize});
output.forward(view(x).slice(0, n - 1, n), attn::Tensor(logits.data(), {1, ${vocabularySize}}));`,
      javascript: `
const output = new attn.Linear({ tiedTo: embedding });
const { output: h } = encoder.forward(embed(ids), { attention: { causal: true } });
const last = { data: h.data.subarray((n - 1) * dModel), shape: [1, dModel] };
const logits = output.forward(last).data;`,
    },
    candidates({ temperature, kept, shown }),
  ]);
}
