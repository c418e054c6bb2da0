import { cppProgram, double, javascriptProgram, pythonProgram } from '../../frame/programs.js';
import { attentionPositions, sizes } from '../../model/training/model.js';
import { trainingStreams, worlds } from '../../model/training/worlds.js';
import { datePrograms, nativePositions } from './dateCode.js';

/** @typedef {import('../../model/training/model.js').LaneOptions} LaneOptions */

/**
 * How to make an example of a world: in C++ and JavaScript from uniform random numbers u; in Python a
 * whole batch, from numbers of its own.
 * @typedef {Record<'python' | 'cpp' | 'javascript', string>} Filling
 */

/** @param {Filling} answer @returns {Filling} */
const rearranged = (answer) => ({
  python: `ids[:, :10] = torch.randint(20, (batch, 10))
ids[:, 10:] = 20
targets[:, 10:] = ${answer.python}`,
  cpp: `for (int i = 0; i < 10; ++i) ids[i] = static_cast<std::int32_t>(20.0 * u[i]);
std::fill(ids + 10, ids + 20, 20);
std::fill(targets, targets + 10, -100);
${answer.cpp}`,
  javascript: `for (let i = 0; i < 10; i++) ids[i] = Math.floor(20 * u[i]);
ids.fill(20, 10);
targets.fill(-100, 0, 10);
targets.set(ids.slice(0, 10)${answer.javascript}, 10);`,
});

/** @type {Record<Exclude<import('../../model/training/worlds.js').WorldName, 'dates'>, Filling>} */
const fillings = {
  copy: rearranged({
    python: 'ids[:, :10]',
    cpp: 'std::copy(ids, ids + 10, targets + 10);',
    javascript: '',
  }),
  reverse: rearranged({
    python: 'ids[:, :10].flip(1)',
    cpp: 'std::reverse_copy(ids, ids + 10, targets + 10);',
    javascript: '.reverse()',
  }),
  sort: rearranged({
    python: 'ids[:, :10].sort(1).values',
    cpp: 'std::copy(ids, ids + 10, targets + 10);\nstd::sort(targets + 10, targets + 20);',
    javascript: '.sort()',
  }),
  repeat: {
    python: `ids[:] = torch.randint(26, (batch, 32))
for row in range(batch):
    run = int(torch.randint(4, 13, ()))
    gap = int(torch.randint(33 - 2 * run, ()))
    first = int(torch.randint(33 - 2 * run - gap, ()))
    second = first + run + gap
    ids[row, second:second + run] = ids[row, first:first + run].clone()
    targets[row, second:second + run - 1] = ids[row, second + 1:second + run]`,
    cpp: `for (int i = 0; i < 32; ++i) ids[i] = static_cast<std::int32_t>(26.0 * u[i]);
const int run = 4 + static_cast<int>(9.0 * u[32]);
const int gap = static_cast<int>((33.0 - 2 * run) * u[33]);
const int first = static_cast<int>((33.0 - 2 * run - gap) * u[34]);
const int second = first + run + gap;
std::copy(ids + first, ids + first + run, ids + second);
std::fill(targets, targets + 32, -100);
std::copy(ids + second + 1, ids + second + run, targets + second);`,
    javascript: `for (let i = 0; i < 32; i++) ids[i] = Math.floor(26 * u[i]);
const run = 4 + Math.floor(9 * u[32]);
const gap = Math.floor((33 - 2 * run) * u[33]);
const first = Math.floor((33 - 2 * run - gap) * u[34]);
const second = first + run + gap;
ids.copyWithin(second, first, first + run);
targets.fill(-100);
targets.set(ids.slice(second + 1, second + run), second);`,
  },
  add: {
    python: `a, b = torch.randint(100, (2, batch))
ids[:] = torch.stack((a // 10, a % 10, a * 0 + 10, b // 10, b % 10, a * 0 + 11) + 3 * (a * 0 + 12,), 1)
targets[:, 6:] = torch.stack(((a + b) // 100, (a + b) // 10 % 10, (a + b) % 10), 1)`,
    cpp: `for (int i = 0; i < 4; ++i) ids[i + i / 2] = static_cast<std::int32_t>(10.0 * u[i]);
ids[2] = 10;  // +
ids[5] = 11;  // =
std::fill(ids + 6, ids + 9, 12);
const int sum = 10 * (ids[0] + ids[3]) + ids[1] + ids[4];
std::fill(targets, targets + 6, -100);
targets[6] = sum / 100, targets[7] = sum / 10 % 10, targets[8] = sum % 10;`,
    javascript: `for (let i = 0; i < 4; i++) ids[i + (i >> 1)] = Math.floor(10 * u[i]);
ids[2] = 10; // +
ids.set([11, 12, 12, 12], 5); // = and three blanks
const sum = 10 * (ids[0] + ids[3]) + ids[1] + ids[4];
targets.fill(-100);
targets.set([Math.floor(sum / 100), Math.floor(sum / 10) % 10, sum % 10], 6);`,
  },
  count: {
    python: `ids[:] = torch.randint(5, (batch, 10))
targets[:] = 4 + (ids[:, :, None] == ids[:, None]).sum(2)`,
    cpp: `for (int i = 0; i < 10; ++i) ids[i] = static_cast<std::int32_t>(5.0 * u[i]);
for (int i = 0; i < 10; ++i) {
  targets[i] = 4 + static_cast<std::int32_t>(std::count(ids, ids + 10, ids[i]));
}`,
    javascript: `for (let i = 0; i < 10; i++) ids[i] = Math.floor(5 * u[i]);
targets.set(ids.map((id) => 4 + ids.filter((other) => other === id).length));`,
  },
};

