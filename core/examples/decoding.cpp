// Token-by-token decoding with a cache: a stack of causal layers, as in GPT, is given one token at
// a time, and each token attends to the projected keys and values of those before it.

#include <algorithm>
#include <attn/attn.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  const std::int64_t length = 24, width = 64;
  attn::TransformerEncoderOptions options;
  options.num_layers = 2;
  options.layer = {.d_model = width, .num_heads = 4, .dim_feedforward = 128, .norm_first = true};
  options.layer.positions.rotary = attn::RotaryEmbeddingOptions{};
  attn::TransformerEncoder decoder(options);
  decoder.initialize_xavier(/*seed=*/3);

  std::vector<float> embeddings(length * width);
  const attn::Tensor tokens(embeddings.data(), {1, length, width});
  attn::fill_normal(tokens, {.seed = 5});

  std::vector<attn::KeyValueCache> caches = decoder.make_caches(/*batch=*/1, /*capacity=*/length);
  attn::TransformerEncoderCall call;
  call.attention.causal = attn::Diagonal::top_left();
  call.caches = caches;
  std::vector<float> one_by_one(embeddings.size());
  const attn::Tensor outputs(one_by_one.data(), {1, length, width});
  for (std::int64_t i = 0; i < length; ++i) {
    // A real decoder would choose the next token from the last output.
    decoder.forward(tokens.slice(1, i, i + 1), outputs.slice(1, i, i + 1), call);
  }

  // The whole sequence at once gives the same numbers, but for rounding.
  call.caches = {};
  std::vector<float> at_once(embeddings.size());
  decoder.forward(tokens, attn::Tensor(at_once.data(), {1, length, width}), call);
  float difference = 0;
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    difference = std::max(difference, std::abs(at_once[i] - one_by_one[i]));
  }
  std::printf("%lld tokens, largest difference %.1e\n", static_cast<long long>(caches[0].length()),
              static_cast<double>(difference));
  return difference < 1e-5F ? 0 : 1;
}
