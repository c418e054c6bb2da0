import { formulaFunctions } from '../invention/formulaCode.js';
import { layer } from '../programs/calls.js';
import { gap, printMatrix } from '../programs/print.js';
import { indented } from '../programs/writers.js';
import { sizes } from './model.js';
import { trainingStreams } from './worlds.js';

/** Calls that appear in the training programs for every task (see worlds.js). */

/** @typedef {import('../programs/print.js').Call} Call */
/** @typedef {import('./model.js').LaneOptions} LaneOptions */
/** @typedef {'table' | 'losses' | 'attention' | 'reach'} Shown what a program prints */

/** The comments and seeds at the beginning of Python programs. @param {number} seed */
export const pythonStart = (seed) =>
  `# PyTorch draws the random numbers, so the examples and first weights differ from the page's.
torch.manual_seed(${seed})`;

/**
 * Creates an embedding.
 * @param {string} name
 * @param {string | number} numEmbeddings
 * @param {{ seed: number, stream: number }} random
 */
export const embedding = (name, numEmbeddings, random) =>
  layer(name, 'Embedding', { numEmbeddings, embeddingDim: 'd', ...random, deviation: 0.5 });

/** The table of positions that a model learns. @param {LaneOptions} options @returns {Call} */
export const table = ({ positions, seed }) =>
  positions === 'learned'
    ? layer('positions', 'LearnedPositionalEncoding', {
        ...{ maxLength: 'length', dModel: 'd', seed, deviation: 0.5 },
      })
    : {};

/** The formulas of the reader's scheme that a model uses. @param {LaneOptions} options */
export function formulasOf({ positions, written }) {
  const used = positions === 'yours' ? written : undefined;
  return { added: Boolean(used?.added.trim()), bias: Boolean(used?.bias.trim()) };
}

/**
 * Defines the formulas, and functions that compute their tables: `addPositions` and `biasOf` in
 * C++, `withPositions` (see below) and `biasOf` in JavaScript, `positions` and `bias` in Python.
 * They compute a table's first rows, and `n` is the number of positions in the formula.
 * @param {LaneOptions} options
 * @returns {Call[]}
 */
export function invention(options) {
  const { added, bias } = formulasOf(options);
  const { written, heads } = options;
  if (!written || !(added || bias)) return [];
  return [
    gap,
    formulaFunctions(written),
    added
      ? {
          python: `def positions(n):
    return torch.tensor([[float(P(i, k, n, d)) for k in range(d)] for i in range(n)])
`,
          cpp: `/// Adds the encoding of the first of n positions to each example.
const auto add_positions = [&](const attn::Tensor& x, std::int64_t n) {
  for (std::int64_t example = 0; example < x.size(0); ++example) {
    for (std::int64_t i = 0; i < x.size(1); ++i) {
      for (std::int64_t k = 0; k < d; ++k) x(example, i, k) += static_cast<float>(P(i, k, n, d));
    }
  }
};`,
        }
      : {},
    bias
      ? {
          python: `def bias(n):
    return torch.tensor([[[float(b(i, j, h, n, d)) for j in range(n)] for i in range(n)] for h in range(${heads})])
`,
          cpp: `/// The bias of each head among the first of n positions.
const auto bias_of = [&](std::int64_t rows, std::int64_t n) {
  attn::OwnedTensor bias{${heads}, rows, rows};
  for (std::int64_t h = 0; h < ${heads}; ++h) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < rows; ++j) bias(h, i, j) = static_cast<float>(b(i, j, h, n, d));
    }
  }
  return bias;
};`,
          javascript: `/** The bias of each head among the first of n positions. */
function biasOf(rows, n = rows) {
  const bias = { data: new Float32Array(${heads} * rows ** 2), shape: [${heads}, rows, rows] };
  let at = 0;
  for (let h = 0; h < ${heads}; h++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < rows; j++) bias.data[at++] = b(i, j, h, n, d);
    }
  }
  return bias;
}`,
        }
      : {},
    gap,
  ];
}

/**
 * Adds positions to `x` in C++: as an expression for a new variable, and as a line that changes a
 * tensor in place.
 * @param {LaneOptions} options
 * @param {string} x
 * @param {{ indent?: string, encoding?: string, n?: string }} [names] encoding: the tensor with the
 *   reader's encoding of each example; n: the number of positions in the reader's formula
 */
export function placed(
  options,
  x,
  { indent = '', encoding = 'encoding', n = `${x}.size(1)` } = {},
) {
  if (formulasOf(options).added) {
    return {
      cpp: `${x} + tape.constant(${encoding})`,
      inPlace: `\n${indent}add_positions(${x}, ${n});`,
    };
  }
  const layer = { sinusoidal: 'attn::PositionalEncoding()', learned: 'positions' }[
    /** @type {'learned'} */ (options.positions)
  ];
  return {
    cpp: layer ? `${layer}.forward(${x})` : x,
    inPlace: layer ? `\n${indent}${layer}.forward(${x}, ${x});` : '',
  };
}

