import { constants } from '../../programs/calls.js';
import { print } from '../../programs/print.js';
import { shape } from './engines.js';

/**
 * Programs that measure how long the figure's attention takes.
 * @param {number} length
 */
export const speedPrograms = (length) =>
  print([
    { javascript: `// Or, for example, load({ variant: 'simd128' }).` },
    constants({ heads: shape.heads, length, dim: shape.dim }),
    {
      python: `q, k, v = torch.randn(3, 1, heads, length, dim).unbind()
F.scaled_dot_product_attention(q, k, v)  # warm up

times = []
for _ in range(10):
    start = time.perf_counter()
    F.scaled_dot_product_attention(q, k, v)
    times.append(time.perf_counter() - start)
operations = 4 * heads * length**2 * dim
print(min(times) * 1e3, operations / min(times) / 1e9)  # milliseconds, GFLOP/s`,
      cpp: `std::vector<float> q(heads * length * dim), k = q, v = q, out = q;
const auto view = [&](auto& x) { return attn::Tensor(x.data(), {1, heads, length, dim}); };
attn::fill_normal(view(q), {.seed = 1});
attn::fill_normal(view(k), {.seed = 2});
attn::fill_normal(view(v), {.seed = 3});

double least = 1e9;
for (int i = 0; i < 10; ++i) {
  const auto start = std::chrono::steady_clock::now();
  attn::scaled_dot_product_attention(view(q), view(k), view(v), view(out));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  least = std::min(least, spent.count());
}
const double operations = 4.0 * heads * length * length * dim;
// milliseconds, GFLOP/s
std::printf("%g %g\\n", least * 1e3, operations / least / 1e9);`,
      javascript: `const random = () =>
  Float32Array.from({ length: heads * length * dim }, () => Math.random() - 0.5);
const [q, k, v] = [random(), random(), random()].map((data) => ({ data, shape: [heads, length, dim] }));

let least = Infinity;
for (let i = 0; i < 10; i++) {
  const start = performance.now();
  attn.scaledDotProductAttention(q, k, v);
  least = Math.min(least, performance.now() - start);
}
const operations = 4 * heads * length ** 2 * dim;
console.log(least, operations / least / 1e6); // milliseconds, GFLOP/s`,
    },
  ]);
