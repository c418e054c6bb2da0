import { layer } from '../programs/calls.js';
import { indented } from '../programs/writers.js';
import { sizes } from './model.js';
import { trainingStreams } from './worlds.js';

/** Calls that appear in the programs of every world (see worlds.js). */

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

/**
 * Adds positions to `x` in C++: as an expression for a new value, and as a line that changes a
 * tensor in place.
 * @param {LaneOptions['positions']} positions
 * @param {string} x
 * @param {string} [indent]
 */
export function placed(positions, x, indent = '') {
  const encoding = { sinusoidal: 'attn::PositionalEncoding()', learned: 'positions' }[
    /** @type {'learned'} */ (positions)
  ];
  return {
    cpp: encoding ? `${encoding}.forward(${x})` : x,
    inPlace: encoding ? `\n${indent}${encoding}.forward(${x}, ${x});` : '',
  };
}

/** Defines `withPositions` in JavaScript. @param {LaneOptions['positions']} positions */
export const withPositions = (positions) => {
  const x = { sinusoidal: 'attn.positionalEncoding(x)', learned: 'positions.forward(x)' };
  return `const withPositions = (x) => ${x[/** @type {'learned'} */ (positions)] ?? 'x'};`;
};

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
