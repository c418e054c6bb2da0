/**
 * Programs that time the three layers at one length.
 * @param {{ n: number, d: number, k: number }} sizes
 */
export function timingsPrograms({ n, d, k }) {
  return {
    python: `import time
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
n, d, k = ${n}, ${d}, ${k}
x = torch.randn(1, n, d)
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
        print(min(times) * 1e3)  # milliseconds
`,
    cpp: `#include <attn/attn.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

template <class Call>
void print_milliseconds(Call call) {
  double least = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    least = std::min(least, spent.count());
  }
  std::printf("%g\\n", least * 1e3);
}

int main() {
  const std::int64_t n = ${n}, d = ${d}, k = ${k};
  std::vector<float> data(n * d), result(n * d);
  const attn::Tensor x(data.data(), {n, d}), output(result.data(), {n, d});
  attn::fill_normal(x, {.seed = 1});
  attn::Conv1d cnn({.in_channels = d, .out_channels = d, .kernel_size = k, .same = true});
  cnn.initialize_xavier({.seed = 1});
  attn::RNN rnn({.input_size = d, .hidden_size = d});
  rnn.initialize_xavier({.seed = 1});

  const attn::Tensor heads(data.data(), {1, 1, n, d}), attended(result.data(), {1, 1, n, d});
  print_milliseconds([&] { cnn.forward(x, output); });
  print_milliseconds([&] { rnn.forward(x, output); });
  print_milliseconds(
      [&] { attn::scaled_dot_product_attention(heads, heads, heads, attended); });
}
`,
    javascript: `import { load } from 'attn';

const attn = await load({ threads: 1 });
const [n, d, k] = [${n}, ${d}, ${k}];
const x = attn.randomNormal({ shape: [n, d], seed: 1 });
const cnn = new attn.Conv1d({ inChannels: d, outChannels: d, kernelSize: k, padding: 'same' });
const rnn = new attn.RNN({ inputSize: d, hiddenSize: d });

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
printMilliseconds(() => attn.scaledDotProductAttention(x, x, x));
`,
  };
}
