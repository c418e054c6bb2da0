import { printMatrix } from '../../programs/print.js';

/**
 * Programs that print a line for each token of the vocabulary: the score of its key with the query of
 * a token of the sentence, and what the value of that token adds to its logit.
 * @param {import('../../core/sentence.js').Given & { query: number, key: number }} given query, key:
 *   positions
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 */
export function circuitsCode(given, learned) {
  const { ids, layer, head, query, key, encoding } = given;
  const { vocabularySize, positions, scaleBySqrtDim } = learned.config;
  const id = ids[query];
  const rotates = positions === 'rotary' && encoding !== 'none';
  return printMatrix('scores', vocabularySize, 2, [
    ...learned.modelCalls(given, learned),
    {
      python: `
attention = encoder[${layer}].self_attn
table = state["embedding.weight"]${scaleBySqrtDim ? ' * d_model ** 0.5' : ''}
places = embed(ids) - table[ids]
token = encoder[${layer}].norm1(table[${id}] + places[${query}])
# Rotary scores depend only on the distance, so only the query is rotated.
query = attention.project(token.expand(n, -1))[0][${head}, ${query - key}]
attention.turns = False
keys = attention.project(encoder[${layer}].norm1(table + places[${key}]))[1][${head}]
matches = keys @ query / len(query) ** 0.5

value = attention.in_proj_weight.chunk(3)[2].chunk(num_heads)[${head}] @ token
written = attention.out_proj.weight.chunk(num_heads, dim=1)[${head}] @ value
h = torch.nn.functional.layer_norm(written, (d_model,), state["encoder.norm.weight"])
scores = torch.stack((matches, state["embedding.weight"] @ h), dim=1)`,
      cpp: `
const attn::TransformerEncoderLayer& layer = encoder.layers()[${layer}];
const std::int64_t size = ${vocabularySize}, depth = d_model / num_heads;
const auto run = [&](const attn::ConstTensor& x, ${rotates ? '' : '[[maybe_unused]] '}double position,
                     attn::Intermediates& shown) {
  attn::OwnedTensor output(x.shape());
  layer.forward(x, output.view(), {${
    rotates
      ? '.positions = attn::TensorView<const double>(&position, {1}),\n                                  '
      : ''
  }.intermediates = &shown});
};
std::vector<float> placed = embed(ids);
attn::Intermediates token({"norm1.output", "self_attn.q"}), vocabulary({"self_attn.k"});
run(view(placed).slice(0, ${query}, ${query + 1}), ${query}, token);

// Each token of the vocabulary is a sequence of one token.
std::vector<std::int64_t> all(size);
std::iota(all.begin(), all.end(), 0);
attn::OwnedTensor x({size, 1, d_model});
embedding.forward(attn::IdView(all.data(), {size, 1}), x.view());
for (std::int64_t i = 0; i < d_model; ++i) {
  const float place = placed[${key} * d_model + i] - x(${ids[key]}, 0, i);
  for (std::int64_t id = 0; id < size; ++id) x(id, 0, i) += place;
}
run(x.view(), ${key}, vocabulary);

const attn::ConstTensor projection = layer.parameter("self_attn.in_proj_weight");
const attn::ConstTensor out = layer.parameter("self_attn.out_proj.weight");
const float* const row = token["norm1.output"].data();
attn::OwnedTensor written({1, d_model}), h({1, d_model}), logits({1, size});
for (std::int64_t d = ${head} * depth; d < ${head + 1} * depth; ++d) {
  const float* const weight = projection.data() + (2 * d_model + d) * d_model;
  const float value = std::inner_product(row, row + d_model, weight, 0.0f);
  for (std::int64_t i = 0; i < d_model; ++i) written(0, i) += value * out(i, d);
}
attn::LayerNorm norm(d_model);
norm.set_parameter("weight", encoder.parameter("norm.weight"));
norm.forward(written.view(), h.view());
const attn::Linear output(embedding);
output.forward(h.view(), logits.view());

std::vector<double> scores(2 * size);
const float* const query = token["self_attn.q"].data() + ${head} * depth;
for (std::int64_t id = 0; id < size; ++id) {
  const float* const key = vocabulary["self_attn.k"].data() + (id * num_heads + ${head}) * depth;
  scores[2 * id] = std::inner_product(query, query + depth, key, 0.0) / std::sqrt(depth);
  scores[2 * id + 1] = logits(0, id);
}`,
      javascript: `
const layer = encoder.layers[${layer}];
const [size, depth] = [${vocabularySize}, dModel / numHeads];
const run = (x, position, intermediates) =>
  layer.forward(x, { ${rotates ? 'positions: [position], ' : ''}intermediates }).intermediates;
const placed = embed(ids).data;
const rowAt = (i) => placed.subarray(i * dModel, (i + 1) * dModel);
const token = run({ data: rowAt(${query}), shape: [1, dModel] }, ${query}, ['norm1.output', 'self_attn.q']);

// Each token of the vocabulary is a sequence of one token.
const x = embedding.forward(Int32Array.from({ length: size }, (_, id) => id)).data;
const place = rowAt(${key}).map((value, i) => value - x[${ids[key]} * dModel + i]);
x.forEach((_, i) => (x[i] += place[i % dModel]));
const keys = run({ data: x, shape: [size, 1, dModel] }, ${key}, ['self_attn.k'])['self_attn.k'].data;

const projection = layer.parameter('self_attn.in_proj_weight').data;
const out = layer.parameter('self_attn.out_proj.weight').data;
const row = token['norm1.output'].data;
const written = { data: new Float32Array(dModel), shape: [1, dModel] };
for (let d = ${head} * depth; d < ${head + 1} * depth; d++) {
  const weight = projection.subarray((2 * dModel + d) * dModel, (2 * dModel + d + 1) * dModel);
  const value = row.reduce((sum, x, i) => sum + x * weight[i], 0);
  written.data.forEach((_, i) => (written.data[i] += value * out[i * dModel + d]));
}
const norm = new attn.LayerNorm({ width: dModel });
norm.setParameter('weight', encoder.parameter('norm.weight'));
const logits = new attn.Linear({ tiedTo: embedding }).forward(norm.forward(written)).data;

const scores = { data: new Float64Array(2 * size), shape: [size, 2] };
const query = token['self_attn.q'].data.subarray(${head} * depth, ${head + 1} * depth);
for (let id = 0; id < size; id++) {
  const first = (id * numHeads + ${head}) * depth;
  const score = query.reduce((sum, q, i) => sum + q * keys[first + i], 0);
  scores.data.set([score / Math.sqrt(depth), logits[id]], 2 * id);
}`,
    },
  ]);
}
