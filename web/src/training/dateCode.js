import { constants, layer } from '../programs/calls.js';
import { literal } from '../programs/writers.js';
import { dates, examples, padding, start } from './datesCode.js';
import { attentionPositions, sizes } from './model.js';
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
import { worlds } from './worlds.js';

/** @typedef {import('../programs/print.js').Call} Call */
/** @typedef {import('./model.js').LaneOptions} LaneOptions */
/** @typedef {{ ids: number[], layer: number, head: number }} Which */

const { dModel: d, dimFeedforward, batch } = sizes;
const { length, answers, symbols } = worlds.dates;

/**
 * Programs that train a model to write dates with digits. They print the losses, the table of
 * positions, or a head's attention while the model writes the date of an example.
 * @param {LaneOptions} given
 * @param {number} steps
 * @param {import('./trainingCalls.js').Shown} shown
 * @param {Which} which
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export function datePrograms(given, steps, shown, which) {
  const recurrent = given.decoder === 'recurrent';
  /** @type {LaneOptions} */
  const options = recurrent ? { ...given, positions: 'none' } : given;
  const { seed } = options;
  const read = which.ids.filter((id) => id !== padding);
  const text = literal(read.map((id) => symbols[id]).join(''));
  return printTraining(options, { steps, shown, shape: ['answers', read.length] }, [
    constants({ batch, length, answers, d, padding, first: start }),
    { python: pythonStart(seed).replace('torch.manual', `random.seed(${seed})\ntorch.manual`) },
    dates,
    embedding('tokens', padding + 1, { seed, stream: 1 }),
    ...(recurrent ? recurrentModel(options) : transformer(options, which)),
    training(options, {
      ...{ steps, shown, answers: 'answers', embeddings: ['tokens', 'written'] },
      parts: recurrent
        ? ['tokens', 'encoder', 'decoder']
        : ['tokens', 'encoder', 'written', 'decoder', 'unembed'],
      held: 'The page skips the days that it holds out for testing.',
      examples: examples(seed),
      forward: recurrent ? recurrentForward : transformerForward(options),
    }),
    shown === 'attention'
      ? attentionOf(options, which, text)
      : results(steps)[/** @type {'table'} */ (shown)],
  ]);
}

/** @param {LaneOptions} options @returns {Call[]} */
const recurrentModel = ({ layers, seed }) => [
  {
    python: `reader = torch.nn.GRU(d, d, ${layers}, batch_first=True)
written = torch.nn.Embedding(${start + 1}, d)
W_q, W_k, w_v = (torch.nn.Linear(d, size, bias=False) for size in (d, d, 1))
writer = torch.nn.GRU(2 * d, d, ${layers}, batch_first=True)
unembed = torch.nn.Linear(d, ${start + 1})
parts = (tokens, reader, written, W_q, W_k, w_v, writer, unembed)

def write(ids, given):
    states, hidden = reader(tokens(ids))
    logits, weights = [], []
    for token in given.T:
        scores = w_v(torch.tanh(W_q(hidden[-1])[:, None] + W_k(states)))[..., 0]
        weights.append(scores.masked_fill(ids == padding, float("-inf")).softmax(1))
        context = (weights[-1][:, None] @ states)[:, 0]
        output, hidden = writer(torch.cat((context, written(token)), 1)[:, None], hidden)
        logits.append(unembed(output[:, 0]))
    return torch.stack(logits, 1), torch.stack(weights, 1)
`,
  },
  layer('encoder', 'GRU', {
    ...{ inputSize: 'd', hiddenSize: 'd', numLayers: layers, seed, stream: 1000 },
  }),
  layer('decoder', 'BahdanauDecoder', {
    ...{ vocabSize: start + 1, embedSize: 'd', numHiddens: 'd', numLayers: layers },
    ...{ seed, stream: 3000 },
  }),
];

