import { cppProgram, double, javascriptProgram, pythonProgram } from '../../programs/programs.js';
import { pythonCode } from '../../programs/pythonCode.js';
import { attentionCode, attentionPrograms } from '../attention/code.js';
import { alibiHead, scalingOf, schemes, streams, t5 } from './schemes.js';

/** @typedef {import('./schemes.js').SchemeName} SchemeName */
/** @typedef {import('./schemes.js').SchemeSettings} SchemeSettings */

/** @typedef {SchemeSettings & { tokens: string[], dModel: number }} ProgramSettings */

/**
 * Programs that compute a scheme's matrix, or attention without positions for the scheme that has
 * none.
 * @param {SchemeName} name
 * @param {ProgramSettings} settings
 * @param {(import('../../models/language/languagePrograms.js').Learned & { given:
 *   import('../../core/sentence.js').SentenceSettings }) | null} [language]
 *   the language model, if the layer is one of its layers, and the settings
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export function schemePrograms(name, settings, language) {
  if (schemes[name].kind === 'rotation') return rotary(name, settings);
  switch (name) {
    case 'sinusoidal':
      return sinusoidal(settings);
    case 'learned':
      return learned(settings);
    case 'alibi':
      return alibi(settings);
    case 't5':
      return buckets(settings);
    case 'shaw':
      return relative(settings);
    default:
      return language
        ? attentionPrograms(
            language.languageCode(language.given, language, 'attention', false),
            settings.head,
            settings.heads,
          )
        : withoutPositions(settings);
  }
}

/** @param {ProgramSettings} settings */
const sinusoidal = ({ tokens: { length }, dModel, base }) => ({
  python: pythonProgram({
    body: `length, width, base = ${length}, ${dModel}, ${double(base)}

angle = torch.arange(length, dtype=torch.float64).reshape(-1, 1) / base ** (
    torch.arange(0, width, 2, dtype=torch.float64) / width)
P = torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, width)`,
    result: 'P',
  }),
  cpp: cppProgram({
    body: `const std::int64_t length = ${length}, width = ${dModel};
std::vector<float> P(length * width);
attn::sinusoidal_encoding(attn::Tensor(P.data(), {length, width}), {.base = ${double(base)}});`,
    ...{ result: 'P', rows: 'length', columns: 'width' },
  }),
  javascript: javascriptProgram({
    body: `const P = attn.sinusoidalEncoding({ length: ${length}, dModel: ${dModel}, base: ${base} });`,
    result: 'P',
  }),
});

/** @param {ProgramSettings} settings */
const learned = ({ tokens: { length }, dModel, seed }) => ({
  python: pythonProgram({
    body: `${pythonCode('normal')}
# As torch.nn.Embedding draws them, with a deviation of 1.
table = normal(${length}, ${dModel}, ${seed})`,
    result: 'table',
  }),
  cpp: cppProgram({
    body: `const std::int64_t length = ${length}, width = ${dModel};
attn::LearnedPositionalEncoding encoding(length, width);
encoding.initialize_normal(${seed}, 1);  // a deviation of 1, as torch.nn.Embedding has
const attn::ConstTensor weight = encoding.parameter("weight");
const std::vector<float> table(weight.data(), weight.data() + length * width);`,
    ...{ result: 'table', rows: 'length', columns: 'width' },
  }),
  javascript: javascriptProgram({
    body: `const encoding = new attn.LearnedPositionalEncoding({
  maxLength: ${length},
  dModel: ${dModel},
  seed: ${seed},
  deviation: 1, // as torch.nn.Embedding has
});
const table = encoding.parameter('weight');`,
    result: 'table',
  }),
});

