import {
  cppProgram,
  double,
  javascriptProgram,
  literal,
  pythonProgram,
} from '../programs/programs.js';
import { months, ordinals, years } from './dates.js';
import { attentionPositions, sizes } from './model.js';
import { trainingStreams, worlds } from './worlds.js';

/** @typedef {import('./model.js').LaneOptions} LaneOptions */

const { dModel: d, dimFeedforward, batch, warmup } = sizes;
const { length, answers, symbols, written } = worlds.dates;
const alphabet = literal(symbols.slice(0, -1).join(''));
const writtenAlphabet = literal(written?.symbols.slice(0, -1).join('') ?? '');
const [padding, start] = [symbols.length - 1, (written?.symbols.length ?? 0) - 1];
const held = 'The page leaves out the days that it holds out to test with.';

/**
 * The attention's own positions, in C++.
 * @param {LaneOptions['positions']} positions
 * @param {import('attn').AttentionPositions} options
 */
export const nativePositions = (positions, { t5Bias, maxRelativeDistance }) =>
  ({
    rotary: '.rotary = attn::RotaryEmbeddingOptions{}',
    alibi: '.alibi = true',
    t5: `.t5_bias = attn::T5BiasOptions{.max_distance = ${t5Bias?.maxDistance}, .bidirectional = ${t5Bias?.bidirectional}}`,
    shaw: `.max_relative_distance = ${maxRelativeDistance}`,
  })[/** @type {'rotary'} */ (positions)];

/**
 * The backward pass of a step in C++; `tells` is true if the loss is kept.
 * @param {string} loss @param {boolean} tells
 */
export const cppBackward = (loss, tells) =>
  tells
    ? `const attn::Variable loss = ${loss};
  shown.insert(shown.end(), {static_cast<float>(step + 1), loss.item()});
  tape.backward(loss);`
    : `tape.backward(${loss});`;

/** The backward pass of a step in JavaScript. @param {boolean} tells */
export const javascriptBackward = (tells) =>
  tells
    ? `const loss = attn.crossEntropy(logits, targets);
  losses.push(step + 1, loss.item());
  tape.backward(loss);`
    : 'tape.backward(attn.crossEntropy(logits, targets));';

/**
 * Lists texts in lines of at most 100 characters.
 * @param {readonly string[]} texts
 * @param {string} indent
 */
function listed(texts, indent) {
  const lines = [''];
  for (const text of texts.map(literal)) {
    if (lines[lines.length - 1].length + text.length > 88) lines.push('');
    lines[lines.length - 1] += `${text}, `;
  }
  return lines.map((line) => indent + line.trimEnd()).join('\n');
}

/**
 * Programs that train a model to write dates with digits. They print a head's attention while it
 * writes the date of an example, or the table of positions if no head is given.
 * @param {LaneOptions} options
 * @param {number} steps
 * @param {{ ids: number[], layer: number, head: number }} [shownHead]
 * @param {boolean} [tells] whether to print the loss of each step instead
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export function datePrograms(options, steps, shownHead, tells = false) {
  const { ids = [], layer = 0, head = 0 } = shownHead ?? {};
  const read = ids.filter((id) => id !== padding);
  const text = literal(read.map((id) => symbols[id]).join(''));
  const recurrent = options.decoder === 'recurrent';
  const shown = { layer, head, text, table: !shownHead && !tells, tells, read: read.length };
  return {
    ...((recurrent || ['none', 'sinusoidal', 'learned'].includes(options.positions)) && {
      python: python(options, steps, recurrent, shown),
    }),
    cpp: cpp(options, steps, recurrent, shown),
    javascript: javascript(options, steps, recurrent, shown),
  };
}

/** @typedef {{ layer: number, head: number, text: string, table: boolean, tells: boolean, read: number }} Shown */

