import { constants, layer, randomNormal } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { attentionCode, attentionPrograms } from '../attention/code.js';
import { encodingPrograms } from '../encoding/code.js';
import { inventedPrograms } from './inventCode.js';
import { alibiHead, scalingOf, schemes, streams, t5 } from './schemes.js';

/**
 * @typedef {import('../../core/sentence.js').Given & import('./schemes.js').SchemeSettings & {
 *   scheme: import('./schemes.js').SchemeName,
 *   invented?: { written: import('../../invention/invention.js').Written } | null,
 * }} ProgramSettings
 *   invented: the reader's scheme, null if its formulas are broken
 */

/**
 * Programs that compute a scheme's matrix. For the scheme without positions, they compute attention
 * without positions.
 * @param {ProgramSettings} settings
 * @param {import('../../models/language/languagePrograms.js').Learned | null} language the
 *   language model that the layer belongs to, if any
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export function schemePrograms(settings, language) {
  if (schemes[settings.scheme].kind === 'rotation') return rotary(settings);
  switch (settings.scheme) {
    case 'sinusoidal': {
      const { tokens, dModel, base } = settings;
      return encodingPrograms({ length: tokens.length, width: dModel, base, start: 0, step: 1 });
    }
    case 'learned':
      return learned(settings);
    case 'alibi':
      return alibi(settings);
    case 't5':
      return buckets(settings);
    case 'shaw':
      return relative(settings);
    case 'yours':
      return settings.invented ? inventedPrograms(settings.invented.written, settings) : {};
    default:
      return language
        ? attentionPrograms(
            language.languageCalls(settings, language, 'attention', false),
            settings,
          )
        : withoutPositions(settings);
  }
}

const sizes = { maxLength: 'length', dModel: 'width' };

/** @param {ProgramSettings} settings */
const learned = ({ tokens: { length }, dModel, seed }) =>
  printMatrix('table', 'length', 'width', [
    constants({ length, width: dModel }),
    { python: '' },
    {
      python: '# Standard deviation 1, as in torch.nn.Embedding.',
      cpp: '// Standard deviation 1, as in torch.nn.Embedding.',
      javascript: '// Standard deviation 1, as in torch.nn.Embedding.',
    },
    layer('encoding', 'LearnedPositionalEncoding', { ...sizes, seed, deviation: 1 }),
    {
      python: `table = normal(length, width, ${seed})`,
      cpp: 'const float* const table = encoding.parameter("weight").data();',
      javascript: "const table = encoding.parameter('weight');",
    },
  ]);

/** The bias of one head, taken from the biases of all heads. */
const biasOfHead = `const bias = {
  data: all.data.subarray(head * length ** 2, (head + 1) * length ** 2),
  shape: [length, length],
};`;

/** @param {ProgramSettings} settings */
const alibi = ({ tokens: { length }, heads }) =>
  printMatrix('bias', 'length', 'length', [
    constants({ length, heads, head: alibiHead }),
    {
      python: `
slope = 2.0 ** (-8 * (head + 1) / heads)  # for a number of heads that is a power of two
position = torch.arange(length, dtype=torch.float64)
bias = -slope * (position.reshape(-1, 1) - position).abs()`,
      cpp: `std::vector<float> slopes(heads), bias(length * length);
attn::alibi_slopes(slopes);
for (std::int64_t i = 0; i < length; ++i) {
  for (std::int64_t j = 0; j < length; ++j) {
    bias[i * length + j] = -slopes[head] * static_cast<float>(std::abs(i - j));
  }
}`,
      javascript: `const all = attn.alibiBias({ numHeads: heads, numQueries: length });
${biasOfHead}`,
    },
  ]);

/** @param {ProgramSettings} settings */
const buckets = ({ tokens: { length }, heads, head, seed }) =>
  printMatrix('bias', 'length', 'length', [
    constants({ length, heads, head, buckets: t5.numBuckets, maxDistance: t5.maxDistance }),
    {
      python: `
def bucket(distance):
    """The bucket of a distance (key - query), as in the encoder of Hugging Face's T5."""
    half = buckets // 2
    exact = half // 2
    far = abs(distance)
    if far >= exact:
        wider = math.log(far / exact) / math.log(max_distance / exact) * (half - exact)
        far = min(half - 1, exact + int(wider))
    return far + (half if distance > 0 else 0)
`,
    },
    randomNormal('table', ['buckets', 'heads'], { seed, stream: streams.t5 }),
    {
      python: `bias = torch.stack([torch.stack([table[bucket(k - i), head] for k in range(length)])
                    for i in range(length)])`,
      cpp: `std::vector<float> bias(length * length);
for (std::int64_t i = 0; i < length; ++i) {
  for (std::int64_t j = 0; j < length; ++j) {
    const std::int64_t bucket = attn::t5_bucket(j - i, buckets, max_distance, true);
    bias[i * length + j] = table[bucket * heads + head];
  }
}`,
      javascript: `const all = attn.t5Bias(table, { numQueries: length, maxDistance });
${biasOfHead}`,
    },
  ]);

/** @param {ProgramSettings} settings */
const relative = ({ dModel, heads, clip, seed }) =>
  printMatrix('keys', 'distances', 'depth', [
    constants({ distances: 2 * clip + 1, depth: dModel / heads }),
    randomNormal('keys', ['distances', 'depth'], { seed, stream: streams.shaw }),
  ]);

/**
 * The scaling rules of rotary embeddings in Python, with the names used in the core's
 * documentation.
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

/** @param {ProgramSettings} settings */
function rotary({ scheme: name, tokens, dModel, heads, base, factor, trained }) {
  const scaling = scalingOf(name, /** @type {any} */ ({ factor: 'factor', trained: 'trained' }));
  const used = scaling && { factor, ...(name !== 'linear' && { trained }) };
  const d = Math.floor(dModel / heads / 2) * 2;
  return printMatrix('tables', 'length', 'd', [
    constants({ length: tokens.length, d, base, ...used }),
    layer('rotary', 'RotaryEmbedding', { rotaryDim: 'd', base: 'base', scaling }),
    {
      python: `
frequency = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
scale = 1.0${pythonRules[name]}
angle = torch.arange(length, dtype=torch.float64).reshape(-1, 1) * frequency
tables = scale * torch.cat((torch.cos(angle), torch.sin(angle)), dim=1)`,
      cpp: `
// Cosines in the left half, sines in the right.
std::vector<float> tables(length * d);
const attn::Tensor both(tables.data(), {length, d});
rotary.tables(both.slice(1, 0, d / 2), both.slice(1, d / 2, d));`,
      javascript: `const { cos, sin } = rotary.tables({ length });

// Cosines in the left half, sines in the right.
const tables = { data: new Float32Array(length * d), shape: [length, d] };
for (let i = 0; i < length; i++) {
  tables.data.set(cos.data.subarray((i * d) / 2, ((i + 1) * d) / 2), i * d);
  tables.data.set(sin.data.subarray((i * d) / 2, ((i + 1) * d) / 2), i * d + d / 2);
}`,
    },
  ]);
}

/** @param {ProgramSettings} settings */
const withoutPositions = (settings) =>
  attentionCode({ ...settings, encoding: 'none', window: 0, validLen: 0, blocked: [] }, null);
