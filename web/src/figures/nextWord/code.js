import { cppProgram, double, javascriptProgram, pythonProgram } from '../../programs/programs.js';

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
  const { javascript, cpp, python } = learned.modelCode(settings, learned);
  return {
    python: pythonProgram({
      body: `${python}

x = embed(ids)
later = torch.ones(n, n, dtype=torch.bool).triu(1)
for each in encoder:
    x = each(x[None], src_mask=later)[0]
norm = state["encoder.norm.weight"], state["encoder.norm.bias"]
h = torch.nn.functional.layer_norm(x, (d_model,), *norm)
logits, order = (h[-1] @ state["embedding.weight"].T).sort(descending=True, stable=True)
probabilities = (logits[:${kept}] / ${temperature}).softmax(0)
candidates = torch.stack((order[:${shown}], probabilities[:${shown}]), dim=1)`,
      result: 'candidates',
    }),
    cpp: cppProgram({
      body: `${cpp}

std::vector<float> x = embed(ids);
encoder.forward(view(x), view(x), {.attention = {.causal = true}});
const attn::Linear output(embedding);
std::vector<float> logits(${vocabularySize});
output.forward(view(x).slice(0, n - 1, n), attn::Tensor(logits.data(), {1, ${vocabularySize}}));

std::vector<std::int64_t> order(logits.size());
std::iota(order.begin(), order.end(), 0);
std::stable_sort(order.begin(), order.end(),
                 [&](std::int64_t a, std::int64_t b) { return logits[a] > logits[b]; });
order.resize(${kept});
std::vector<double> powers;
for (const std::int64_t id : order) {
  powers.push_back(std::exp((logits[id] - logits[order[0]]) / ${double(temperature)}));
}
const double total = std::accumulate(powers.begin(), powers.end(), 0.0);
std::vector<double> candidates;
for (std::size_t i = 0; i < ${shown}; ++i) {
  candidates.insert(candidates.end(), {static_cast<double>(order[i]), powers[i] / total});
}`,
      ...{ result: 'candidates', rows: String(shown), columns: '2' },
      includes: ['<algorithm>', '<cmath>', '<numeric>'],
    }),
    javascript: javascriptProgram({
      body: `${javascript}

const output = new attn.Linear({ tiedTo: embedding });
const { output: h } = encoder.forward(embed(ids), { attention: { causal: true } });
const last = { data: h.data.subarray((n - 1) * dModel), shape: [1, dModel] };
const logits = output.forward(last).data;

const order = Array.from(logits, (_, id) => id)
  .sort((a, b) => logits[b] - logits[a] || a - b)
  .slice(0, ${kept});
const powers = order.map((id) => Math.exp((logits[id] - logits[order[0]]) / ${temperature}));
const total = powers.reduce((sum, power) => sum + power, 0);
const candidates = {
  data: Float64Array.from(order.slice(0, ${shown}).flatMap((id, i) => [id, powers[i] / total])),
  shape: [${shown}, 2],
};`,
      result: 'candidates',
    }),
  };
}
