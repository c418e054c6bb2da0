import { orderOf } from '../../core/shuffle.js';
import { difference, list } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { cxx } from '../../programs/writers.js';
import { layerCalls, layerFunction } from '../attention/code.js';

/**
 * Programs that measure whether the layer sees the order of its input: π(f(X)) − f(π(X)), where the
 * layer f begins with the positional encoding, if there is one.
 * @param {import('../../core/sentence.js').Given} given
 * @param {import('../../models/language/languagePrograms.js').Learned | null} learned the
 *   language model that the layer belongs to, if any
 */
export function shuffleCode(given, learned) {
  const { base, tokens } = given;
  const encodes = given.encoding === 'sinusoidal' && !learned;
  const x = learned ? 'embedded' : 'x';
  return printMatrix('difference', 'n', 'dModel', [
    ...layerCalls(learned ? given : { ...given, encoding: 'none' }, learned),
    list('order', orderOf(tokens.length, given)),
    encodes && {
      python: `
angle = torch.arange(float(n))[:, None] / ${base} ** (torch.arange(0, d_model, 2) / d_model)
p = torch.stack((angle.sin(), angle.cos()), dim=2).reshape(n, d_model)`,
    },
    layerFunction(given, {
      python: encodes ? '    x = x + p\n' : learned ? '    x = read(x)\n' : '',
      cpp: encodes
        ? cxx`  attn::PositionalEncoding(${{ base }}).forward(view(x), view(x));\n`
        : learned
          ? '  x = read(x);\n'
          : '',
      javascript: encodes
        ? `  x = attn.positionalEncoding(x, { base: ${base} });\n`
        : learned
          ? '  x = read(x);\n'
          : '',
    }),
    {
      cpp: `const auto shuffled = [&](const std::vector<float>& rows) {
  std::vector<float> others;
  for (const std::int64_t i : order) {
    others.insert(others.end(), rows.begin() + i * d_model, rows.begin() + (i + 1) * d_model);
  }
  return others;
};`,
      javascript: `const shuffled = ({ data, shape }) => ({
  data: Float32Array.from(data, (_, i) => data[order[Math.floor(i / dModel)] * dModel + (i % dModel)]),
  shape,
});`,
    },
    {
      python: `after, before = f(${x})[order], f(${x}[order])`,
      cpp: `const std::vector<float> after = shuffled(f(${x})), before = f(shuffled(${x}));`,
      javascript: `const [after, before] = [shuffled(f(${x})), f(shuffled(${x}))];`,
    },
    difference('difference', 'after', 'before'),
  ]);
}
