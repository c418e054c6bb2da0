import { list } from '../../programs/calls.js';
import { patches } from '../../programs/patches.js';
import { printMatrix } from '../../programs/print.js';

/** @typedef {import('../../core/patching.js').Stage} Stage */

/**
 * Python functions that register hooks for each layer's value. `change(i, y)` returns the numbers
 * that replace value i.
 * @param {Stage} stage
 * @param {number} head
 */
const hooksIn = (stage, head) =>
  ({
    residual: `
def hooks(change):
    return [each.register_forward_hook(lambda _, args, y, i=i: change(i, y))
            for i, each in enumerate(encoder, start=1)]`,
    attention: `
def hooks(change):
    return [each.self_attn.register_forward_hook(lambda _, args, y, i=i: (change(i, y[0]), y[1]))
            for i, each in enumerate(encoder)]`,
    mlp: `
def hooks(change):
    return [each.linear2.register_forward_hook(lambda _, args, y, i=i: change(i, y))
            for i, each in enumerate(encoder)]`,
    head: `
def hooks(change):
    def hook(i, joined):
        heads = joined.unflatten(-1, (num_heads, -1)).clone()
        heads[..., ${head}, :] = change(i, heads[..., ${head}, :])
        return (heads.flatten(-2),)
    return [each.self_attn.out_proj.register_forward_pre_hook(lambda _, args, i=i: hook(i, args[0]))
            for i, each in enumerate(encoder)]`,
  })[stage];

/**
 * Programs that patch the rows of the first sentence into the second sentence, one at a time. For
 * each token, they print a line with the share of the difference that each patch restores.
 * @param {import('../../core/sentence.js').Given & { other: number[], target: number, stage: Stage }}
 *   given other: ids of the second sentence; target: the token whose log-probability is followed
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 */
export function compareCode(given, learned) {
  const { other, target, stage, head } = given;
  const { vocabularySize, numLayers } = learned.config;
  const { columns, call } = patches({ target, stage, head, numLayers, path: '' });
  const others = list('other', other);
  return printMatrix('shares', 'n', columns, [
    ...learned.modelCalls(given, learned),
    {
      python: `other = torch.tensor([${other.join(', ')}])
${hooksIn(stage, head)}

later = torch.ones(n, n, dtype=torch.bool).triu(1)
norm = state["encoder.norm.weight"], state["encoder.norm.bias"]

def log_probability(ids, change):
    handles = hooks(change)
    x = ${stage === 'residual' ? 'change(0, embed(ids)[None])[0]' : 'embed(ids)'}
    for each in encoder:
        x = each(x[None], src_mask=later)[0]
    for handle in handles:
        handle.remove()
    h = torch.nn.functional.layer_norm(x[-1], (d_model,), *norm)
    return (h @ state["embedding.weight"].T).log_softmax(0)[${target}]

rows = {}
def keep(i, y):
    rows[i] = y.clone()
    return y
first = log_probability(ids, keep)
second = log_probability(other, lambda i, y: y)

def patched(position, value):
    def change(i, y):
        y = y.clone()
        if i == value:
            y[:, position] = rows[i][:, position]
        return y
    return log_probability(other, change)
shares = torch.stack([torch.stack([(patched(position, value) - second) / (first - second)
                                   for value in range(${columns})]) for position in range(n)])`,
      cpp: `${others.cpp}
const attn::Linear output(embedding);
const auto run = [&](const std::vector<std::int64_t>& ids, const attn::Interventions& changes,
                     attn::Intermediates* shown) {
  std::vector<float> x = embed(ids), logits(${vocabularySize});
  encoder.forward(view(x), view(x), {.attention = {.causal = true}, .intermediates = shown,
                                     .interventions = &changes});
  output.forward(view(x).slice(0, n - 1, n), attn::Tensor(logits.data(), {1, ${vocabularySize}}));
  return logits;
};`,
      javascript: `${others.javascript}
const output = new attn.Linear({ tiedTo: embedding });
const run = (ids, options) => {
  const { output: h, intermediates } = encoder.forward(embed(ids), {
    attention: { causal: true },
    ...options,
  });
  const last = { data: h.data.subarray((n - 1) * dModel), shape: [1, dModel] };
  return { logits: output.forward(last).data, intermediates };
};`,
    },
    call,
  ]);
}