/** @param {ProgramSettings} settings */
const alibi = ({ tokens: { length }, heads }) => ({
  python: pythonProgram({
    body: `length, heads, head = ${length}, ${heads}, ${alibiHead}

slope = 2.0 ** (-8 * (head + 1) / heads)  # for a number of heads that is a power of two
position = torch.arange(length, dtype=torch.float64)
bias = -slope * (position.reshape(-1, 1) - position).abs()`,
    result: 'bias',
  }),
  cpp: cppProgram({
    includes: ['<cstdlib>'],
    body: `const std::int64_t length = ${length}, head = ${alibiHead};
std::vector<float> slopes(${heads}), bias(length * length);
attn::alibi_slopes(slopes);
for (std::int64_t i = 0; i < length; ++i) {
  for (std::int64_t j = 0; j < length; ++j) {
    bias[i * length + j] = -slopes[head] * static_cast<float>(std::abs(i - j));
  }
}`,
    ...{ result: 'bias', rows: 'length', columns: 'length' },
  }),
  javascript: javascriptProgram({
    body: `const length = ${length};
const all = attn.alibiBias({ numHeads: ${heads}, numQueries: length });
const head = ${alibiHead} * length * length;
const bias = { data: all.data.subarray(head, head + length * length), shape: [length, length] };`,
    result: 'bias',
  }),
});

/** @param {ProgramSettings} settings */
const buckets = ({ tokens: { length }, heads, head, seed }) => ({
  python: pythonProgram({
    body: `import math

${pythonCode('normal')}
length, heads, head, buckets, max_distance = ${length}, ${heads}, ${head}, ${t5.numBuckets}, ${t5.maxDistance}

def bucket(distance):
    """As Hugging Face's T5 in an encoder; distance is key - query."""
    half = buckets // 2
    exact = half // 2
    far = abs(distance)
    if far >= exact:
        wider = math.log(far / exact) / math.log(max_distance / exact) * (half - exact)
        far = min(half - 1, exact + int(wider))
    return far + (half if distance > 0 else 0)

table = normal(buckets, heads, ${seed}, ${streams.t5})
bias = torch.stack([torch.stack([table[bucket(k - i), head] for k in range(length)])
                    for i in range(length)])`,
    result: 'bias',
  }),
  cpp: cppProgram({
    body: `const std::int64_t length = ${length}, heads = ${heads}, head = ${head}, buckets = ${t5.numBuckets};
std::vector<float> table(buckets * heads), bias(length * length);
attn::fill_normal(attn::Tensor(table.data(), {buckets, heads}), {.seed = ${seed}, .stream = ${streams.t5}});
for (std::int64_t i = 0; i < length; ++i) {
  for (std::int64_t j = 0; j < length; ++j) {
    const std::int64_t bucket = attn::t5_bucket(j - i, buckets, ${t5.maxDistance}, true);
    bias[i * length + j] = table[bucket * heads + head];
  }
}`,
    ...{ result: 'bias', rows: 'length', columns: 'length' },
  }),
  javascript: javascriptProgram({
    body: `const length = ${length};
const table = attn.randomNormal({ shape: [${t5.numBuckets}, ${heads}], seed: ${seed}, stream: ${streams.t5} });
const all = attn.t5Bias(table, { numQueries: length, maxDistance: ${t5.maxDistance} });
const head = ${head} * length * length;
const bias = { data: all.data.subarray(head, head + length * length), shape: [length, length] };`,
    result: 'bias',
  }),
});

/** @param {ProgramSettings} settings */
function relative({ dModel, heads, clip, seed }) {
  const [rows, columns] = [2 * clip + 1, dModel / heads];
  return {
    python: pythonProgram({
      body: `${pythonCode('normal')}
relative_keys = normal(${rows}, ${columns}, ${seed}, ${streams.shaw})`,
      result: 'relative_keys',
    }),
    cpp: cppProgram({
      body: `const std::int64_t rows = ${rows}, columns = ${columns};
std::vector<float> relative_keys(rows * columns);
attn::fill_normal(attn::Tensor(relative_keys.data(), {rows, columns}),
                  {.seed = ${seed}, .stream = ${streams.shaw}});`,
      ...{ result: 'relative_keys', rows: 'rows', columns: 'columns' },
    }),
    javascript: javascriptProgram({
      body: `const relativeKeys = attn.randomNormal({
  shape: [${rows}, ${columns}],
  seed: ${seed},
  stream: ${streams.shaw},
});`,
      result: 'relativeKeys',
    }),
  };
}

/**
 * The rules in Python, with the names used in the core's documentation.
 * @type {Record<string, string>}
 */
