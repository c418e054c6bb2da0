import { cppProgram, javascriptProgram, pythonProgram } from '../../programs/programs.js';
import { layerCode } from '../attention/code.js';

/**
 * Programs that measure whether the layer sees the order of its input: π(f(X)) − f(π(X)), where the
 * layer f begins with the positional encoding, if there is one.
 * @param {import('../../core/sentence.js').SentenceSettings} settings
 * @param {string[]} tokens
 * @param {number[]} order
 * @param {import('../../models/language/languagePrograms.js').Learned | null} [learned] the
 *   language model, if the layer is one of its layers
 */
export function shuffleCode(settings, tokens, order, learned) {
  const { base } = settings;
  const encodes = settings.encoding === 'sinusoidal' && !learned;
  const without = { ...settings, encoding: /** @type {const} */ ('none') };
  const { javascript, python, cpp } = learned
    ? learned.languageCode(settings, learned, 'attention')
    : layerCode(without, tokens);
  const given = learned ? 'embedded' : 'x';
  const attention = cpp.options.length ? `, {.attention = {${cpp.options.join(', ')}}}` : '';
  return {
    python: pythonProgram({
      body: `${python.before}
order = ${JSON.stringify(order)}
${
  encodes
    ? `
angle = torch.arange(float(n))[:, None] / ${base} ** (torch.arange(0, d_model, 2) / d_model)
p = torch.stack((angle.sin(), angle.cos()), dim=2).reshape(n, d_model)
`
    : ''
}
def f(x):
${encodes ? '    x = x + p\n' : ''}${learned ? '    x = read(x)\n' : ''}    with torch.no_grad():
        return mha(x[None], x[None], x[None], attn_mask=${python.options.join(', ')})[0][0]

${learned ? 'x = embedded\n' : ''}difference = f(x)[order] - f(x[order])`,
      result: 'difference',
    }),
    cpp: cppProgram({
      body: `${cpp.before}
const std::vector<std::int64_t> order{${order.join(', ')}};

const auto f = [&](std::vector<float> x) {
  std::vector<float> y(n * d_model);
${encodes ? `  attn::PositionalEncoding({.base = ${base}}).forward(view(x), view(x));\n` : ''}${learned ? '  x = read(x);\n' : ''}  layer.forward(view(x), view(x), view(x), view(y)${attention});
  return y;
};
const auto shuffled = [&](const std::vector<float>& rows) {
  std::vector<float> others;
  for (const std::int64_t i : order) {
    others.insert(others.end(), rows.begin() + i * d_model, rows.begin() + (i + 1) * d_model);
  }
  return others;
};
${learned ? 'x = embedded;\n' : ''}std::vector<float> difference = shuffled(f(x));
const std::vector<float> before = f(shuffled(x));
for (std::size_t i = 0; i < before.size(); ++i) difference[i] -= before[i];`,
      ...{ result: 'difference', rows: 'n', columns: 'd_model', includes: ['<string_view>'] },
    }),
    javascript: javascriptProgram({
      body: `${javascript.before}
const order = ${JSON.stringify(order)};

const f = (x) => {
${encodes ? `  x = attn.positionalEncoding(x, { base: ${base} });\n` : ''}${learned ? '  x = read(x);\n' : ''}  return layer.forward(x, x, x, { ${javascript.options.join(', ')} }).output;
};
const shuffled = ({ data, shape }) => ({
  data: Float32Array.from(data, (_, i) => data[order[Math.floor(i / dModel)] * dModel + (i % dModel)]),
  shape,
});
const [after, before] = [shuffled(f(${given})), f(shuffled(${given}))];
const difference = { data: after.data.map((value, i) => value - before.data[i]), shape: ${given}.shape };`,
      result: 'difference',
    }),
  };
}
