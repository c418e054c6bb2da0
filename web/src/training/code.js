import { cppProgram, double, javascriptProgram, pythonProgram } from '../programs/programs.js';
import { cppBackward, datePrograms, javascriptBackward, nativePositions } from './dateCode.js';
import { attentionPositions, lengths, sizes } from './model.js';
import { heldOutStream, trainingStreams, worlds } from './worlds.js';

/** @typedef {import('./model.js').LaneOptions} LaneOptions */

/**
 * How to make an example of a world with n given symbols: in C++ and JavaScript from uniform random
 * numbers u, in Python a whole batch from its own random numbers. Also its length and how many
 * random numbers it takes.
 * @typedef {Record<'python' | 'cpp' | 'javascript' | 'length' | 'numbers', string>} Filling
 */

/** @param {Record<'python' | 'cpp' | 'javascript', string>} answer @returns {Filling} */
const rearranged = (answer) => ({
  ...{ length: '2 * n', numbers: 'n' },
  python: `ids[:, :n] = torch.randint(20, (batch, n))
ids[:, n:] = 20
targets[:, n:] = ${answer.python}`,
  cpp: `for (int i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(20.0 * u[i]);
std::fill(ids + n, ids + 2 * n, 20);
std::fill(targets, targets + n, -100);
${answer.cpp}`,
  javascript: `for (let i = 0; i < n; i++) ids[i] = Math.floor(20 * u[i]);
ids.fill(20, n);
targets.fill(-100, 0, n);
targets.set(ids.slice(0, n)${answer.javascript}, n);`,
});

/** @type {Record<Exclude<import('./worlds.js').WorldName, 'dates'>, Filling>} */
const fillings = {
  copy: rearranged({
    python: 'ids[:, :n]',
    cpp: 'std::copy(ids, ids + n, targets + n);',
    javascript: '',
  }),
  reverse: rearranged({
    python: 'ids[:, :n].flip(1)',
    cpp: 'std::reverse_copy(ids, ids + n, targets + n);',
    javascript: '.reverse()',
  }),
  sort: rearranged({
    python: 'ids[:, :n].sort(1).values',
    cpp: 'std::copy(ids, ids + n, targets + n);\nstd::sort(targets + n, targets + 2 * n);',
    javascript: '.sort()',
  }),
  repeat: {
    ...{ length: 'n', numbers: 'n + 3' },
    python: `ids[:] = torch.randint(26, (batch, n))
for row in range(batch):
    run = int(torch.randint(4, 13, ()))
    gap = int(torch.randint(n + 1 - 2 * run, ()))
    first = int(torch.randint(n + 1 - 2 * run - gap, ()))
    second = first + run + gap
    ids[row, second:second + run] = ids[row, first:first + run].clone()
    targets[row, second:second + run - 1] = ids[row, second + 1:second + run]`,
    cpp: `for (int i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(26.0 * u[i]);
const int run = 4 + static_cast<int>(9.0 * u[n]);
const int gap = static_cast<int>((n + 1.0 - 2 * run) * u[n + 1]);
const int first = static_cast<int>((n + 1.0 - 2 * run - gap) * u[n + 2]);
const int second = first + run + gap;
std::copy(ids + first, ids + first + run, ids + second);
std::fill(targets, targets + n, -100);
std::copy(ids + second + 1, ids + second + run, targets + second);`,
    javascript: `for (let i = 0; i < n; i++) ids[i] = Math.floor(26 * u[i]);
const run = 4 + Math.floor(9 * u[n]);
const gap = Math.floor((n + 1 - 2 * run) * u[n + 1]);
const first = Math.floor((n + 1 - 2 * run - gap) * u[n + 2]);
const second = first + run + gap;
ids.copyWithin(second, first, first + run);
targets.fill(-100);
targets.set(ids.slice(second + 1, second + run), second);`,
  },
  add: {
    ...{ length: '3 * n + 3', numbers: '2 * n' },
    python: `digits, carry = torch.randint(10, (2, batch, n)), 0
ids[:, :n], ids[:, n], ids[:, n + 1:2 * n + 1] = digits[0], 10, digits[1]
ids[:, 2 * n + 1], ids[:, 2 * n + 2:] = 11, 12
for i in range(n - 1, -1, -1):
    total = digits[0, :, i] + digits[1, :, i] + carry
    targets[:, 2 * n + 3 + i], carry = total % 10, total // 10
targets[:, 2 * n + 2] = carry`,
    cpp: `for (int i = 0; i < 2 * n; ++i) ids[i + i / n] = static_cast<std::int32_t>(10.0 * u[i]);
ids[n] = 10;          // +
ids[2 * n + 1] = 11;  // =
std::fill(ids + 2 * n + 2, ids + 3 * n + 3, 12);
std::fill(targets, targets + 2 * n + 2, -100);
int carry = 0;
for (int i = n - 1; i >= 0; --i) {
  const int sum = ids[i] + ids[n + 1 + i] + carry;
  targets[2 * n + 3 + i] = sum % 10;
  carry = sum / 10;
}
targets[2 * n + 2] = carry;`,
    javascript: `for (let i = 0; i < 2 * n; i++) ids[i + (i < n ? 0 : 1)] = Math.floor(10 * u[i]);
ids[n] = 10; // +
ids[2 * n + 1] = 11; // =
ids.fill(12, 2 * n + 2);
targets.fill(-100);
let carry = 0;
for (let i = n - 1; i >= 0; i--) {
  const sum = ids[i] + ids[n + 1 + i] + carry;
  targets[2 * n + 3 + i] = sum % 10;
  carry = Math.floor(sum / 10);
}
targets[2 * n + 2] = carry;`,
  },
  count: {
    ...{ length: 'n', numbers: 'n' },
    python: `ids[:] = torch.randint(5, (batch, n))
same = (ids[:, :, None] == ids[:, None]).sum(2)
targets[:] = torch.where(same > 10, -100, 4 + same)`,
    cpp: `for (int i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(5.0 * u[i]);
for (int i = 0; i < n; ++i) {
  const auto same = static_cast<std::int32_t>(std::count(ids, ids + n, ids[i]));
  targets[i] = same > 10 ? -100 : 4 + same;
}`,
    javascript: `for (let i = 0; i < n; i++) ids[i] = Math.floor(5 * u[i]);
const same = ids.map((id) => ids.filter((other) => other === id).length);
targets.set(same.map((count) => (count > 10 ? -100 : 4 + count)));`,
  },
};

