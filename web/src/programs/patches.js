import { valuesOf } from '../core/patching.js';

/**
 * The calls that patch the rows of one sentence into another sentence, one at a time, in C++ and
 * JavaScript. They need the tokens `ids` and `other`, their number `n`, and a function `run` that
 * returns logits and intermediates. They define `shares`, (n, columns).
 * @param {{ target: number, stage: import('../core/patching.js').Stage, head: number, numLayers:
 *   number, path: string }} given target: the token whose log-probability is
 *   followed; path: path of the encoder, with a dot at the end
 */
export function patches({ target, stage, head, numLayers, path }) {
  const names = valuesOf(stage, numLayers, head, path).map(({ name }) => name);
  const { length: columns } = names;
  const isHead = stage === 'head';
  /** @type {import('./print.js').Call} */
  const call = {
    cpp: `
const auto log_probability = [](const std::vector<float>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits) total += std::exp(logit - largest);
  return logits[${target}] - largest - std::log(total);
};

const std::vector<std::string> names = {${names.map((name) => `\n    "${name}"`).join(',')}};
attn::Intermediates shown(names);
const double first = log_probability(run(ids, {}, &shown));
const double second = log_probability(run(other, {}, nullptr));
std::vector<double> shares;
for (std::int64_t position = 0; position < n; ++position) {
  for (const std::string& name : names) {
    attn::Interventions changes;
    changes.patch(name, shown[name]${
      isHead
        ? `.select(0, ${head}).select(0, position),
                  {.head = ${head}, .position = position}`
        : '.select(0, position), {.position = position}'
    });
    const double patched = log_probability(run(other, changes, nullptr));
    shares.push_back((patched - second) / (first - second));
  }
}`,
    javascript: `
const logProbability = ({ logits }) => {
  const largest = logits.reduce((a, b) => Math.max(a, b));
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  return logits[${target}] - largest - Math.log(total);
};

const names = [${names.map((name) => `\n  '${name}',`).join('')}\n];
const kept = run(ids, { intermediates: names });
const [first, second] = [kept, run(other)].map(logProbability);
const shares = { data: new Float64Array(n * names.length), shape: [n, names.length] };
for (let position = 0; position < n; position++) {
  names.forEach((name, i) => {
    const { data, shape } = kept.intermediates[name];
    const width = shape[shape.length - 1];
    const start = (${isHead ? `${head} * n + ` : ''}position) * width;
    const values = { data: data.subarray(start, start + width), shape: [width] };
    const patch = [{ name, ${isHead ? `head: ${head}, ` : ''}position, values }];
    const patched = logProbability(run(other, { patch }));
    shares.data[position * names.length + i] = (patched - second) / (first - second);
  });
}`,
  };
  return { columns, call };
}
