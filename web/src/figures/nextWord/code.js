import { knockOutOf } from '../../core/cuts.js';
import { ablateOf } from '../../core/silence.js';
import { candidates } from '../../programs/calls.js';
import { interventions } from '../../programs/interventions.js';
import { printMatrix } from '../../programs/print.js';

/** @typedef {import('../../core/silence.js').Part} Part */

/**
 * Python code that registers a hook for each silenced part of the encoder.
 * @param {readonly Part[]} silenced
 * @param {import('../../core/silence.js').Replacement} replacement
 */
function silencedInPython(silenced, replacement) {
  const hooks = silenced.flatMap(({ layer, part }) => {
    if (typeof part === 'number') {
      return [
        `encoder[${layer}].self_attn.out_proj.register_forward_pre_hook(silence_head(${part}))\n`,
      ];
    }
    const mlp = `encoder[${layer}].linear2.register_forward_hook(lambda _, args, y: silent(y))\n`;
    const attention = `encoder[${layer}].self_attn.register_forward_hook(lambda _, args, y: (silent(y[0]), y[1]))\n`;
    return part === 'mlp' ? [mlp] : [attention, mlp];
  });
  const silent =
    replacement === 'mean' ? 'y.mean(-2, keepdim=True).expand_as(y)' : 'torch.zeros_like(y)';
  const head = `
def silence_head(head):
    def hook(_, args):
        heads = args[0].unflatten(-1, (num_heads, -1)).clone()
        heads[..., head, :] = silent(heads[..., head, :])
        return (heads.flatten(-2),)
    return hook
`;
  const hasHead = silenced.some(({ part }) => typeof part === 'number');
  return `
def silent(y):
    return ${silent}
${hasHead ? head : ''}
${hooks.join('')}`;
}

/**
 * Programs that predict the next token. They print a line for each of the ten most probable tokens
 * with its id and probability. With cuts, some queries may not look at some keys. Some parts of the
 * model may be silenced.
 * @param {import('../../core/sentence.js').Given & { temperature: number, topK: number,
 *   cuts?: readonly import('../../core/cuts.js').Cut[], silenced?: readonly Part[],
 *   silenceBy?: import('../../core/silence.js').Replacement }} given
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 */
export function nextWordCode(given, learned) {
  const { temperature, topK, cuts = [], silenced = [], silenceBy = 'mean' } = given;
  const { vocabularySize, numLayers } = learned.config;
  const changes = interventions({
    knockOut: knockOutOf(cuts, numLayers),
    ablate: ablateOf(silenced, silenceBy),
  });
  const python = cuts.map(
    ({ layer, head, query, key }) =>
      `excluded[${[layer ?? ':', head ?? ':', query, key].join(', ')}] = True\n`,
  );
  const kept = topK || vocabularySize;
  const shown = Math.min(10, kept);
  return printMatrix('candidates', shown, 2, [
    ...learned.modelCalls(given, learned, cuts.length > 0),
    {
      python: `${silenced.length ? silencedInPython(silenced, silenceBy) : ''}
x = embed(ids)
${
  cuts.length
    ? `excluded = torch.ones(n, n, dtype=torch.bool).triu(1).repeat(${numLayers}, num_heads, 1, 1)
${python.join('')}masks = torch.zeros(excluded.shape).masked_fill(excluded, float("-inf"))
for each, mask in zip(encoder, masks):
    x = each(x[None], src_mask=mask)[0]`
    : `later = torch.ones(n, n, dtype=torch.bool).triu(1)
for each in encoder:
    x = each(x[None], src_mask=later)[0]`
}
norm = state["encoder.norm.weight"], state["encoder.norm.bias"]
h = torch.nn.functional.layer_norm(x, (d_model,), *norm)
logits, order = (h[-1] @ state["embedding.weight"].T).sort(descending=True, stable=True)
probabilities = (logits[:${kept}] / ${temperature}).softmax(0)
candidates = torch.stack((order[:${shown}], probabilities[:${shown}]), dim=1)`,
      cpp: `
std::vector<float> x = embed(ids);
${changes.cpp}encoder.forward(view(x), view(x), {.attention = {.causal = true}${changes.cppOption}});
const attn::Linear output(embedding);
std::vector<float> logits(${vocabularySize});
output.forward(view(x).slice(0, n - 1, n), attn::Tensor(logits.data(), {1, ${vocabularySize}}));`,
      javascript: `
const output = new attn.Linear({ tiedTo: embedding });
${changes.javascript}const { output: h } = encoder.forward(embed(ids), { attention: { causal: true }${changes.javascriptOption} });
const last = { data: h.data.subarray((n - 1) * dModel), shape: [1, dModel] };
const logits = output.forward(last).data;`,
    },
    candidates({ temperature, kept, shown }),
  ]);
}

/** `nextWordCode` with cuts. */
export const cutCode = nextWordCode;

/** `nextWordCode` with silenced parts. */
export const silenceCode = nextWordCode;
