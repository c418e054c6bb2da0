import { print } from '../../programs/print.js';

/**
 * Programs that count the connections.
 * @param {{ n: number, k: number, first: number, second: number }} options
 */
export function pathsPrograms({ n, k, first, second }) {
  const between = Math.abs(first - second) + 1;
  const comment = `CNN, RNN, self-attention: the path between tokens ${first} and ${second}, and the longest path`;
  return print([
    {
      python: `def cnn(n, k):
    return max(1, math.ceil((n - 1) / (k - 1)))

# ${comment}
for n in (${between}, ${n}):
    print(cnn(n, ${k}), n, 1)`,
      cpp: `const std::int64_t k = ${k};
// ${comment}
for (const std::int64_t n : {${between}, ${n}}) {
  std::printf("%lld %lld %lld\\n",
              (long long)*attn::convolution_costs(n, 1, k).max_path_length,
              (long long)*attn::recurrent_costs(n, 1).max_path_length,
              (long long)*attn::self_attention_costs(n, 1).max_path_length);
}`,
      javascript: `// ${comment}
for (const n of [${between}, ${n}]) {
  const cnn = attn.architectureCosts.convolution({ n, d: 1, k: ${k} }).maxPathLength;
  const rnn = attn.architectureCosts.recurrent({ n, d: 1 }).maxPathLength;
  const attention = attn.architectureCosts.selfAttention({ n, d: 1 }).maxPathLength;
  console.log(cnn, rnn, attention);
}`,
    },
  ]);
}
