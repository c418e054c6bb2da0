#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "reference/array.hpp"
#include "reference/attention.hpp"

namespace reference {

/// A layer of an encoder or a decoder, by PyTorch's parameter names. Biases may be missing.
struct TransformerLayer {
  std::map<std::string, Array> weights;
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  double (*activation)(double) = nullptr;
  double eps = 1e-5;
  bool norm_first = false;
};

/// x (B, N, E). `options` gives everything but query, key and value. Attention weights go to
/// `weights` if it is not null.
Array encoder_layer(const TransformerLayer&, const Array& x, const Attention& options = {},
                    Array* weights = nullptr);

/// x (B, N, E), memory (B, M, E).
Array decoder_layer(const TransformerLayer&, const Array& x, const Array& memory,
                    const Attention& self_options = {}, const Attention& cross_options = {},
                    Array* cross_weights = nullptr);

}  // namespace reference
