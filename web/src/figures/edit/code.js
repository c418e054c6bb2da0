import { difference } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { double } from '../../programs/writers.js';
import { layerCalls, layerFunction } from '../attention/code.js';

/**
 * Programs that compute how changing one weight affects the layer's output.
 * @param {import('../../core/sentence.js').Given & { edit: Record<'row' | 'column' | 'value',
 *   number> }} given
 * @param {import('../../models/language/languagePrograms.js').Learned | null} learned the
 *   language model that the layer belongs to, if any
 */
export function editCode(given, learned) {
  const { editMatrix, dModel } = given;
  const { row, column, value } = given.edit;
  const name = editMatrix === 'o' ? 'out_proj.weight' : 'in_proj_weight';
  const first = editMatrix === 'o' ? 0 : 'qkv'.indexOf(editMatrix);
  const at = first ? `${first} * ${dModel} + ${row}` : row;
  return printMatrix('change', 'n', 'dModel', [
    ...layerCalls(given, learned),
    layerFunction(given),
    {
      python: `before = f(x)
with torch.no_grad():
    mha.${name}[${at}, ${column}] = ${value}
after = f(x)`,
      cpp: `const std::vector<float> before = f(x);
const attn::ConstTensor weight = layer.parameter("${name}");
std::vector<float> edited(weight.data(), weight.data() + weight.size(0) * d_model);
edited[(${at}) * d_model + ${column}] = static_cast<float>(${double(value)});
layer.set_parameter("${name}", attn::Tensor(edited.data(), {weight.size(0), d_model}));
const std::vector<float> after = f(x);`,
      javascript: `const before = f(x);
const weight = layer.parameter('${name}');
weight.data[(${at}) * dModel + ${column}] = ${value};
layer.setParameter('${name}', weight);
const after = f(x);`,
    },
    difference('change', 'after', 'before'),
  ]);
}