const pythonRules = {
  rotary: '',
  linear: `
frequency = frequency / factor`,
  dynamic: `
if length > trained:
    stretch = (factor * length / trained - (factor - 1)) ** (d / (d - 2))
    frequency = (base * stretch) ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)`,
  yarn: `
def turned(beta):
    return d * math.log(trained / (2 * math.pi * beta)) / (2 * math.log(base))

low, high = max(math.floor(turned(32)), 0), min(math.ceil(turned(1)), d - 1)
ramp = ((torch.arange(d // 2) - low) / (high - low or 0.001)).clamp(0, 1)
frequency = (1 - ramp) * frequency + ramp * frequency / factor
scale = 0.1 * math.log(factor) + 1 if factor > 1 else 1.0`,
  llama3: `
smooth = ((trained * frequency / (2 * math.pi) - 1) / (4 - 1)).clamp(0, 1)
frequency = (1 - smooth) * frequency / factor + smooth * frequency`,
};

/** @param {SchemeName} name @param {ProgramSettings} settings */
function rotary(name, settings) {
  const { tokens, dModel, heads, base, factor, trained } = settings;
  const dim = Math.floor(dModel / heads / 2) * 2;
  const scaling = scalingOf(name, settings);
  const cppScaling = {
    linear: `attn::LinearRotaryScaling{.factor = ${double(factor)}}`,
    dynamic: `attn::DynamicNtkRotaryScaling{.factor = ${double(factor)}, .max_position_embeddings = ${trained}}`,
    yarn: `attn::YarnRotaryScaling{.factor = ${double(factor)}, .original_max_position_embeddings = ${trained}}`,
    llama3: `attn::Llama3RotaryScaling{.factor = ${double(factor)}, .original_max_position_embeddings = ${trained}}`,
  }[/** @type {'linear'} */ (name)];
  return {
    python: pythonProgram({
      body: `import math

length, d, base, factor, trained = ${tokens.length}, ${dim}, ${double(base)}, ${double(factor)}, ${trained}

frequency = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
scale = 1.0${pythonRules[name]}
angle = torch.arange(length, dtype=torch.float64).reshape(-1, 1) * frequency
tables = scale * torch.cat((torch.cos(angle), torch.sin(angle)), dim=1)`,
      result: 'tables',
    }),
    cpp: cppProgram({
      body: `const std::int64_t length = ${tokens.length}, d = ${dim};
const attn::RotaryEmbedding rotary(
    {.rotary_dim = d, .base = ${double(base)}${cppScaling ? `,\n     .scaling = ${cppScaling}` : ''}});

// Cosines in the left half, sines in the right.
std::vector<float> tables(length * d);
const attn::Tensor both(tables.data(), {length, d});
rotary.tables(both.slice(1, 0, d / 2), both.slice(1, d / 2, d));`,
      ...{ result: 'tables', rows: 'length', columns: 'd' },
    }),
    javascript: javascriptProgram({
      body: `const [length, d] = [${tokens.length}, ${dim}];
const rotary = new attn.RotaryEmbedding({
  rotaryDim: d,
  base: ${base},${
    scaling
      ? `\n  scaling: ${JSON.stringify(scaling)
          .replaceAll(/"(\w+)":/g, ' $1: ')
          .replaceAll('"', "'")
          .replace('}', ' }')},`
      : ''
  }
});
const { cos, sin } = rotary.tables({ length });

// Cosines in the left half, sines in the right.
const tables = { data: new Float32Array(length * d), shape: [length, d] };
for (let i = 0; i < length; i++) {
  tables.data.set(cos.data.subarray((i * d) / 2, ((i + 1) * d) / 2), i * d);
  tables.data.set(sin.data.subarray((i * d) / 2, ((i + 1) * d) / 2), i * d + d / 2);
}`,
      result: 'tables',
    }),
  };
}

/** @param {ProgramSettings} settings */
const withoutPositions = (settings) =>
  attentionCode(
    /** @type {import('../../core/sentence.js').SentenceSettings} */ (
      /** @type {unknown} */ ({
        ...settings,
        ...{ encoding: 'none', window: 0, validLen: 0, blocked: [] },
      })
    ),
    settings.tokens,
    settings.head,
  );