/** @param {LaneOptions} options @param {number} steps @param {boolean} recurrent @param {Shown} shown */
function javascript(options, steps, recurrent, { layer, head, text, table, tells }) {
  const { positions, heads, layers, rate } = options;
  const [sinusoidal, learned] = [positions === 'sinusoidal', positions === 'learned'];
  const of = (/** @type {boolean} */ causal) =>
    JSON.stringify(attentionPositions({ positions, causal })).replaceAll('"', '');
  const model = recurrent
    ? `  encoder: new attn.GRU({ inputSize: d, hiddenSize: d, numLayers: ${layers}, seed, stream: 1000 }),
  decoder: new attn.BahdanauDecoder({
    ...{ vocabSize: ${start + 1}, embedSize: d, numHiddens: d, numLayers: ${layers}, seed, stream: 3000 },
  }),`
    : `${learned ? `  positions: new attn.LearnedPositionalEncoding({ maxLength: length, dModel: d, deviation: 0.5, seed }),\n` : ''}  encoder: new attn.TransformerEncoder({ ...layers, positions: ${of(false)}, stream: 1000 }),
  written: new attn.Embedding({
    ...{ numEmbeddings: ${start + 1}, embeddingDim: d, deviation: 0.5, seed, stream: 2 },
  }),
  decoder: new attn.TransformerDecoder({ ...layers, positions: ${of(true)}, stream: 3000 }),
  unembed: new attn.Linear({ inFeatures: d, outFeatures: ${start + 1}, seed, stream: 2000 }),`;
  const forward = recurrent
    ? `  const { output, hN } = model.encoder.forward(model.tokens.forward(ids, { tape }));
  const state = model.decoder.initState(output, hN, { encoderLens: validLens });
  const { logits } = model.decoder.forward(given, state);`
    : `  const memory = model.encoder.forward(withPositions(model.tokens.forward(ids, { tape })), {
    attention: { validLens },
  });
  const y = model.decoder.forward(withPositions(model.written.forward(given, { tape })), memory, {
    ...{ selfAttention: { causal: true }, crossAttention: { validLens } },
  });
  const logits = model.unembed.forward(y);`;
  const reading = recurrent
    ? 'const { output, hN } = model.encoder.forward(model.tokens.forward(ids));'
    : `const memory = model.encoder.forward(withPositions(model.tokens.forward(ids)), {
  attention: { validLens },
}).output;`;
  const writing = recurrent
    ? `  const state = model.decoder.initState(output, hN, { encoderLens: validLens });
  const { logits, alignment } = model.decoder.forward(tokens, state, { needAlignment: true });
  weights = alignment.data;`
    : `  const { output, crossAttentionWeights } = model.decoder.forward(
    withPositions(model.written.forward(tokens)),
    memory,
    { selfAttention: { causal: true }, crossAttention: { validLens }, needWeights: true },
  );
  const logits = model.unembed.forward(output);
  weights = crossAttentionWeights[${layer}].data.subarray(${head} * answers * length);`;
  return javascriptProgram({
    training: true,
    body: `const [batch, length, answers, d, seed] = [${[batch, length, answers, d, options.seed].join(', ')}];
const [alphabet, digits, padding, start] = [${alphabet}, ${writtenAlphabet}, ${padding}, ${start}];
const months = [
${listed(months, '  ')}
];
const ordinals = [
${listed(ordinals, '  ')}
];

function makeDate(u) {
  const year = ${years.first} + Math.floor(${years.count} * u[0]);
  const month = 1 + Math.floor(12 * u[1]);
  const day = 1 + Math.floor(new Date(Date.UTC(year, month, 0)).getUTCDate() * u[2]);
  const [name, short] = [months[month - 1], months[month - 1].slice(0, 3)];
  const suffix = day > 3 && day < 21 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th');
  const spellings = [
    \`the \${ordinals[day - 1]} of \${name} \${year}\`,
    \`\${day} \${name} \${year}\`,
    \`\${name} \${day}\${suffix}, \${year}\`,
    \`the \${day}\${suffix} of \${name} \${year}\`,
    \`\${short} \${day}, \${year}\`,
    day > 12 ? \`\${day}.\${month}.\${year}\` : \`\${day} \${short} \${year}\`,
  ];
  const two = (number) => String(number).padStart(2, '0');
  return [spellings[Math.floor(6 * u[3])], \`\${year}-\${two(month)}-\${two(day)}\`];
}
const read = (text) => Array.from({ length }, (_, i) => (i < text.length ? alphabet.indexOf(text[i]) : padding));
${recurrent ? '' : `\nconst layers = {\n  ...{ dModel: d, numHeads: ${heads}, dimFeedforward: ${dimFeedforward}, numLayers: ${layers} },\n  ...{ normFirst: true, finalNorm: true, seed },\n};`}
const model = {
  tokens: new attn.Embedding({
    ...{ numEmbeddings: ${padding + 1}, embeddingDim: d, deviation: 0.5, seed, stream: 1 },
  }),
${model}
};
${recurrent ? '' : `const withPositions = (x) => ${sinusoidal ? 'attn.positionalEncoding(x)' : learned ? 'model.positions.forward(x)' : 'x'};\n`}
const optimizer = new attn.AdamW(model);
const tape = new attn.Tape();${tells ? '\nconst losses = [];' : ''}
for (let step = 0; step < ${steps}; step++) {
  // ${held}
  const stream = ${trainingStreams.first} + ${trainingStreams.each} * step;
  const random = attn.randomUniform({ shape: [batch, 4], seed, stream }).data;
  const dates = Array.from({ length: batch }, (_, i) => makeDate(random.subarray(4 * i)));
  const right = dates.map(([, date]) => [...date].map((c) => digits.indexOf(c)));
  const ids = { data: dates.flatMap(([text]) => read(text)), shape: [batch, length] };
  const validLens = { data: dates.map(([text]) => text.length), shape: [batch] };
  const targets = { data: right.flat(), shape: [batch, answers] };
  const given = { data: right.flatMap((row) => [start, ...row.slice(0, -1)]), shape: [batch, answers] };
  tape.clear();
${forward}
  ${javascriptBackward(tells)}
  attn.clipGradNorm(tape, 1);
  optimizer.lr = attn.constantLearningRate(step + 1, { peak: ${rate}, warmupSteps: ${warmup} });
  optimizer.step(tape);
}
${
  table
    ? `\nconst shown = model.positions.parameter('weight');`
    : tells
      ? `\nconst shown = { data: Float32Array.from(losses), shape: [${steps}, 2] };`
      : `
// It goes on from what it has written itself.
const text = ${text};
const ids = { data: read(text), shape: [1, length] };
const validLens = { data: [text.length], shape: [1] };
const given = [start];
let weights;
${reading}
for (;;) {
  const tokens = { data: given, shape: [1, given.length] };
${writing}
  if (given.length === answers) break;
  const row = logits.data.slice(-${start + 1});
  given.push(row.indexOf(Math.max(...row)));
}
const shown = {
  data: weights.slice(0, answers * length).filter((_, i) => i % length < text.length),
  shape: [answers, text.length],
};`
}`,
    result: 'shown',
  });
}

