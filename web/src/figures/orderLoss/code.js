import { otherOrderOf } from '../../core/shuffle.js';
import { layer, loadStateDict, meanLoss, shuffledIds } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';

/**
 * Programs that compute the model's loss for the tokens in order, shuffled, and without positions.
 * @param {import('../../core/sentence.js').Given} given
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 */
export function lossCode(given, learned) {
  const order = otherOrderOf(given.ids.length, given);
  // The settings always include positions. The function `loss` omits them if it is told to.
  const settings = { ...given, encoding: /** @type {const} */ ('sinusoidal') };
  const turns = learned.config.positions === 'rotary';
  const unplaced = { ...learned.encoderOptions(settings, learned), positions: {} };
  return printMatrix('losses', 3, 1, [
    ...learned.modelCalls(settings, learned),
    {
      python: `order = torch.tensor([${order.join(', ')}])

def loss(ids, placed=True):
    x = ${turns ? 'embed(ids)' : 'embed(ids) if placed else state["embedding.weight"][ids] * d_model ** 0.5'}
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    for each in encoder:
        each.self_attn.turns = ${turns ? 'placed' : 'False'}
        x = each(x[None], src_mask=later)[0]
    norm = state["encoder.norm.weight"], state["encoder.norm.bias"]
    h = torch.nn.functional.layer_norm(x, (d_model,), *norm)
    logits = h @ state["embedding.weight"].T
    return torch.nn.functional.cross_entropy(logits[:-1], ids[1:])

losses = torch.stack((loss(ids), loss(ids[order]), loss(ids, placed=False)))[:, None]`,
      cpp: 'const attn::Linear output(embedding);',
      javascript: 'const output = new attn.Linear({ tiedTo: embedding });',
    },
    ...(turns
      ? [layer('unplaced', 'TransformerEncoder', unplaced), loadStateDict('unplaced', 'encoder.')]
      : []),
    meanLoss(learned.config.vocabularySize),
    {
      cpp: `const auto loss = [&](const std::vector<std::int64_t>& ids, bool placed) {
  std::vector<float> x = embed(ids);
  ${turns ? '(placed ? encoder : unplaced)' : 'if (!placed) embedding.forward(attn::IdView(ids.data(), {n}), view(x));\n  encoder'}.forward(view(x), view(x), {.attention = {.causal = true}});
  std::vector<float> logits(n * size);
  output.forward(view(x), attn::Tensor(logits.data(), {n, size}));
  return mean_loss(logits, ids);
};`,
      javascript: `const loss = (ids, placed) => {
  const x = ${turns ? 'embed(ids)' : 'placed ? embed(ids) : embedding.forward(ids)'};
  const stack = ${turns ? 'placed ? encoder : unplaced' : 'encoder'};
  const { output: h } = stack.forward(x, { attention: { causal: true } });
  return meanLoss(output.forward(h).data, ids);
};`,
    },
    shuffledIds(order),
    {
      cpp: 'const std::vector<double> losses{loss(ids, true), loss(shuffled, true), loss(ids, false)};',
      javascript: `const losses = {
  data: Float64Array.of(loss(ids, true), loss(shuffled, true), loss(ids, false)),
  shape: [3, 1],
};`,
    },
  ]);
}
