import { constants } from '../../programs/calls.js';
import { print } from '../../programs/print.js';

/**
 * Programs that compute the costs of the layers.
 * @param {{ n: number, d: number, k: number }} sizes
 */
export const costsPrograms = ({ n, d, k }) =>
  print([
    constants({ n, d, k }),
    {
      python: `# CNN, RNN, self-attention: multiply-adds, sequential steps, longest path
print(n * k * d**2, 1, max(1, math.ceil((n - 1) / (k - 1))))
print(2 * n * d**2, n, n)
print(2 * n**2 * d, 1, 1)`,
      cpp: `// multiply-adds, sequential steps, longest path
const auto print = [](const attn::ArchitectureCosts& costs) {
  std::printf("%lld %lld %lld\\n", (long long)costs.multiply_adds, (long long)costs.sequential_operations,
              (long long)costs.max_path_length.value_or(-1));
};
print(attn::convolution_costs(n, d, k));
print(attn::recurrent_costs(n, d));
print(attn::self_attention_costs(n, d));`,
      javascript: `const print = ({ multiplyAdds, sequentialOperations, maxPathLength }) =>
  console.log(multiplyAdds, sequentialOperations, maxPathLength);
print(attn.architectureCosts.convolution({ n, d, k }));
print(attn.architectureCosts.recurrent({ n, d }));
print(attn.architectureCosts.selfAttention({ n, d }));`,
    },
  ]);