/** @param {LaneOptions} options @param {number} steps @param {boolean} recurrent @param {Shown} shown */
function python(options, steps, recurrent, { layer, head, text, table, tells }) {
  const { positions, heads, layers, rate, seed } = options;
  const [sinusoidal, learned] = [positions === 'sinusoidal', positions === 'learned'];
  const model = recurrent
    ? `reader = torch.nn.GRU(d, d, ${layers}, batch_first=True)
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
    return torch.stack(logits, 1), torch.stack(weights, 1)`
    : `options = dict(dim_feedforward=${dimFeedforward}, dropout=0, batch_first=True, norm_first=True)
encoder = torch.nn.TransformerEncoder(
    torch.nn.TransformerEncoderLayer(d, ${heads}, **options), ${layers}, torch.nn.LayerNorm(d), enable_nested_tensor=False)
written = torch.nn.Embedding(${start + 1}, d)
decoder = torch.nn.TransformerDecoder(
    torch.nn.TransformerDecoderLayer(d, ${heads}, **options), ${layers}, torch.nn.LayerNorm(d))
unembed = torch.nn.Linear(d, ${start + 1})
parts = (tokens, encoder, written, decoder, unembed)
${
  sinusoidal
    ? `angle = torch.arange(length).reshape(-1, 1) / 10000 ** (torch.arange(0, d, 2) / d)
P = torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, d)`
    : learned
      ? 'P = torch.nn.Parameter(0.5 * torch.randn(length, d))'
      : 'P = torch.zeros(length, d)'
}

def write(ids, given):
    padded, n = ids == padding, given.shape[1]
    mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
    memory = encoder(tokens(ids) + P, src_key_padding_mask=padded)
    y, weights = written(given) + P[:n], []
    for layer in decoder.layers:
        x = layer.norm1(y)
        y = y + layer.self_attn(x, x, x, attn_mask=mask)[0]
        x, each = layer.multihead_attn(
            layer.norm2(y), memory, memory, key_padding_mask=padded, average_attn_weights=False)
        y = y + x
        y = y + layer.linear2(torch.relu(layer.linear1(layer.norm3(y))))
        weights.append(each)
    return unembed(decoder.norm(y)), weights[${layer}][:, ${head}]`;
  return pythonProgram({
    body: `import calendar
import random

# Numbers drawn by PyTorch: other examples and first weights than those of the page.
random.seed(${seed})
torch.manual_seed(${seed})
batch, length, d = ${batch}, ${length}, ${d}
alphabet, digits, padding, start = ${alphabet}, ${writtenAlphabet}, ${padding}, ${start}
months = [
${listed(months, '    ')}
]
ordinals = [
${listed(ordinals, '    ')}
]

def make_date():
    year, month = random.randrange(${years.first}, ${years.first + years.count}), random.randrange(1, 13)
    day = random.randrange(1, calendar.monthrange(year, month)[1] + 1)
    name, short = months[month - 1], months[month - 1][:3]
    suffix = "th" if 3 < day < 21 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    text = random.choice([
        f"the {ordinals[day - 1]} of {name} {year}",
        f"{day} {name} {year}",
        f"{name} {day}{suffix}, {year}",
        f"the {day}{suffix} of {name} {year}",
        f"{short} {day}, {year}",
        f"{day}.{month}.{year}" if day > 12 else f"{day} {short} {year}",
    ])
    return text, f"{year}-{month:02}-{day:02}"

def read(text):
    return [alphabet.index(c) for c in text] + [padding] * (length - len(text))

tokens = torch.nn.Embedding(${padding + 1}, d)
${model}
for part in parts:
    for name, weight in part.named_parameters():
        if weight.dim() == 2:
            torch.nn.init.xavier_uniform_(weight)
torch.nn.init.normal_(tokens.weight, std=0.5)
torch.nn.init.normal_(written.weight, std=0.5)

parameters = [weight for part in parts for weight in part.parameters()]${learned && !recurrent ? ' + [P]' : ''}
optimizer = torch.optim.AdamW(parameters, lr=${rate})${tells ? '\nlosses = []' : ''}
for step in range(${steps}):
    dates = [make_date() for _ in range(batch)]
    ids = torch.tensor([read(text) for text, _ in dates])
    right = torch.tensor([[digits.index(c) for c in date] for _, date in dates])
    given = torch.cat((torch.full((batch, 1), start), right[:, :-1]), 1)
    logits, _ = write(ids, given)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), right.flatten())${tells ? '\n    losses.append((step + 1, loss.item()))' : ''}
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1)
    optimizer.param_groups[0]["lr"] = ${rate} * min(1, (step + 1) / ${warmup})
    optimizer.step()
${
  table || tells
    ? ''
    : `
# It goes on from what it has written itself.
text = ${text}
ids, given = torch.tensor([read(text)]), [start]
for _ in range(${answers - 1}):
    logits, _ = write(ids, torch.tensor([given]))
    given.append(int(logits[0, -1].argmax()))
weights = write(ids, torch.tensor([given]))[1][0, :, :len(text)]`
}`,
    result: table ? 'P' : tells ? 'torch.tensor(losses)' : 'weights',
  });
}