/** Defines `withPositions` in JavaScript. @param {LaneOptions} options */
export function withPositions(options) {
  if (formulasOf(options).added) {
    return `/** Adds the encoding of the first of n positions to each example. */
function withPositions(x, n = x.shape[1]) {
  const [, rows] = x.shape;
  const table = Float32Array.from({ length: rows * d }, (_, at) => P(Math.floor(at / d), at % d, n, d));
  const data = new Float32Array(x.shape[0] * table.length).map((_, at) => table[at % table.length]);
  if (x.tape) return x.add(x.tape.constant({ data, shape: x.shape }));
  return { data: data.map((value, at) => value + x.data[at]), shape: x.shape };
}`;
  }
  const x = { sinusoidal: 'attn.positionalEncoding(x)', learned: 'positions.forward(x)' };
  return `const withPositions = (x) => ${x[/** @type {'learned'} */ (options.positions)] ?? 'x'};`;
}

/**
 * Trains the model. Earlier calls define the parts of the model. In Python, the variable `parts`
 * contains these parts, and `P` contains the positions if they are learned. `examples` defines the
 * input and the targets of a step, and `forward` defines the logits.
 * @param {LaneOptions} options
 * @param {{ steps: number, shown: Shown, parts: string[], held?: string, examples: Call, forward:
 *   Call, answers: string, embeddings?: string[] }} training answers: number of answers per example
 * @returns {Call}
 */
export function training({ positions, rate }, training) {
  const { steps, shown, parts, held, examples, forward, answers, embeddings = [] } = training;
  const [first, ...others] = parts;
  const all = [first, ...(positions === 'learned' ? ['positions'] : []), ...others];
  const keeps = shown === 'losses';
  const comment = held ? `\n  // ${held}` : '';
  const within = (/** @type {string | undefined} */ lines, by = 2) => indented(lines ?? '', by);
  const stream = `${trainingStreams.first} + ${trainingStreams.each} * step`;
  return {
    python: `for part in parts:
    for weight in part.parameters():
        if weight.dim() == 2:
            torch.nn.init.xavier_uniform_(weight)
${embeddings.map((name) => `torch.nn.init.normal_(${name}.weight, std=0.5)\n`).join('')}
parameters = [weight for part in parts for weight in part.parameters()]${positions === 'learned' ? ' + [P]' : ''}
optimizer = torch.optim.AdamW(parameters, lr=${rate})${keeps ? '\nlosses = []' : ''}
for step in range(${steps}):
${within(examples.python, 4)}
${within(forward.python, 4)}
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())${keeps ? '\n    losses.append((step + 1, loss.item()))' : ''}
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1)
    optimizer.param_groups[0]["lr"] = ${rate} * min(1, (step + 1) / ${sizes.warmup})
    optimizer.step()`,
    cpp: `
attn::AdamW optimizer({${all.map((name) => `{"${name}", ${name}}`).join(', ')}});
attn::Tape tape;${keeps ? '\nstd::vector<float> shown;' : ''}
for (std::int64_t step = 0; step < ${steps}; ++step) {${comment}
  const std::uint64_t stream = ${stream};
${within(examples.cpp)}
  tape.clear();
${within(forward.cpp)}
  const attn::Variable loss =
      attn::cross_entropy(logits, {all_targets.data(), {batch, ${answers}}});${keeps ? '\n  shown.insert(shown.end(), {static_cast<float>(step + 1), loss.item()});' : ''}
  tape.backward(loss);
  attn::clip_grad_norm(tape, 1);
  optimizer.set_learning_rate(attn::constant_learning_rate(step + 1, ${rate}, ${sizes.warmup}));
  optimizer.step(tape);
}`,
    javascript: `
const optimizer = new attn.AdamW({ ${all.join(', ')} });
const tape = new attn.Tape();${keeps ? '\nconst losses = [];' : ''}
for (let step = 0; step < ${steps}; step++) {${comment}
  const stream = ${stream};
${within(examples.javascript)}
  tape.clear();
${within(forward.javascript)}
  const loss = attn.crossEntropy(logits, targets);${keeps ? '\n  losses.push(step + 1, loss.item());' : ''}
  tape.backward(loss);
  attn.clipGradNorm(tape, 1);
  optimizer.lr = attn.constantLearningRate(step + 1, { peak: ${rate}, warmupSteps: ${sizes.warmup} });
  optimizer.step(tape);
}`,
  };
}

/** Defines `shown` as the table of positions or as the losses. @param {number} steps */
export const results = (steps) => ({
  table: {
    python: 'shown = P',
    cpp: 'const float* const shown = positions.parameter("weight").data();',
    javascript: "const shown = positions.parameter('weight');",
  },
  losses: {
    python: 'shown = torch.tensor(losses)',
    javascript: `const shown = { data: Float32Array.from(losses), shape: [${steps}, 2] };`,
  },
});

/** The schemes of positions that PyTorch's layers compute. */
const inPython = ['sinusoidal', 'learned', 'none', 'yours'];

/**
 * Prints programs that train a model and then print `shown`.
 * @param {LaneOptions} options
 * @param {{ steps: number, shown: Shown, shape: [string | number, string | number] }} what shape:
 *   rows and columns of `shown`, except for losses and tables
 * @param {Call[]} calls
 * @returns {import('../programs/print.js').Programs}
 */
export function printTraining({ positions }, { steps, shown, shape }, calls) {
  /** @type {Partial<Record<Shown, typeof shape>>} */
  const shapes = { losses: [steps, 2], table: ['length', 'd'] };
  const [rows, columns] = shapes[shown] ?? shape;
  const { python, ...others } = printMatrix('shown', rows, columns, calls, '{ training: true }');
  return inPython.includes(positions) ? { python, ...others } : others;
}
