import { cppProgram, javascriptProgram, pythonProgram } from '../../programs/programs.js';

/**
 * Programs that compute the model's loss for the tokens in order, shuffled, and without positions.
 * @param {import('../../core/sentence.js').SentenceSettings} given
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 * @param {number[]} order
 */
export function lossCode(given, learned, order) {
  // Each case specifies itself whether there are positions.
  const settings = { ...given, encoding: /** @type {const} */ ('sinusoidal') };
  const { config } = learned;
  const { vocabularySize } = config;
  const turns = config.positions === 'rotary';
  const { javascript, cpp, python } = learned.modelCode(settings, learned);
  return {
    python: pythonProgram({
      body: `${python}
order = torch.tensor(${JSON.stringify(order)})

def loss(ids, placed=True):
    x = ${turns ? 'embed(ids)' : 'embed(ids) if placed else state["embedding.weight"][ids] * d_model ** 0.5'}
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    for each in encoder:
        each.self_attn.turns = ${turns ? 'placed' : 'False'}
        x = each(x[None], src_mask=later)[0]
    norm = state["encoder.norm.weight"], state["encoder.norm.bias"]
    h = torch.nn.functional.layer_norm(x, (d_model,), *norm)
    logits = h @ state["embedding.weight"].T
    return torch.nn.functional.cross_entropy(logits[:-1], ids[1:])

losses = torch.stack((loss(ids), loss(ids[order]), loss(ids, placed=False)))[:, None]`,
      result: 'losses',
    }),
    cpp: cppProgram({
      body: `${cpp}
const std::vector<std::int64_t> order{${order.join(', ')}};
const attn::Linear output(embedding);

${
  turns
    ? `attn::TransformerEncoderOptions options = encoder.options();
options.layer.positions = {};
attn::TransformerEncoder unplaced(options);
attn::load_state_dict(unplaced, file, "encoder.");`
    : 'const attn::TransformerEncoder& unplaced = encoder;'
}
const auto loss = [&](const std::vector<std::int64_t>& ids, bool placed) {
  std::vector<float> x${turns ? ' = embed(ids)' : '(n * d_model)'};
${
  turns
    ? ''
    : `  if (placed) {
    x = embed(ids);
  } else {
    embedding.forward(attn::IdView(ids.data(), {n}), view(x));
  }
`
}  (placed ? encoder : unplaced).forward(view(x), view(x), {.attention = {.causal = true}});
  std::vector<float> logits(n * ${vocabularySize});
  output.forward(view(x), attn::Tensor(logits.data(), {n, ${vocabularySize}}));
  double total = 0;
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    const float* const row = logits.data() + i * ${vocabularySize};
    const float largest = *std::max_element(row, row + ${vocabularySize});
    double sum = 0;
    for (std::int64_t j = 0; j < ${vocabularySize}; ++j) sum += std::exp(row[j] - largest);
    total += std::log(sum) + largest - row[ids[i + 1]];
  }
  return total / static_cast<double>(n - 1);
};
std::vector<std::int64_t> shuffled;
for (const std::int64_t i : order) shuffled.push_back(ids[i]);
const std::vector<double> losses{loss(ids, true), loss(shuffled, true), loss(ids, false)};`,
      ...{ result: 'losses', rows: '3', columns: '1', includes: ['<algorithm>', '<cmath>'] },
    }),
    javascript: javascriptProgram({
      body: `${javascript}
const order = ${JSON.stringify(order)};
const output = new attn.Linear({ tiedTo: embedding });
${
  turns
    ? `const unplaced = new attn.TransformerEncoder({
  ...{ dModel, numHeads, numLayers: ${config.numLayers}, finalNorm: true, normFirst: true },
  ...{ dimFeedforward: ${config.dimFeedforward}, activation: '${config.activation}' },
});
unplaced.loadStateDict(file, { prefix: 'encoder.' });`
    : 'const unplaced = encoder;'
}
const loss = (ids, placed) => {
  const x = ${turns ? 'embed(ids)' : 'placed ? embed(ids) : embedding.forward(ids)'};
  const stack = placed ? encoder : unplaced;
  const { data, shape } = output.forward(stack.forward(x, { attention: { causal: true } }).output);
  let total = 0;
  for (let i = 0; i + 1 < n; i++) {
    const row = data.subarray(i * shape[1], (i + 1) * shape[1]);
    const largest = row.reduce((a, b) => Math.max(a, b));
    const sum = row.reduce((sum, value) => sum + Math.exp(value - largest), 0);
    total += Math.log(sum) + largest - row[ids[i + 1]];
  }
  return total / (n - 1);
};
const shuffled = order.map((i) => ids[i]);
const losses = {
  data: Float64Array.of(loss(ids, true), loss(shuffled, true), loss(ids, false)),
  shape: [3, 1],
};`,
      result: 'losses',
    }),
  };
}