/** @param {LaneOptions} options @param {number} steps @param {boolean} recurrent @param {Shown} shown */
function cpp(options, steps, recurrent, { layer, head, text, table, tells, read }) {
  const { positions, heads, layers, rate, seed } = options;
  const [sinusoidal, learned] = [positions === 'sinusoidal', positions === 'learned'];
  const native = nativePositions(positions, attentionPositions({ positions, causal: false }));
  const place = sinusoidal
    ? (/** @type {string} */ x) => `attn::PositionalEncoding().forward(${x})`
    : learned
      ? (/** @type {string} */ x) => `table.forward(${x})`
      : (/** @type {string} */ x) => x;
  const model = recurrent
    ? `attn::GRU encoder({.input_size = d, .hidden_size = d, .num_layers = ${layers}});
encoder.initialize_xavier({.seed = ${seed}, .stream = 1000});
attn::BahdanauDecoder decoder(
    {.vocab_size = ${start + 1}, .embed_size = d, .num_hiddens = d, .num_layers = ${layers}});
decoder.initialize_xavier({.seed = ${seed}, .stream = 3000});
attn::AdamW optimizer({{"tokens", tokens}, {"encoder", encoder}, {"decoder", decoder}});`
    : `${learned ? `attn::LearnedPositionalEncoding table(length, d);\ntable.initialize_normal(${seed}, 0.5F);\n` : ''}attn::TransformerEncoderOptions options{.layer = {.d_model = d,
                                                .num_heads = ${heads},
                                                .dim_feedforward = ${dimFeedforward},
                                                .norm_first = true${native ? `,\n                                                .positions = {${native}}` : ''}},
                                      .num_layers = ${layers},
                                      .final_norm = true};
attn::TransformerEncoder encoder(options);
encoder.initialize_xavier({.seed = ${seed}, .stream = 1000});${positions === 't5' ? '\noptions.layer.positions.t5_bias->bidirectional = false;' : ''}
attn::TransformerDecoder decoder(options);
decoder.initialize_xavier({.seed = ${seed}, .stream = 3000});
attn::Embedding written({.num_embeddings = ${start + 1}, .embedding_dim = d});
written.initialize_normal({.seed = ${seed}, .stream = 2}, 0.5F);
attn::Linear unembed(d, ${start + 1});
unembed.initialize_xavier({.seed = ${seed}, .stream = 2000});
attn::AdamW optimizer({{"tokens", tokens}, ${learned ? '{"positions", table}, ' : ''}{"encoder", encoder}, {"written", written}, {"decoder", decoder}, {"unembed", unembed}});`;
  const forward = recurrent
    ? `attn::Variable hidden;
const attn::Variable states = encoder.forward(tokens.forward(tape, ids), {}, &hidden);
const attn::Variable logits = decoder.forward(tape, given, states, hidden, lengths);`
    : `const attn::Variable x = tokens.forward(tape, ids), y = written.forward(tape, given);
const attn::Variable memory = encoder.forward(${place('x')}, {.attention = {.valid_lens = lengths}});
const attn::Variable logits = unembed.forward(
    decoder.forward(${place('y')}, memory, {.self_attention = {.causal = true},
                                .cross_attention = {.valid_lens = lengths}}));`;
  return cppProgram({
    includes: ['<algorithm>', '<array>', '<chrono>', '<string>'],
    body: `const std::int64_t batch = ${batch}, length = ${length}, answers = ${answers}, d = ${d}${table || tells ? '' : `, symbols = ${start + 1}`};
const std::string alphabet = ${alphabet}, digits = ${writtenAlphabet};
const std::array<std::string, 12> months{
${listed(months, '    ')}
};
const std::array<std::string, 31> ordinals{
${listed(ordinals, '    ')}
};
const auto spelled = [&](const float* u, std::string& date) {
  const int year = ${years.first} + static_cast<int>(${double(years.count)} * u[0]), month = 1 + static_cast<int>(12.0 * u[1]);
  const auto last = std::chrono::year(year) / month / std::chrono::last;
  const int day = 1 + static_cast<int>(static_cast<unsigned>(last.day()) * double{u[2]});
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  date = std::to_string(year) + "-" + two(month) + "-" + two(day);
  const std::string name = months[month - 1], brief = name.substr(0, 3), n = std::to_string(day);
  const std::string y = std::to_string(year), ends[] = {"th", "st", "nd", "rd"};
  const std::string ordinal = n + ends[(day > 3 && day < 21) || day % 10 > 3 ? 0 : day % 10];
  const std::array<std::string, 6> spellings{
      "the " + ordinals[day - 1] + " of " + name + " " + y, n + " " + name + " " + y,
      name + " " + ordinal + ", " + y, "the " + ordinal + " of " + name + " " + y,
      brief + " " + n + ", " + y,
      day > 12 ? n + "." + std::to_string(month) + "." + y : n + " " + brief + " " + y};
  return spellings[static_cast<int>(6.0 * u[3])];
};
const auto read = [&](const std::string& text, std::int32_t* ids) {
  std::fill(ids, ids + length, ${padding});
  for (const char c : text) *ids++ = static_cast<std::int32_t>(alphabet.find(c));
};

attn::Embedding tokens({.num_embeddings = ${padding + 1}, .embedding_dim = d});
tokens.initialize_normal({.seed = ${seed}, .stream = 1}, 0.5F);
${model}

attn::Tape tape;${tells ? '\nstd::vector<float> shown;' : ''}
std::vector<float> random(batch * 4);
std::vector<std::int32_t> all_ids(batch * length), all_lengths(batch), all_targets(batch * answers),
    all_given(batch * answers);
for (std::int64_t step = 0; step < ${steps}; ++step) {
  // ${held}
  attn::fill_uniform(attn::Tensor(random.data(), {batch, 4}),
                     {.seed = ${seed}, .stream = static_cast<std::uint64_t>(${trainingStreams.first} + ${trainingStreams.each} * step)});
  for (std::int64_t row = 0; row < batch; ++row) {
    std::string date;
    const std::string text = spelled(random.data() + row * 4, date);
    read(text, all_ids.data() + row * length);
    all_lengths[row] = static_cast<std::int32_t>(text.size());
    for (std::int64_t i = 0; i < answers; ++i) {
      const std::int64_t at = row * answers + i;
      all_targets[at] = static_cast<std::int32_t>(digits.find(date[i]));
      all_given[at] = i == 0 ? ${start} : all_targets[at - 1];
    }
  }
  const attn::IdView ids(all_ids.data(), {batch, length}), given(all_given.data(), {batch, answers});
  const attn::ConstLengths lengths(all_lengths.data(), {batch});
  tape.clear();
${forward.replace(/^/gm, '  ')}
  ${cppBackward('attn::cross_entropy(logits, {all_targets.data(), {batch, answers}})', tells)}
  attn::clip_grad_norm(tape, 1);
  optimizer.set_learning_rate(attn::constant_learning_rate(step + 1, ${double(rate)}, ${warmup}));
  optimizer.step(tape);
}
${
  table
    ? `\nconst float* const shown = table.parameter("weight").data();`
    : tells
      ? ''
      : cppLook(recurrent, { layer, head, text, layers, heads, place })
}`,
    ...{ result: 'shown', rows: table ? 'length' : tells ? `${steps}` : 'answers' },
    columns: table ? 'd' : tells ? '2' : `${read}`,
  });
}