/** @param {string} text @param {number} by */
const indented = (text, by) => text.replace(/^(?=.)/gm, ' '.repeat(by));

/**
 * Programs that train a model and print a head's attention in an example. C++ and JavaScript print
 * the same numbers up to rounding.
 * @param {LaneOptions} options
 * @param {{ ids: Int32Array, steps: number, layer: number, head: number }} shown
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export const trainingPrograms = (options, { ids, steps, layer, head }) =>
  programs(options, steps, { ids: Array.from(ids), layer, head });

/**
 * Programs that train a model and print its loss before each step: one line per step, with the step
 * number.
 * @param {LaneOptions} options
 * @param {number} steps
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export const lossPrograms = (options, steps) => programs(options, steps, undefined, 'losses');

/**
 * Programs that train a model with a learned table of positions and print the table.
 * @param {LaneOptions} options
 * @param {number} steps
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export const tableProgram = (options, steps) => programs(options, steps);

/**
 * Programs that train a model and print the share of right answers for longer inputs: one line per
 * size, with the size and the share.
 * @param {Exclude<LaneOptions, { world: 'dates' }>} options
 * @param {number} steps
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export const reachPrograms = (options, steps) => programs(options, steps, undefined, 'reach');

/**
 * @param {LaneOptions} options
 * @param {number} steps
 * @param {{ ids: number[], layer: number, head: number }} [shownHead] the head whose attention is
 *   printed; without it, the table of positions
 * @param {'reach' | 'losses'} [instead] what to print instead: accuracy on longer inputs, or losses
 */
