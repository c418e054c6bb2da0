import { constants, layer } from '../programs/calls.js';
import { gap } from '../programs/print.js';
import { cxx, double, indented, js, py } from '../programs/writers.js';
import { datePrograms } from './dateCode.js';
import { examples, fillings } from './fillingsCode.js';
import { attentionPositions, lengths, sizes } from './model.js';
import {
  embedding,
  formulasOf,
  invention,
  placed,
  printTraining,
  pythonStart,
  results,
  table,
  training,
  withPositions,
} from './trainingCalls.js';
import { heldOutStream, worlds } from './worlds.js';

/** @typedef {import('../programs/print.js').Call} Call */
/** @typedef {import('./model.js').LaneOptions} LaneOptions */

/**
 * Programs that train a model and print a head's attention in an example. C++ and JavaScript print
 * the same numbers up to rounding.
 * @param {LaneOptions} options
 * @param {{ ids: Int32Array, steps: number, layer: number, head: number }} shown
 */
export const trainingPrograms = (options, { ids, steps, layer, head }) =>
  programs(options, steps, 'attention', { ids: Array.from(ids), layer, head });

/**
 * Programs that train a model and print its loss before each step: one line per step, with the step
 * number.
 * @param {LaneOptions} options
 * @param {number} steps
 */
export const lossPrograms = (options, steps) => programs(options, steps, 'losses');

/**
 * Programs that train a model with a learned table of positions and print the table.
 * @param {LaneOptions} options
 * @param {number} steps
 */
export const tableProgram = (options, steps) => programs(options, steps, 'table');

/**
 * Programs that train a model and print its accuracy on inputs of several sizes. Each line contains
 * a size and the accuracy.
 * @param {Exclude<LaneOptions, { world: 'dates' }>} options
 * @param {number} steps
 */
export const reachPrograms = (options, steps) => programs(options, steps, 'reach');

/**
 * @param {LaneOptions} options
 * @param {number} steps
 * @param {import('./trainingCalls.js').Shown} shown
 * @param {{ ids: number[], layer: number, head: number }} [which] the head whose attention is shown
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
function programs(options, steps, shown, which = { ids: [], layer: 0, head: 0 }) {
  if (options.world === 'dates') return datePrograms(options, steps, shown, which);
  const { world, heads, layers, causal, seed } = options;
  const { symbols, size } = worlds[world];
  const { dModel, dimFeedforward, batch } = sizes;
  const filling = fillings[world];
  const stack = { dModel: 'd', numHeads: heads, dimFeedforward, normFirst: true };
  const layered = { positions: attentionPositions(options), numLayers: layers, finalNorm: true };
  const isBiased = formulasOf(options).bias;
  /** @type {[string | number, string | number]} */
  const shape = shown === 'reach' ? [asked(options).length, 2] : ['length', 'length'];
  return printTraining(options, { steps, shown, shape }, [
    constants({ batch, size, symbols: symbols.length, d: dModel }),
    ...invention(options),
    { python: pythonModel(options) },
    examples(filling, seed),
    tablesOf(options),
    embedding('tokens', 'symbols', { seed, stream: 1 }),
    table(options),
    layer('encoder', 'TransformerEncoder', { ...stack, ...layered, seed, stream: 1000 }),
    layer('unembed', 'Linear', { inFeatures: 'd', outFeatures: 'symbols', seed, stream: 2000 }),
    {
      javascript: `${withPositions(options)}
const attention = ${isBiased ? `{ causal: ${causal}, bias: biasOf(length) }` : `{ causal: ${causal} }`};`,
    },
    training(options, {
      ...{ steps, shown, parts: ['tokens', 'encoder', 'unembed'], answers: 'length' },
      embeddings: ['tokens'],
      held: world === 'add' ? 'The page skips the few examples that it holds out for testing.' : '',
      examples: {
        python: 'ids, targets = examples(n, batch)',
        cpp: 'make_examples(size, batch, stream);',
        javascript: 'const { ids, targets } = makeExamples(size, batch, stream);',
      },
      forward: {
        python: 'logits = say(ids)',
        cpp: cxx`const attn::Variable x = tokens.forward(tape, {all_ids.data(), {batch, length}});
const attn::Variable logits =
    unembed.forward(encoder.forward(${placed(options, 'x').cpp}, ${{ attention: attending(options) }}));`,
        javascript: `const x = withPositions(tokens.forward(ids, { tape }));
const logits = unembed.forward(encoder.forward(x, { attention }));`,
      },
    }),
    gap,
    shown === 'attention'
      ? attentionOf(options, which)
      : shown === 'reach'
        ? reach(options)
        : results(steps)[shown],
  ]);
}

