import { printMatrix } from '../../programs/print.js';

/** @typedef {import('../../core/sentence.js').Given} Given */
/** @typedef {import('../../models/language/languagePrograms.js').Learned} Learned */

/**
 * Programs that apply the logit lens. For each token, they print a line with the largest probability
 * of a next token, after the embedding and after each layer.
 * @param {Given} given
 * @param {Learned} learned
 */
export function lensCode(given, learned) {
  const { vocabularySize, numLayers } = learned.config;
  return printMatrix('probabilities', 'n', numLayers + 1, [
    ...learned.modelCalls(given, learned),
    {
      python: `
x = embed(ids)
later = torch.ones(n, n, dtype=torch.bool).triu(1)
rows = [x]
for each in encoder:
    x = each(x[None], src_mask=later)[0]
    rows.append(x)
norm = state["encoder.norm.weight"], state["encoder.norm.bias"]
h = torch.nn.functional.layer_norm(torch.stack(rows), (d_model,), *norm)
probabilities = (h @ state["embedding.weight"].T).softmax(-1).amax(-1).T`,
      cpp: `
std::vector<std::string> names = {"layers.0.resid_pre"};
for (int l = 0; l < ${numLayers}; ++l) names.push_back("layers." + std::to_string(l) + ".output");
attn::Intermediates shown(names);
std::vector<float> x = embed(ids);
encoder.forward(view(x), view(x), {.attention = {.causal = true}, .intermediates = &shown});
attn::LayerNorm norm(d_model);
norm.set_parameter("weight", encoder.parameter("norm.weight"));
norm.set_parameter("bias", encoder.parameter("norm.bias"));
const attn::Linear output(embedding);
attn::OwnedTensor h({n, d_model}), logits({n, ${vocabularySize}});
std::vector<double> probabilities(n * ${numLayers + 1});
for (std::size_t l = 0; l < names.size(); ++l) {
  norm.forward(shown[names[l]], h.view());
  output.forward(h.view(), logits.view());
  for (std::int64_t i = 0; i < n; ++i) {
    const float* const row = &logits(i, 0);
    const double largest = *std::max_element(row, row + ${vocabularySize});
    double total = 0;
    for (std::int64_t id = 0; id < ${vocabularySize}; ++id) total += std::exp(row[id] - largest);
    probabilities[i * names.size() + l] = 1 / total;
  }
}`,
      javascript: `
const after = Array.from({ length: ${numLayers} }, (_, l) => \`layers.\${l}.output\`);
const names = ['layers.0.resid_pre', ...after];
const { intermediates } = encoder.forward(embed(ids), {
  attention: { causal: true },
  intermediates: names,
});
const norm = new attn.LayerNorm({ width: dModel });
for (const name of ['weight', 'bias']) norm.setParameter(name, encoder.parameter(\`norm.\${name}\`));
const output = new attn.Linear({ tiedTo: embedding });
const probabilities = { data: new Float64Array(n * names.length), shape: [n, names.length] };
names.forEach((name, l) => {
  const { data } = output.forward(norm.forward(intermediates[name]));
  for (let i = 0; i < n; i++) {
    const row = data.subarray(i * ${vocabularySize}, (i + 1) * ${vocabularySize});
    const largest = row.reduce((a, b) => Math.max(a, b));
    const total = row.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
    probabilities.data[i * names.length + l] = 1 / total;
  }
});`,
    },
  ]);
}

/**
 * Programs that print the contributions to the logit of one possible next token: the embedding, the
 * heads and the feed-forward network of each layer, and the biases.
 * @param {Given & { target: number }} given
 * @param {Learned} learned
 */
export function contributionsCode(given, learned) {
  const { target } = given;
  const { numLayers, numHeads } = learned.config;
  return printMatrix('contributions', 2 + numLayers * (numHeads + 1), 1, [
    ...learned.modelCalls(given, learned),
    {
      python: `
x = embed(ids)
later = torch.ones(n, n, dtype=torch.bool).triu(1)
parts, bias = [x[-1]], torch.zeros(d_model)
for each in encoder:
    attention = each.self_attn
    q, k, v = attention.project(each.norm1(x))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(later, float("-inf"))
    columns = attention.out_proj.weight.chunk(num_heads, dim=1)
    parts += [columns[h] @ row for h, row in enumerate((scores.softmax(-1) @ v)[:, -1])]
    bias = bias + attention.out_proj.bias
    middle = x + attention(each.norm1(x), attn_mask=later)[0]
    x = each(x[None], src_mask=later)[0]
    parts.append((x - middle)[-1])
row = state["embedding.weight"][${target}]
direction = row * state["encoder.norm.weight"] / (x[-1].var(unbiased=False) + 1e-5).sqrt()
direction = direction - direction.mean()
biases = bias @ direction + row @ state["encoder.norm.bias"]
contributions = torch.stack([part @ direction for part in parts] + [biases])[:, None]`,
      cpp: `
std::vector<float> x = embed(ids);
const attn::ConstTensor direction = embedding.parameter("weight").select(0, ${target});
const attn::Contributions all =
    encoder.contributions(view(x), direction, n - 1, {.attention = {.causal = true}});
std::vector<double> contributions = {all.embedding};
for (const auto& layer : all.layers) {
  contributions.insert(contributions.end(), layer.heads.begin(), layer.heads.end());
  contributions.push_back(layer.feed_forward);
}
contributions.push_back(all.bias);`,
      javascript: `
const table = embedding.parameter('weight').data;
const direction = { data: table.slice(${target} * dModel, ${target + 1} * dModel), shape: [dModel] };
const all = encoder.contributions(embed(ids), direction, { attention: { causal: true } });
const parts = all.layers.flatMap(({ heads, feedForward }) => [...heads, feedForward]);
const values = [all.embedding, ...parts, all.bias];
const contributions = { data: Float64Array.from(values), shape: [values.length, 1] };`,
    },
  ]);
}
