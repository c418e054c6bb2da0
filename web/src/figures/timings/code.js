import { constants, layer } from '../../programs/calls.js';
import { print } from '../../programs/print.js';

/**
 * Programs that time the three layers at one length.
 * @param {{ n: number, d: number, k: number }} sizes
 */
export const timingsPrograms = ({ n, d, k }) =>
  print(
    [
      { python: 'torch.set_num_threads(1)' },
      constants({ n, d, k }),
      {
        python: `x = torch.randn(1, n, d)
cnn = torch.nn.Conv1d(d, d, k, padding="same")
rnn = torch.nn.RNN(d, d, batch_first=True)
layers = [
    lambda: cnn(x.transpose(1, 2)),
    lambda: rnn(x),
    lambda: F.scaled_dot_product_attention(x, x, x),
]
with torch.no_grad():
    for layer in layers:
        times = []
        for _ in range(10):
            start = time.perf_counter()
            layer()
            times.append(time.perf_counter() - start)
        print(min(times) * 1e3)  # milliseconds`,
        cpp: `std::vector<float> data(n * d), result(n * d);
const attn::Tensor x(data.data(), {n, d}), output(result.data(), {n, d});
attn::fill_normal(x, {.seed = 1});`,
        javascript: 'const x = attn.randomNormal({ shape: [n, d], seed: 1 });',
      },
      layer('rnn', 'RNN', { inputSize: 'd', hiddenSize: 'd', seed: 1 }),
      {
        cpp: `attn::Conv1d cnn({.in_channels = d, .out_channels = d, .kernel_size = k, .same = true});
cnn.initialize_xavier(1);

const auto print_milliseconds = [](const auto& call) {
  double least = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    least = std::min(least, spent.count());
  }
  std::printf("%g\\n", least * 1e3);
};
const attn::Tensor heads(data.data(), {1, 1, n, d}), attended(result.data(), {1, 1, n, d});
print_milliseconds([&] { cnn.forward(x, output); });
print_milliseconds([&] { rnn.forward(x, output); });
print_milliseconds(
    [&] { attn::scaled_dot_product_attention(heads, heads, heads, attended); });`,
        javascript: `const cnn = new attn.Conv1d({ inChannels: d, outChannels: d, kernelSize: k, padding: 'same' });

function printMilliseconds(call) {
  let least = Infinity;
  for (let i = 0; i < 10; i++) {
    const start = performance.now();
    call();
    least = Math.min(least, performance.now() - start);
  }
  console.log(least);
}
printMilliseconds(() => cnn.forward(x));
printMilliseconds(() => rnn.forward(x));
printMilliseconds(() => attn.scaledDotProductAttention(x, x, x));`,
      },
    ],
    '{ threads: 1 }',
  );
