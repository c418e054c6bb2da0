import { firstQuery } from '../../models/wall/patterns.js';
import { exclusion } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { cxx, js } from '../../programs/writers.js';

/**
 * Programs that compute the behaviour of each head of the language model. They print one line per
 * head, layer by layer. A line has five shares of the head's attention. Four shares go to the
 * previous token, to the first token, to other occurrences of the query's token (with a causal
 * mask, only earlier ones), and to the tokens after these occurrences. The fifth share depends only
 * on positions.
 * @param {import('../../core/sentence.js').Given} given
 * @param {import('../../models/language/languagePrograms.js').Learned} learned
 */
export function wallCode(given, learned) {
  const masks = exclusion(given, given.ids.length);
  const { numLayers } = learned.config;
  const { causal } = given;
  return printMatrix('shares', 'num_layers * num_heads', 5, [
    ...learned.modelCalls(given, learned),
    masks.lines,
    {
      python: `
def look(ids):
    """The attention weights of all heads of all layers: (heads, n, n)."""
    x, found = embed(ids)[None], []
    for each in encoder:
        found.append(each.self_attn(each.norm1(x), attn_mask=~attends)[1][0])
        x = each(x, src_mask=~attends)
    return torch.cat(found)

# If reversing the words does not change a head's attention, it depends only on positions.
weights, reversed_weights = look(ids), look(ids.flip(0))
twins = (ids[:, None] == ids[None, :]) & (key ${causal ? '<' : '!='} query)
after_twins = torch.nn.functional.pad(twins, (1, -1))
late = torch.arange(n)[attends.any(1) & (torch.arange(n) >= ${firstQuery})]
again = torch.arange(n)[attends.any(1) & twins.any(1)]
shares = torch.stack((
    weights[:, late, late - 1].mean(1),
    weights[:, late, 0].mean(1),
    (weights * twins).sum(2)[:, again].mean(1),
    (weights * after_twins).sum(2)[:, again].mean(1),
    torch.minimum(weights, reversed_weights).sum(2)[:, late].mean(1),
), dim=1)`,
      cpp: cxx`
/// Returns the attention weights of all heads of all layers, n × n each.
const std::int64_t num_layers = ${numLayers};
const auto look = [&](const std::vector<std::int64_t>& ids) {
  std::vector<float> all(num_layers * num_heads * n * n), x = embed(ids);
  std::vector<attn::Tensor> weights;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    weights.emplace_back(all.data() + layer * num_heads * n * n,
                         std::initializer_list<std::int64_t>{1, num_heads, n, n});
  }
  encoder.forward(view(x), view(x), ${{ attention: masks.cpp, weights: 'weights' }});
  return all;
};
// If reversing the words does not change a head's attention, it depends only on positions.
const std::vector<float> all = look(ids), reversed = look({ids.rbegin(), ids.rend()});

std::vector<float> shares;
for (std::int64_t head = 0; head < num_layers * num_heads; ++head) {
  float previous = 0, first = 0, same = 0, followed = 0, place = 0, queries = 0, again = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float* const row = all.data() + (head * n + i) * n;
    const float* const other = reversed.data() + (head * n + i) * n;
    if (*std::max_element(row, row + n) == 0) continue;
    if (i >= ${firstQuery}) {
      queries += 1;
      previous += row[i - 1];
      first += row[0];
      for (std::int64_t j = 0; j < n; ++j) place += std::min(row[j], other[j]);
    }
    bool has_twin = false;
    for (std::int64_t j = 0; j < ${causal ? 'i' : 'n'}; ++j) {
      if (${causal ? '' : 'j == i || '}ids[j] != ids[i]) continue;
      has_twin = true;
      same += row[j];
      if (j + 1 < n) followed += row[j + 1];
    }
    if (has_twin) again += 1;
  }
  shares.insert(shares.end(), {previous / queries, first / queries, same / again, followed / again, place / queries});
}`,
      javascript: js`
/** Returns the attention weights of all heads of all layers, n × n each. */
const look = (ids) => {
  const attention = ${masks.javascript};
  const { weights } = encoder.forward(embed(ids), { attention, needWeights: true });
  const heads = Array.from({ length: numHeads }, (_, head) => head * n * n);
  return weights.flatMap(({ data }) => heads.map((start) => data.subarray(start, start + n * n)));
};
// If reversing the words does not change a head's attention, it depends only on positions.
const [all, reversed] = [look(ids), look(ids.toReversed())];
const twins = ids.map((id, i) =>
  ids.flatMap((other, j) => (other === id && ${causal ? 'j < i' : 'j !== i'} ? [j] : [])),
);
const sum = (all, of) => all.reduce((total, each) => total + of(each), 0);
const mean = (all, of) => sum(all, of) / all.length;
const found = all.map((weights, head) => {
  const asking = [...ids.keys()].filter((i) => weights.subarray(i * n, (i + 1) * n).some(Boolean));
  const [late, again] = [asking.filter((i) => i >= ${firstQuery}), asking.filter((i) => twins[i].length)];
  return [
    mean(late, (i) => weights[i * n + i - 1]),
    mean(late, (i) => weights[i * n]),
    mean(again, (i) => sum(twins[i], (j) => weights[i * n + j])),
    mean(again, (i) => sum(twins[i], (j) => (j + 1 < n ? weights[i * n + j + 1] : 0))),
    mean(late, (i) => sum(ids.map((_, j) => i * n + j), (at) => Math.min(weights[at], reversed[head][at]))),
  ];
});
const shares = { data: Float32Array.from(found.flat()), shape: [found.length, 5] };`,
    },
  ]);
}