/** The options of attention in C++. @param {LaneOptions} options */
const attending = (options) => ({
  bias: formulasOf(options).bias ? 'bias' : undefined,
  causal: options.causal || undefined,
});

/** Computes the tables of the reader's scheme in C++. @param {LaneOptions} options @returns {Call} */
function tablesOf(options) {
  const { added, bias } = formulasOf(options);
  const lines = [
    ...(added
      ? ['attn::OwnedTensor encoding{batch, length, d};', 'add_positions(encoding, length);']
      : []),
    ...(bias ? ['const attn::OwnedTensor bias = bias_of(length, length);'] : []),
  ];
  return lines.length ? { cpp: lines.join('\n') } : {};
}

/** The relative sizes at which a model is tested. @param {LaneOptions} options */
const asked = ({ positions }) =>
  positions === 'learned' ? lengths.filter((times) => times <= 1) : lengths;

/**
 * The model in Python, with the functions that make examples and compute logits.
 * @param {LaneOptions} options
 */
function pythonModel(options) {
  const { world, positions, heads, layers, causal, seed } = options;
  const { added, bias } = formulasOf(options);
  const filling = fillings[/** @type {'copy'} */ (world)];
  const encodings = {
    learned: 'P = torch.nn.Parameter(0.5 * torch.randn(length, d))\n',
    sinusoidal: `def positions(length):
    angle = torch.arange(length).reshape(-1, 1) / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, d)
`,
  }[/** @type {'learned'} */ (positions)];
  const order = 'torch.nn.Transformer.generate_square_subsequent_mask(length)';
  return `${pythonStart(seed)}
n = size
length = ${filling.length}

def examples(n, batch):
    ids = torch.zeros(batch, ${filling.length}, dtype=torch.long)
    targets = torch.full(ids.shape, -100)
${indented(filling.python, 4)}
    return ids, targets

tokens = torch.nn.Embedding(symbols, d)
layer = torch.nn.TransformerEncoderLayer(d, ${heads}, ${sizes.dimFeedforward}, dropout=0, batch_first=True, norm_first=True)
encoder = torch.nn.TransformerEncoder(layer, ${layers}, norm=torch.nn.LayerNorm(d), enable_nested_tensor=False)
unembed = torch.nn.Linear(d, symbols)
parts = (tokens, encoder, unembed)
${encodings ?? ''}
def placed(x):
    return ${added || positions === 'sinusoidal' ? 'x + positions(x.shape[1])' : positions === 'learned' ? 'x + P' : 'x'}

def mask(length${bias ? ', batch=1' : ''}):
    return ${bias ? `(bias(length)${causal ? ` + ${order}` : ''}).repeat(batch, 1, 1)` : causal ? order : 'None'}

def say(ids):
    return unembed(encoder(placed(tokens(ids)), mask=mask(ids.shape[1]${bias ? ', len(ids)' : ''})))
`;
}

/**
 * Shows the attention of a head in an example.
 * @param {LaneOptions} options
 * @param {{ ids: number[], layer: number, head: number }} which
 * @returns {Call}
 */