/** @param {LaneOptions} options @param {Which} which @returns {Call[]} */
function transformer(options, which) {
  const { positions, heads, layers, seed } = options;
  const sizes = { dModel: 'd', numHeads: heads, dimFeedforward, normFirst: true };
  const stack = (/** @type {boolean} */ causal) => ({
    ...{ ...sizes, positions: attentionPositions({ positions, causal }) },
    ...{ numLayers: layers, finalNorm: true, seed },
  });
  const encodings = {
    learned: 'P = torch.nn.Parameter(0.5 * torch.randn(length, d))',
    sinusoidal: `angle = torch.arange(length).reshape(-1, 1) / 10000 ** (torch.arange(0, d, 2) / d)
P = torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, d)`,
  };
  const { added, bias } = formulasOf(options);
  const P = added
    ? { read: 'positions(length)', write: 'positions(answers)[:n]' }
    : { read: 'P', write: 'P[:n]' };
  const order = 'torch.triu(torch.ones(n, n, dtype=torch.bool), 1)';
  return [
    ...invention(options),
    {
      python: `options = dict(dim_feedforward=${dimFeedforward}, dropout=0, batch_first=True, norm_first=True)
encoder = torch.nn.TransformerEncoder(
    torch.nn.TransformerEncoderLayer(d, ${heads}, **options), ${layers}, torch.nn.LayerNorm(d), enable_nested_tensor=False)
written = torch.nn.Embedding(${start + 1}, d)
decoder = torch.nn.TransformerDecoder(
    torch.nn.TransformerDecoderLayer(d, ${heads}, **options), ${layers}, torch.nn.LayerNorm(d))
unembed = torch.nn.Linear(d, ${start + 1})
parts = (tokens, encoder, written, decoder, unembed)
${encodings[/** @type {'learned'} */ (positions)] ?? (added ? '' : 'P = torch.zeros(length, d)')}

def write(ids, given):
    padded, n = ids == padding, given.shape[1]
    mask = ${bias ? `bias(answers)[:, :n, :n].masked_fill(${order}, float("-inf")).repeat(len(ids), 1, 1)` : order}
    memory = encoder(tokens(ids) + ${P.read}, ${bias ? 'mask=bias(length).repeat(len(ids), 1, 1), ' : ''}src_key_padding_mask=padded)
    y, weights = written(given) + ${P.write}, []
    for layer in decoder.layers:
        x = layer.norm1(y)
        y = y + layer.self_attn(x, x, x, attn_mask=mask)[0]
        x, each = layer.multihead_attn(
            layer.norm2(y), memory, memory, key_padding_mask=padded, average_attn_weights=False)
        y = y + x
        y = y + layer.linear2(torch.relu(layer.linear1(layer.norm3(y))))
        weights.append(each)
    return unembed(decoder.norm(y)), weights[${which.layer}][:, ${which.head}]
`,
    },
    table(options),
    layer('encoder', 'TransformerEncoder', { ...stack(false), stream: 1000 }),
    embedding('written', start + 1, { seed, stream: 2 }),
    layer('decoder', 'TransformerDecoder', { ...stack(true), stream: 3000 }),
    layer('unembed', 'Linear', { inFeatures: 'd', outFeatures: start + 1, seed, stream: 2000 }),
    {
      javascript: withPositions(options),
      cpp: [
        ...(added
          ? [
              'attn::OwnedTensor encoding{batch, length, d}, written_encoding{batch, answers, d};',
              'add_positions(encoding, length);\nadd_positions(written_encoding, answers);',
            ]
          : []),
        ...(bias
          ? [
              'const attn::OwnedTensor bias = bias_of(length, length);',
              'const attn::OwnedTensor written_bias = bias_of(answers, answers);',
            ]
          : []),
      ].join('\n'),
    },
  ];
}

/** @type {Call} */
const recurrentForward = {
  python: 'logits, _ = write(ids, given)',
  cpp: `attn::Variable hidden;
const attn::Variable states = encoder.forward(tokens.forward(tape, ids), {}, &hidden);
const attn::Variable logits = decoder.forward(tape, given, states, hidden, lengths);`,
  javascript: `const { output, hN } = encoder.forward(tokens.forward(ids, { tape }));
const state = decoder.initState(output, hN, { encoderLens: validLens });
const { logits } = decoder.forward(given, state);`,
};

/** Options of attention in C++ and JavaScript that add the reader's bias. @param {LaneOptions} options */
const biases = (options) =>
  formulasOf(options).bias
    ? {
        ...{ cpp: '.bias = bias, ', written: '.bias = written_bias, ' },
        ...{ javascript: ', bias: biasOf(length)', answers: ', bias: biasOf(answers)' },
      }
    : { cpp: '', written: '', javascript: '', answers: '' };

/** @param {LaneOptions} options @returns {Call} */
function transformerForward(options) {
  const bias = biases(options);
  const [x, y] = [
    placed(options, 'x').cpp,
    placed(options, 'y', { encoding: 'written_encoding' }).cpp,
  ];
  return {
    python: 'logits, _ = write(ids, given)',
    cpp: `const attn::Variable x = tokens.forward(tape, ids), y = written.forward(tape, given);
const attn::Variable memory =
    encoder.forward(${x}, {.attention = {${bias.cpp}.valid_lens = lengths}});
const attn::Variable logits = unembed.forward(
    decoder.forward(${y}, memory, {.self_attention = {${bias.written}.causal = true},
                                .cross_attention = {.valid_lens = lengths}}));`,
    javascript: `const memory = encoder.forward(withPositions(tokens.forward(ids, { tape })), {
  attention: { validLens${bias.javascript} },
});
const y = decoder.forward(withPositions(written.forward(given, { tape })), memory, {
  ...{ selfAttention: { causal: true${bias.answers} }, crossAttention: { validLens } },
});
const logits = unembed.forward(y);`,
  };
}

/**
 * The attention of a head while the model writes a date.
 * @param {LaneOptions} options
 * @param {Which} which
 * @param {string} text
 * @returns {Call}
 */
