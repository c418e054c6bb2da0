import { cppProgram, double, javascriptProgram, pythonProgram } from '../../programs/programs.js';
import { layerCode } from '../attention/code.js';

/**
 * Programs that compute the effect of changing one weight on the layer's output.
 * @param {import('../../core/sentence.js').SentenceSettings} settings
 * @param {string[]} tokens
 * @param {{ row: number, column: number, value: number }} edit
 * @param {import('../../models/language/languagePrograms.js').Learned | null} [learned] the
 *   language model, if the layer is one of its layers
 */
export function editCode(settings, tokens, { row, column, value }, learned) {
  const { javascript, python, cpp } = layerCode(settings, tokens, learned);
  const { editMatrix } = settings;
  const name = editMatrix === 'o' ? 'out_proj.weight' : 'in_proj_weight';
  const first = editMatrix === 'o' ? 0 : 'qkv'.indexOf(editMatrix);
  const at = first ? `${first} * ${settings.dModel} + ${row}` : row;
  const attention = cpp.options.length ? `, {.attention = {${cpp.options.join(', ')}}}` : '';
  return {
    python: pythonProgram({
      body: `${python.before}

def output():
    with torch.no_grad():
        return mha(x[None], x[None], x[None], attn_mask=${python.options.join(', ')})[0][0]

before = output()
with torch.no_grad():
    mha.${name}[${at}, ${column}] = ${value}
change = output() - before`,
      result: 'change',
    }),
    cpp: cppProgram({
      body: `${cpp.before}

const auto output = [&] {
  std::vector<float> y(n * d_model);
  layer.forward(view(x), view(x), view(x), view(y)${attention});
  return y;
};
std::vector<float> change = output();
const attn::ConstTensor weight = layer.parameter("${name}");
std::vector<float> edited(weight.data(), weight.data() + weight.size(0) * d_model);
edited[(${at}) * d_model + ${column}] = static_cast<float>(${double(value)});
layer.set_parameter("${name}", attn::Tensor(edited.data(), {weight.size(0), d_model}));
const std::vector<float> after = output();
for (std::size_t i = 0; i < change.size(); ++i) change[i] = after[i] - change[i];`,
      ...{ result: 'change', rows: 'n', columns: 'd_model', includes: ['<string_view>'] },
    }),
    javascript: javascriptProgram({
      body: `${javascript.before}

const output = () => layer.forward(x, x, x, { ${javascript.options.join(', ')} }).output;
const before = output();
const weight = layer.parameter('${name}');
weight.data[(${at}) * dModel + ${column}] = ${value};
layer.setParameter('${name}', weight);
const after = output();
const change = { data: after.data.map((value, i) => value - before.data[i]), shape: after.shape };`,
      result: 'change',
    }),
  };
}
