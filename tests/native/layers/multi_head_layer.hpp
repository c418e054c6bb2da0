#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attn/layers/multi_head_attention.hpp"
#include "random.hpp"
#include "reference/multi_head_attention.hpp"

namespace attn_test {

/// A layer with random weights of the size that Xavier's would have, and the same numbers for the
/// reference.
struct MultiHeadLayer {
  attn::MultiHeadAttentionOptions options;
  std::map<std::string, std::vector<float>> parameters;
  attn::MultiHeadAttention attention;

  MultiHeadLayer(const attn::MultiHeadAttentionOptions& options_, Random& random)
      : options(options_), attention(options_) {
    for (const std::string& name : attention.parameter_names()) {
      const attn::ConstTensor zeros = attention.parameter(name);
      std::int64_t count = 1;
      for (const std::int64_t size : zeros.shape()) count *= size;
      const float deviation = 1 / std::sqrt(static_cast<float>(zeros.size(-1)));
      parameters[name] = random.normals(count, deviation);
      attention.set_parameter(name, {parameters[name].data(), zeros.shape()});
    }
  }

  std::int64_t e() const { return options.d_model; }
  std::int64_t kv_heads() const { return options.num_kv_heads.value_or(options.num_heads); }
  std::int64_t kv_width() const { return e() / options.num_heads * kv_heads(); }
  std::int64_t key_dim() const { return options.key_dim.value_or(e()); }
  std::int64_t value_dim() const { return options.value_dim.value_or(e()); }

  /// Rows [begin, end) of a parameter.
  reference::Array rows(const std::string& name, std::int64_t begin, std::int64_t end,
                        std::int64_t cols) const {
    const auto found = parameters.find(name);
    if (found == parameters.end()) return {};
    return reference::Array(
        cols == 0 ? std::vector{end - begin} : std::vector{end - begin, cols},
        std::vector<float>(found->second.begin() + begin * std::max<std::int64_t>(cols, 1),
                           found->second.begin() + end * std::max<std::int64_t>(cols, 1)));
  }

  ::reference::MultiHeadAttention exact() const {
    ::reference::MultiHeadAttention r;
    r.num_heads = options.num_heads;
    r.num_kv_heads = kv_heads();
    if (parameters.contains("in_proj_weight")) {
      r.query_weight = rows("in_proj_weight", 0, e(), e());
      r.key_weight = rows("in_proj_weight", e(), 2 * e(), e());
      r.value_weight = rows("in_proj_weight", 2 * e(), 3 * e(), e());
    } else {
      r.query_weight = rows("q_proj_weight", 0, e(), e());
      r.key_weight = rows("k_proj_weight", 0, kv_width(), key_dim());
      r.value_weight = rows("v_proj_weight", 0, kv_width(), value_dim());
    }
    r.output_weight = rows("out_proj.weight", 0, e(), e());
    r.query_bias = rows("in_proj_bias", 0, e(), 0);
    r.key_bias = rows("in_proj_bias", e(), e() + kv_width(), 0);
    r.value_bias = rows("in_proj_bias", e() + kv_width(), e() + 2 * kv_width(), 0);
    r.output_bias = rows("out_proj.bias", 0, e(), 0);
    return r;
  }
};

/// Self-attention over x (B, N, E).
inline std::vector<float> self_attention(const attn::MultiHeadAttention& attention,
                                         const std::vector<float>& x, std::int64_t batch,
                                         attn::Context& context,
                                         const attn::AttentionOptions& options = {}) {
  const std::int64_t e = attention.options().d_model;
  const std::int64_t length = static_cast<std::int64_t>(x.size()) / batch / e;
  std::vector<float> y(x.size(), 77.0F);
  const attn::ConstTensor in(x.data(), {batch, length, e});
  attention.forward(in, in, in, {y.data(), {batch, length, e}}, {.attention = options}, context);
  return y;
}

}  // namespace attn_test