function programs(options, steps, shownHead, instead) {
  const { ids = [], layer = 0, head = 0 } = shownHead ?? {};
  const [reaches, tells] = [instead === 'reach', instead === 'losses'];
  if (options.world === 'dates') return datePrograms(options, steps, shownHead, tells);
  const { world, positions, heads, layers, causal, rate, seed } = options;
  const { symbols, size } = worlds[world];
  const asked = positions === 'learned' ? lengths.filter((times) => times <= 1) : lengths;
  const { dModel, dimFeedforward, batch, heldOut, warmup } = sizes;
  const filling = fillings[world];
  const example = ids.join(', ');
  const attending = attentionPositions(options);
  const [sinusoidal, learned] = [positions === 'sinusoidal', positions === 'learned'];
  const native = nativePositions(positions, attending);
  const held =
    world === 'add'
      ? '\n// The page leaves out the few examples that it holds out to test with.'
      : '';
  /** Python code that adds positions. */
  const placed = (/** @type {string} */ x, /** @type {string} */ length) =>
    learned ? `${x} + P` : sinusoidal ? `${x} + positions(${length})` : x;
  return {
    ...((sinusoidal || learned || positions === 'none') && {
      python: pythonProgram({
        body: `# Numbers drawn by PyTorch: other examples and first weights than those of the page.
torch.manual_seed(${seed})
n, symbols, d = ${size}, ${symbols.length}, ${dModel}
length = ${filling.length}

def examples(n, batch):
    ids = torch.zeros(batch, ${filling.length}, dtype=torch.long)
    targets = torch.full(ids.shape, -100)
${indented(filling.python, 4)}
    return ids, targets

tokens = torch.nn.Embedding(symbols, d)
layer = torch.nn.TransformerEncoderLayer(d, ${heads}, ${dimFeedforward}, dropout=0, batch_first=True, norm_first=True)
encoder = torch.nn.TransformerEncoder(layer, ${layers}, norm=torch.nn.LayerNorm(d), enable_nested_tensor=False)
unembed = torch.nn.Linear(d, symbols)
for part in (tokens, *encoder.layers, unembed):
    for name, weight in part.named_parameters():
        if weight.dim() == 2:
            torch.nn.init.xavier_uniform_(weight)
torch.nn.init.normal_(tokens.weight, std=0.5)
${
  learned
    ? 'P = torch.nn.Parameter(0.5 * torch.randn(length, d))\n'
    : sinusoidal
      ? `def positions(length):
    angle = torch.arange(length).reshape(-1, 1) / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, d)
`
      : ''
}
def say(ids):
    mask = ${causal ? 'torch.nn.Transformer.generate_square_subsequent_mask(ids.shape[1])' : 'None'}
    return unembed(encoder(${placed('tokens(ids)', 'ids.shape[1]')}, mask=mask))

parameters = [weight for part in (tokens, encoder, unembed) for weight in part.parameters()]${learned ? ' + [P]' : ''}
optimizer = torch.optim.AdamW(parameters, lr=${rate})${tells ? '\nlosses = []' : ''}
for step in range(${steps}):
    ids, targets = examples(n, ${batch})
    logits = say(ids)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())${tells ? '\n    losses.append((step + 1, loss.item()))' : ''}
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1)
    optimizer.param_groups[0]["lr"] = ${rate} * min(1, (step + 1) / ${warmup})
    optimizer.step()
${
  shownHead
    ? `
x, mask = ${placed(`tokens(torch.tensor([[${example}]]))`, 'length')}, ${causal ? 'torch.nn.Transformer.generate_square_subsequent_mask(length)' : 'None'}
for before in encoder.layers[:${layer}]:
    x = before(x, src_mask=mask)
layer = encoder.layers[${layer}]
x = layer.norm1(x)
weights = layer.self_attn(x, x, x, attn_mask=mask, average_attn_weights=False)[1][0, ${head}]`
    : reaches
      ? `
right = []
for times in [${asked.join(', ')}]:
    ids, targets = examples(int(n * times), int(${heldOut} / times + 0.999))
    asked = targets >= 0
    right.append((n * times, (say(ids).argmax(2) == targets)[asked].float().mean().item()))`
      : ''
}`,
        result: shownHead
          ? 'weights'
          : { reach: 'torch.tensor(right)', losses: 'torch.tensor(losses)', table: 'P' }[
              instead ?? 'table'
            ],
      }),
    }),
    cpp: cppProgram({
      includes: ['<algorithm>', ...(reaches ? ['<cmath>'] : [])],
      body: `const std::int64_t batch = ${batch}, size = ${size}, symbols = ${symbols.length}, d = ${dModel};
const auto length_of = [](std::int64_t n) { return ${filling.length}; };
const std::int64_t length = length_of(size);
std::vector<std::int32_t> all_ids, all_targets;
/// Examples in which n are given, from a stream of random numbers.
const auto make_examples = [&](int n, std::int64_t count, std::uint64_t stream) {
  const std::int64_t numbers = ${filling.numbers};
  std::vector<float> random(count * numbers);
  attn::fill_uniform(attn::Tensor(random.data(), {count, numbers}), {.seed = ${seed}, .stream = stream});
  all_ids.resize(count * length_of(n));
  all_targets.resize(count * length_of(n));
  for (std::int64_t row = 0; row < count; ++row) {
    const float* const u = random.data() + row * numbers;
    std::int32_t* const ids = all_ids.data() + row * length_of(n);
    std::int32_t* const targets = all_targets.data() + row * length_of(n);
${indented(filling.cpp, 4)}
  }
};

attn::Embedding tokens({.num_embeddings = symbols, .embedding_dim = d});
tokens.initialize_normal({.seed = ${seed}, .stream = 1}, 0.5F);${
        learned
          ? `
attn::LearnedPositionalEncoding table(length, d);
table.initialize_normal(${seed}, 0.5F);`
          : ''
      }
attn::TransformerEncoder encoder({.layer = {.d_model = d,
                                            .num_heads = ${heads},
                                            .dim_feedforward = ${dimFeedforward},
                                            .norm_first = true${
                                              native
                                                ? `,
                                            .positions = {${native}}`
                                                : ''
                                            }},
                                  .num_layers = ${layers},
                                  .final_norm = true});
encoder.initialize_xavier({.seed = ${seed}, .stream = 1000});
attn::Linear unembed(d, symbols);
unembed.initialize_xavier({.seed = ${seed}, .stream = 2000});

attn::AdamW optimizer({{"tokens", tokens}, ${learned ? '{"positions", table}, ' : ''}{"encoder", encoder}, {"unembed", unembed}});
attn::Tape tape;${tells ? '\nstd::vector<float> shown;' : ''}
for (std::int64_t step = 0; step < ${steps}; ++step) {${held && indented(held, 2)}
  make_examples(size, batch, static_cast<std::uint64_t>(${trainingStreams.first} + ${trainingStreams.each} * step));
  tape.clear();
  attn::Variable x = tokens.forward(tape, {all_ids.data(), {batch, length}});${
    sinusoidal
      ? '\n  x = attn::PositionalEncoding().forward(x);'
      : learned
        ? '\n  x = table.forward(x);'
        : ''
  }
  x = unembed.forward(encoder.forward(x, {.attention = {.causal = ${causal}}}));
  ${cppBackward('attn::cross_entropy(x, {all_targets.data(), {batch, length}})', tells)}
  attn::clip_grad_norm(tape, 1);
  optimizer.set_learning_rate(attn::constant_learning_rate(step + 1, ${double(rate)}, ${warmup}));
  optimizer.step(tape);
}
${
  shownHead
    ? `
std::vector<std::int32_t> ids{${example}};
std::vector<float> all(${layers} * ${heads} * length * length), x(length * d), y(length * d);
std::vector<attn::Tensor> weights;
for (std::int64_t layer = 0; layer < ${layers}; ++layer) {
  weights.emplace_back(all.data() + layer * ${heads} * length * length,
                       std::initializer_list<std::int64_t>{1, ${heads}, length, length});
}
const attn::Tensor X(x.data(), {1, length, d}), Y(y.data(), {1, length, d});
tokens.forward({ids.data(), {1, length}}, X);${
        sinusoidal
          ? '\nattn::PositionalEncoding().forward(X, X);'
          : learned
            ? '\ntable.forward(X, X);'
            : ''
      }
encoder.forward(X, Y, {.attention = {.causal = ${causal}}, .weights = weights});
const float* const shown = all.data() + (${layer} * ${heads} + ${head}) * length * length;`
    : reaches
      ? cppReach({
          asked,
          heldOut,
          causal,
          place: sinusoidal ? 'attn::PositionalEncoding()' : learned ? 'table' : '',
        })
      : tells
        ? ''
        : `
const float* const shown = table.parameter("weight").data();`
}`,
      ...{ result: 'shown', rows: reaches ? `${asked.length}` : tells ? `${steps}` : 'length' },
      columns: shownHead ? 'length' : instead ? '2' : 'd',
    }),
    javascript: javascriptProgram({
      training: true,
      body: `const [batch, size, symbols, d, seed] = [${[batch, size, symbols.length, dModel, seed].join(', ')}];
const lengthOf = (n) => ${filling.length};
const length = lengthOf(size);

const model = {
  tokens: new attn.Embedding({
    ...{ numEmbeddings: symbols, embeddingDim: d, deviation: 0.5, seed, stream: 1 },
  }),${
    learned
      ? `
  positions: new attn.LearnedPositionalEncoding({ maxLength: length, dModel: d, deviation: 0.5, seed }),`
      : ''
  }
  encoder: new attn.TransformerEncoder({
    ...{ dModel: d, numHeads: ${heads}, dimFeedforward: ${dimFeedforward}, numLayers: ${layers} },
    ...{ normFirst: true, finalNorm: true, seed, stream: 1000 },
    positions: ${JSON.stringify(attending).replaceAll('"', '')},
  }),
  unembed: new attn.Linear({ inFeatures: d, outFeatures: symbols, seed, stream: 2000 }),
};
const withPositions = (x) => ${sinusoidal ? 'attn.positionalEncoding(x)' : learned ? 'model.positions.forward(x)' : 'x'};
const attention = { causal: ${causal} };

function fill(u, ids, targets, n) {
${indented(filling.javascript, 2)}
}
/** Examples in which n are given, from a stream of random numbers. */
function makeExamples(n, count, stream) {
  const [length, numbers] = [lengthOf(n), ${filling.numbers}];
  const random = attn.randomUniform({ shape: [count, numbers], seed, stream }).data;
  const ids = { data: new Int32Array(count * length), shape: [count, length] };
  const targets = { data: new Int32Array(count * length), shape: [count, length] };
  for (let row = 0; row < count; row++) {
    const part = (data, width) => data.subarray(row * width, (row + 1) * width);
    fill(part(random, numbers), part(ids.data, length), part(targets.data, length), n);
  }
  return { ids, targets };
}

const optimizer = new attn.AdamW(model);
const tape = new attn.Tape();${tells ? '\nconst losses = [];' : ''}
for (let step = 0; step < ${steps}; step++) {${held && indented(held, 2)}
  const { ids, targets } = makeExamples(size, batch, ${trainingStreams.first} + ${trainingStreams.each} * step);
  tape.clear();
  const x = withPositions(model.tokens.forward(ids, { tape }));
  const logits = model.unembed.forward(model.encoder.forward(x, { attention }));
  ${javascriptBackward(tells)}
  attn.clipGradNorm(tape, 1);
  optimizer.lr = attn.constantLearningRate(step + 1, { peak: ${rate}, warmupSteps: ${warmup} });
  optimizer.step(tape);
}
${
  shownHead
    ? `
const ids = { data: [${example}], shape: [1, length] };
const x = withPositions(model.tokens.forward(ids));
const { weights } = model.encoder.forward(x, { attention, needWeights: true });
const shown = {
  data: weights[${layer}].data.subarray(${head} * length ** 2, ${head + 1} * length ** 2),
  shape: [length, length],
};`
    : reaches
      ? `
const shown = { data: [], shape: [0, 2] };
for (const times of [${asked.join(', ')}]) {
  const { ids, targets } = makeExamples(size * times, Math.ceil(${heldOut} / times), ${heldOutStream});
  const { output } = model.encoder.forward(withPositions(model.tokens.forward(ids)), { attention });
  const { data } = model.unembed.forward(output);
  const asked = Array.from(targets.data.keys()).filter((i) => targets.data[i] >= 0);
  const right = asked.filter((i) => {
    const row = data.subarray(i * symbols, (i + 1) * symbols);
    return row.indexOf(Math.max(...row)) === targets.data[i];
  });
  shown.data.push(size * times, right.length / asked.length);
  shown.shape[0]++;
}
shown.data = Float32Array.from(shown.data);`
      : tells
        ? `
const shown = { data: Float32Array.from(losses), shape: [${steps}, 2] };`
        : `
const shown = model.positions.parameter('weight');`
}`,
      result: 'shown',
    }),
  };
}

