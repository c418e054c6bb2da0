// Token-by-token decoding with a cache. A stack of causal layers, as in GPT, gets one token at a
// time, and each token attends to the cached keys and values of the tokens before it.

#include <algorithm>
#include <attn/attn.hpp>
#include <cmath>
#include <cstddef>
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

  attn::OwnedTensor tokens({1, length, width});
  attn::fill_normal(tokens, {.seed = 5});

  std::vector<attn::KeyValueCache> caches = decoder.make_caches(/*batch=*/1, /*capacity=*/length);
  attn::TransformerEncoderCall call;
  call.attention.causal = true;
  call.caches = caches;
  attn::OwnedTensor one_by_one(tokens.shape());
  for (std::int64_t i = 0; i < length; ++i) {
    // A real decoder would choose the next token from the last output.
    decoder.forward(tokens.view().slice(1, i, i + 1), one_by_one.view().slice(1, i, i + 1), call);
  }

  // Processing the whole sequence at once gives the same numbers, up to rounding.
  call.caches = {};
  attn::OwnedTensor at_once(tokens.shape());
  decoder.forward(tokens, at_once, call);
  float difference = 0;
  for (std::size_t i = 0; i < at_once.values().size(); ++i) {
    difference = std::max(difference, std::abs(at_once.values()[i] - one_by_one.values()[i]));
  }
  std::printf("%lld tokens, largest difference %.1e\n", static_cast<long long>(caches[0].length()),
              static_cast<double>(difference));
  return difference < 1e-5F ? 0 : 1;
}