/** @param {string} text @param {number} by */
const indented = (text, by) => text.replace(/^(?=.)/gm, ' '.repeat(by));

/**
 * Programs that train a model and print what a head looks at in an example: the same numbers in C++ and
 * JavaScript, but for rounding.
 * @param {LaneOptions} options
 * @param {{ ids: Int32Array, steps: number, layer: number, head: number }} shown
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export const trainingPrograms = (options, { ids, steps, layer, head }) =>
  programs(options, steps, { ids: Array.from(ids), layer, head });

/**
 * Programs that train a model with a learned table of positions, and print the table.
 * @param {LaneOptions} options
 * @param {number} steps
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export const tableProgram = (options, steps) => programs(options, steps);

/**
 * @param {LaneOptions} options
 * @param {number} steps
 * @param {{ ids: number[], layer: number, head: number }} [shownHead] whose attention is printed; the table of
 *   positions, if it is left out
 */
function programs(options, steps, shownHead) {
  const { ids = [], layer = 0, head = 0 } = shownHead ?? {};
  if (options.world === 'dates') return datePrograms(options, steps, shownHead);
  const { world, positions, heads, layers, causal, rate, seed } = options;
  const { symbols, length, numbers } = worlds[world];
  const { dModel, dimFeedforward, batch, warmup } = sizes;
  const filling = fillings[world];
  const example = ids.join(', ');
  const attending = attentionPositions(options);
  const [sinusoidal, learned] = [positions === 'sinusoidal', positions === 'learned'];
  const native = nativePositions(positions, attending);
  const held =
    world === 'add'
      ? '\n// The page leaves out the few examples that it holds out to test with.'
      : '';
  return {
    ...((sinusoidal || learned || positions === 'none') && {
      python: pythonProgram({
        body: `# Numbers drawn by PyTorch: other examples and first weights than those of the page.
torch.manual_seed(${seed})
batch, length, symbols, d = ${batch}, ${length}, ${symbols.length}, ${dModel}

def examples():
    ids = torch.zeros(batch, length, dtype=torch.long)
    targets = torch.full((batch, length), -100)
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
  sinusoidal
    ? `angle = torch.arange(length).reshape(-1, 1) / 10000 ** (torch.arange(0, d, 2) / d)
P = torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, d)`
    : learned
      ? 'P = torch.nn.Parameter(0.5 * torch.randn(length, d))'
      : 'P = torch.zeros(length, d)'
}
mask = ${causal ? 'torch.nn.Transformer.generate_square_subsequent_mask(length)' : 'None'}

parameters = [weight for part in (tokens, encoder, unembed) for weight in part.parameters()]${learned ? ' + [P]' : ''}
optimizer = torch.optim.AdamW(parameters, lr=${rate})
for step in range(${steps}):
    ids, targets = examples()
    logits = unembed(encoder(tokens(ids) + P, mask=mask))
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1)
    optimizer.param_groups[0]["lr"] = ${rate} * min(1, (step + 1) / ${warmup})
    optimizer.step()
${
  shownHead
    ? `
x = tokens(torch.tensor([[${example}]])) + P
for before in encoder.layers[:${layer}]:
    x = before(x, src_mask=mask)
layer = encoder.layers[${layer}]
x = layer.norm1(x)
weights = layer.self_attn(x, x, x, attn_mask=mask, average_attn_weights=False)[1][0, ${head}]`
    : ''
}`,
        result: shownHead ? 'weights' : 'P',
      }),
    }),
    cpp: cppProgram({
      includes: ['<algorithm>'],
      body: `const std::int64_t batch = ${batch}, length = ${length}, numbers = ${numbers}, symbols = ${symbols.length}, d = ${dModel};

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
attn::Tape tape;
std::vector<float> random(batch * numbers);
std::vector<std::int32_t> all_ids(batch * length), all_targets(batch * length);
for (std::int64_t step = 0; step < ${steps}; ++step) {${held && indented(held, 2)}
  attn::fill_uniform(attn::Tensor(random.data(), {batch, numbers}),
                     {.seed = ${seed}, .stream = static_cast<std::uint64_t>(${trainingStreams.first} + ${trainingStreams.each} * step)});
  for (std::int64_t row = 0; row < batch; ++row) {
    const float* const u = random.data() + row * numbers;
    std::int32_t* const ids = all_ids.data() + row * length;
    std::int32_t* const targets = all_targets.data() + row * length;
${indented(filling.cpp, 4)}
  }
  tape.clear();
  attn::Variable x = tokens.forward(tape, {all_ids.data(), {batch, length}});${
    sinusoidal
      ? '\n  x = attn::PositionalEncoding().forward(x);'
      : learned
        ? '\n  x = table.forward(x);'
        : ''
  }
  x = unembed.forward(encoder.forward(x, {.attention = {.causal = ${causal}}}));
  tape.backward(attn::cross_entropy(x, {all_targets.data(), {batch, length}}));
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
    : `
const float* const shown = table.parameter("weight").data();`
}`,
      ...{ result: 'shown', rows: 'length', columns: shownHead ? 'length' : 'd' },
    }),
    javascript: javascriptProgram({
      training: true,
      body: `const [batch, length, numbers, symbols, d, seed] = [${[batch, length, numbers, symbols.length, dModel, seed].join(', ')}];

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

function fill(u, ids, targets) {
${indented(filling.javascript, 2)}
}

const optimizer = new attn.AdamW(model);
const tape = new attn.Tape();
for (let step = 0; step < ${steps}; step++) {${held && indented(held, 2)}
  const stream = ${trainingStreams.first} + ${trainingStreams.each} * step;
  const random = attn.randomUniform({ shape: [batch, numbers], seed, stream }).data;
  const ids = { data: new Int32Array(batch * length), shape: [batch, length] };
  const targets = { data: new Int32Array(batch * length), shape: [batch, length] };
  for (let row = 0; row < batch; row++) {
    const part = (data, width) => data.subarray(row * width, (row + 1) * width);
    fill(part(random, numbers), part(ids.data, length), part(targets.data, length));
  }
  tape.clear();
  const x = withPositions(model.tokens.forward(ids, { tape }));
  const logits = model.unembed.forward(model.encoder.forward(x, { attention }));
  tape.backward(attn.crossEntropy(logits, targets));
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
const size = length * length;
const shown = {
  data: weights[${layer}].data.subarray(${head} * size, ${head + 1} * size),
  shape: [length, length],
};`
    : `
const shown = model.positions.parameter('weight');`
}`,
      result: 'shown',
    }),
  };
}