/**
 * The end of a program that prints the accuracy on longer inputs.
 * @param {{ asked: number[], heldOut: number, causal: boolean, place: string }} of place: the
 *   code that adds positions
 */
const cppReach = ({ asked, heldOut, causal, place }) => `
std::vector<float> shown;
for (const double times : {${asked.map(double).join(', ')}}) {
  const int n = static_cast<int>(size * times);
  const auto count = static_cast<std::int64_t>(std::ceil(${heldOut} / times));
  const std::int64_t length = length_of(n);
  make_examples(n, count, ${heldOutStream});
  std::vector<float> x(count * length * d), logits(count * length * symbols);
  const attn::Tensor X(x.data(), {count, length, d});
  const attn::Tensor Y(logits.data(), {count, length, symbols});
  tokens.forward({all_ids.data(), {count, length}}, X);${place && `\n  ${place}.forward(X, X);`}
  encoder.forward(X, X, {.attention = {.causal = ${causal}}});
  unembed.forward(X, Y);
  double asked = 0, right = 0;
  for (std::int64_t i = 0; i < count * length; ++i) {
    if (all_targets[i] < 0) continue;
    const auto row = logits.begin() + i * symbols;
    asked += 1;
    right += std::max_element(row, row + symbols) - row == all_targets[i] ? 1 : 0;
  }
  shown.insert(shown.end(), {static_cast<float>(n), static_cast<float>(right / asked)});
}`;