/**
 * @param {boolean} recurrent
 * @param {{ layer: number, head: number, text: string, layers: number, heads: number, place: (x: string) => string }} of
 */
function cppLook(recurrent, { layer, head, text, layers, heads, place }) {
  const placed = (/** @type {string} */ x) => {
    const call = place(x);
    return call === x ? '' : `\n  ${call.replace(`(${x})`, `(${x}, ${x})`)};`;
  };
  const reading = recurrent
    ? `std::vector<float> states(length * d), last(${layers} * d), weights(answers * length);
const attn::Tensor memory(states.data(), {1, length, d}), hidden(last.data(), {${layers}, 1, d});
encoder.forward(X, memory, {.h_n = hidden});`
    : `std::vector<float> states(length * d), all(${layers} * ${heads} * answers * length);
const attn::Tensor memory(states.data(), {1, length, d});${placed('X').replace('\n  ', '\n')}
encoder.forward(X, memory, {.attention = {.valid_lens = lengths}});`;
  const writing = recurrent
    ? `  auto state = decoder.init_state(memory, hidden, lengths);
  decoder.forward({given.data(), {1, n}}, state, attn::Tensor(said.data(), {1, n, symbols}),
                  attn::Tensor(weights.data(), {1, n, length}));`
    : `  std::vector<float> y(n * d);
  const attn::Tensor Y(y.data(), {1, n, d});
  written.forward({given.data(), {1, n}}, Y);${placed('Y')}
  std::vector<attn::Tensor> each;
  for (std::int64_t layer = 0; layer < ${layers}; ++layer) {
    each.emplace_back(all.data() + layer * ${heads} * n * length,
                      std::initializer_list<std::int64_t>{1, ${heads}, n, length});
  }
  decoder.forward(Y, memory, Y, {.self_attention = {.causal = true},
                                 .cross_attention = {.valid_lens = lengths},
                                 .cross_attention_weights = each});
  unembed.forward(Y, attn::Tensor(said.data(), {1, n, symbols}));`;
  const from = recurrent
    ? 'weights.data()'
    : `all.data() + (${layer} * ${heads} + ${head}) * answers * length`;
  return `
// It goes on from what it has written itself.
const std::string text = ${text};
const std::int32_t size = static_cast<std::int32_t>(text.size());
const attn::ConstLengths lengths(&size, {1});
std::vector<std::int32_t> ids(length), given{${start}};
read(text, ids.data());
std::vector<float> x(length * d);
const attn::Tensor X(x.data(), {1, length, d});
tokens.forward({ids.data(), {1, length}}, X);
${reading}
for (std::int64_t n = 1;; ++n) {
  std::vector<float> said(n * symbols);
${writing}
  if (n == answers) break;
  const auto row = said.end() - symbols;
  given.push_back(static_cast<std::int32_t>(std::max_element(row, said.end()) - row));
}
std::vector<float> shown;
for (std::int64_t i = 0; i < answers; ++i) {
  const float* const row = ${from} + i * length;
  shown.insert(shown.end(), row, row + size);
}`;
}