function attentionOf(options, { layer, head }, text) {
  const { heads, layers } = options;
  const [{ added, bias }, shared] = [formulasOf(options), biases(options)];
  const recurrent = options.decoder === 'recurrent';
  const comment = 'The model continues from its own output.';
  const inJavaScript = recurrent
    ? {
        reading: 'const { output, hN } = encoder.forward(tokens.forward(ids));',
        writing: `  const state = decoder.initState(output, hN, { encoderLens: validLens });
  const { logits, alignment } = decoder.forward(tokensWritten, state, { needAlignment: true });
  weights = alignment.data;`,
      }
    : {
        reading: `const { output: memory } = encoder.forward(withPositions(tokens.forward(ids)), {
  attention: { validLens${shared.javascript} },
});`,
        writing: `  const { output, crossAttentionWeights } = decoder.forward(
    withPositions(written.forward(tokensWritten)${added ? ', answers' : ''}),
    memory,
    ${
      bias
        ? `{
      selfAttention: { causal: true, bias: biasOf(given.length, answers) },
      crossAttention: { validLens },
      needWeights: true,
    }`
        : '{ selfAttention: { causal: true }, crossAttention: { validLens }, needWeights: true }'
    },
  );
  const logits = unembed.forward(output);
  weights = crossAttentionWeights[${layer}].data.subarray(${head} * answers * length);`,
      };
  const inCpp = recurrent
    ? {
        reading: `std::vector<float> states(length * d), last(${layers} * d), weights(answers * length);
const attn::Tensor memory(states.data(), {1, length, d}), hidden(last.data(), {${layers}, 1, d});
encoder.forward(X, memory, {.h_n = hidden});`,
        writing: `  auto state = decoder.init_state(memory, hidden, lengths);
  decoder.forward({given.data(), {1, n}}, state, attn::Tensor(said.data(), {1, n, symbols}),
                  attn::Tensor(weights.data(), {1, n, length}));`,
        from: 'weights.data()',
      }
    : {
        reading: `std::vector<float> states(length * d), all(${layers} * ${heads} * answers * length);
const attn::Tensor memory(states.data(), {1, length, d});${placed(options, 'X').inPlace}
encoder.forward(X, memory, {.attention = {${shared.cpp}.valid_lens = lengths}});`,
        writing: `  std::vector<float> y(n * d);
  const attn::Tensor Y(y.data(), {1, n, d});
  written.forward({given.data(), {1, n}}, Y);${placed(options, 'Y', { indent: '  ', n: 'answers' }).inPlace}
  std::vector<attn::Tensor> each;
  for (std::int64_t layer = 0; layer < ${layers}; ++layer) {
    each.emplace_back(all.data() + layer * ${heads} * n * length,
                      std::initializer_list<std::int64_t>{1, ${heads}, n, length});
  }
${bias ? '  const attn::OwnedTensor some = bias_of(n, answers);\n' : ''}  decoder.forward(Y, memory, Y, {.self_attention = {${bias ? '.bias = some, ' : ''}.causal = true},
                                 .cross_attention = {.valid_lens = lengths},
                                 .cross_attention_weights = each});
  unembed.forward(Y, attn::Tensor(said.data(), {1, n, symbols}));`,
        from: `all.data() + (${layer} * ${heads} + ${head}) * answers * length`,
      };
  return {
    python: `
# ${comment}
text = ${text}
ids, given = torch.tensor([read(text)]), [first]
for _ in range(${answers - 1}):
    logits, _ = write(ids, torch.tensor([given]))
    given.append(int(logits[0, -1].argmax()))
shown = write(ids, torch.tensor([given]))[1][0, :, :len(text)]`,
    cpp: `
// ${comment}
const std::int64_t symbols = ${start + 1};
const std::string text = ${text};
const std::int32_t size = static_cast<std::int32_t>(text.size());
const attn::ConstLengths lengths(&size, {1});
std::vector<std::int32_t> ids(length), given{first};
read(text, ids.data());
std::vector<float> x(length * d);
const attn::Tensor X(x.data(), {1, length, d});
tokens.forward({ids.data(), {1, length}}, X);
${inCpp.reading}
for (std::int64_t n = 1;; ++n) {
  std::vector<float> said(n * symbols);
${inCpp.writing}
  if (n == answers) break;
  const auto row = said.end() - symbols;
  given.push_back(static_cast<std::int32_t>(std::max_element(row, said.end()) - row));
}
std::vector<float> shown;
for (std::int64_t i = 0; i < answers; ++i) {
  const float* const row = ${inCpp.from} + i * length;
  shown.insert(shown.end(), row, row + size);
}`,
    javascript: `
// ${comment}
const text = ${text};
const ids = { data: read(text), shape: [1, length] };
const validLens = { data: [text.length], shape: [1] };
const given = [first];
let weights;
${inJavaScript.reading}
for (;;) {
  const tokensWritten = { data: given, shape: [1, given.length] };
${inJavaScript.writing}
  if (given.length === answers) break;
  const row = logits.data.slice(-${start + 1});
  given.push(row.indexOf(Math.max(...row)));
}
const shown = {
  data: weights.slice(0, answers * length).filter((_, i) => i % length < text.length),
  shape: [answers, text.length],
};`,
  };
}
