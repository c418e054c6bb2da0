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
#include "reference/rotary_embedding.hpp"

namespace attn_test {

/// A layer with random weights about as large as in Xavier initialisation, and the same weights for
/// the reference.
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
      if (name.find("norm") != std::string::npos && !options.qk_norm->zero_centred_weight) {
        for (float& value : parameters[name]) value += 1;
      }
      attention.set_parameter(name, {parameters[name].data(), zeros.shape()});
    }
  }

  std::int64_t e() const { return options.d_model; }
  std::int64_t kv_heads() const { return options.num_kv_heads.value_or(options.num_heads); }
  std::int64_t head_dim() const { return options.head_dim.value_or(e() / options.num_heads); }
  std::int64_t query_width() const { return head_dim() * options.num_heads; }
  std::int64_t kv_width() const { return head_dim() * kv_heads(); }
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

  /// The options of the layer that affect scores.
  ::reference::Attention own_options() const {
    ::reference::Attention r;
    if (options.scale) r.scale = static_cast<double>(*options.scale);
    r.softcap = static_cast<double>(options.softcap);
    return r;
  }

  ::reference::MultiHeadAttention exact() const {
    ::reference::MultiHeadAttention r;
    r.num_heads = options.num_heads;
    r.num_kv_heads = kv_heads();
    const std::int64_t width = query_width();
    if (parameters.contains("in_proj_weight")) {
      r.query_weight = rows("in_proj_weight", 0, width, e());
      r.key_weight = rows("in_proj_weight", width, 2 * width, e());
      r.value_weight = rows("in_proj_weight", 2 * width, 3 * width, e());
    } else {
      r.query_weight = rows("q_proj_weight", 0, width, e());
      r.key_weight = rows("k_proj_weight", 0, kv_width(), key_dim());
      r.value_weight = rows("v_proj_weight", 0, kv_width(), value_dim());
    }
    r.output_weight = rows("out_proj.weight", 0, e(), width);
    r.query_bias = rows("in_proj_bias", 0, width, 0);
    r.key_bias = rows("in_proj_bias", width, width + kv_width(), 0);
    r.value_bias = rows("in_proj_bias", width + kv_width(), width + 2 * kv_width(), 0);
    r.output_bias = rows("out_proj.bias", 0, e(), 0);
    const bool all_heads = options.qk_norm_all_heads;
    r.query_norm = rows("q_norm.weight", 0, all_heads ? width : head_dim(), 0);
    r.key_norm = rows("k_norm.weight", 0, all_heads ? kv_width() : head_dim(), 0);
    if (options.qk_norm) {
      r.norm_eps = static_cast<double>(options.qk_norm->eps);
      r.norms_add_one = options.qk_norm->zero_centred_weight;
    }
    if (options.positions.rotary) {
      const std::int64_t dim = options.positions.rotary->rotary_dim;
      r.rotary_frequencies = reference::rotary_frequencies(
          {.dim = dim == 0 ? head_dim() : dim, .base = options.positions.rotary->base});
    }
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