function attentionOf(options, { ids, layer, head }) {
  const { heads, layers } = options;
  return {
    python: py`x = placed(tokens(torch.tensor([${ids}])))
for before in encoder.layers[:${layer}]:
    x = before(x, src_mask=mask(length))
layer = encoder.layers[${layer}]
x = layer.norm1(x)
shown = layer.self_attn(x, x, x, attn_mask=mask(length), average_attn_weights=False)[1][0, ${head}]`,
    cpp: cxx`std::vector<std::int32_t> ids${ids};
std::vector<float> all(${layers} * ${heads} * length * length), x(length * d), y(length * d);
std::vector<attn::Tensor> weights;
for (std::int64_t layer = 0; layer < ${layers}; ++layer) {
  weights.emplace_back(all.data() + layer * ${heads} * length * length,
                       std::initializer_list<std::int64_t>{1, ${heads}, length, length});
}
const attn::Tensor X(x.data(), {1, length, d}), Y(y.data(), {1, length, d});
tokens.forward({ids.data(), {1, length}}, X);${placed(options, 'X').inPlace}
encoder.forward(X, Y, ${{ attention: attending(options), weights: 'weights' }});
const float* const shown = all.data() + (${layer} * ${heads} + ${head}) * length * length;`,
    javascript: js`const ids = { data: ${ids}, shape: [1, length] };
const x = withPositions(tokens.forward(ids));
const { weights } = encoder.forward(x, { attention, needWeights: true });
const shown = {
  data: weights[${layer}].data.subarray(${head} * length ** 2, ${head + 1} * length ** 2),
  shape: [length, length],
};`,
  };
}

/** Shows the accuracy on inputs of several sizes. @param {LaneOptions} options @returns {Call} */
function reach(options) {
  const { heldOut } = sizes;
  const { bias } = formulasOf(options);
  return {
    python: py`right = []
for times in ${asked(options)}:
    ids, targets = examples(int(n * times), int(${heldOut} / times + 0.999))
    asked = targets >= 0
    right.append((n * times, (say(ids).argmax(2) == targets)[asked].float().mean().item()))
shown = torch.tensor(right)`,
    cpp: cxx`std::vector<float> shown;
for (const double times : {${asked(options).map(double).join(', ')}}) {
  const int n = static_cast<int>(size * times);
  const auto count = static_cast<std::int64_t>(std::ceil(${heldOut} / times));
  const std::int64_t length = length_of(n);
  make_examples(n, count, ${heldOutStream});
  std::vector<float> x(count * length * d), logits(count * length * symbols);
  const attn::Tensor X(x.data(), {count, length, d});
  const attn::Tensor Y(logits.data(), {count, length, symbols});
  tokens.forward({all_ids.data(), {count, length}}, X);${placed(options, 'X', { indent: '  ' }).inPlace}${bias ? '\n  const attn::OwnedTensor bias = bias_of(length, length);' : ''}
  encoder.forward(X, X, ${{ attention: attending(options) }});
  unembed.forward(X, Y);
  double asked = 0, right = 0;
  for (std::int64_t i = 0; i < count * length; ++i) {
    if (all_targets[i] < 0) continue;
    const auto row = logits.begin() + i * symbols;
    asked += 1;
    right += std::max_element(row, row + symbols) - row == all_targets[i] ? 1 : 0;
  }
  shown.insert(shown.end(), {static_cast<float>(n), static_cast<float>(right / asked)});
}`,
    javascript: js`const shown = { data: [], shape: [0, 2] };
for (const times of ${asked(options)}) {
  const { ids, targets } = makeExamples(size * times, Math.ceil(${heldOut} / times), ${heldOutStream});
  const { output } = encoder.forward(withPositions(tokens.forward(ids)), ${bias ? '{\n    attention: { ...attention, bias: biasOf(ids.shape[1]) },\n  }' : '{ attention }'});
  const { data } = unembed.forward(output);
  const asked = Array.from(targets.data.keys()).filter((i) => targets.data[i] >= 0);
  const right = asked.filter((i) => {
    const row = data.subarray(i * symbols, (i + 1) * symbols);
    return row.indexOf(Math.max(...row)) === targets.data[i];
  });
  shown.data.push(size * times, right.length / asked.length);
  shown.shape[0]++;
}
shown.data = Float32Array.from(shown.data);`,
  };
}
