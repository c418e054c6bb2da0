#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "random.hpp"
#include "reference/rotary_embedding.hpp"
#include "reference/transformer.hpp"

namespace attn_test {

/// Bound on the total rounding error of several sums of up to 64 terms each. Outputs are of the
/// order of 1.
inline constexpr double kTransformerError = 1e-5;

/// Options of layers in current language models, and combinations that no model has.
inline std::vector<attn::TransformerLayerOptions> todays_layers() {
  using attn::Activation;
  using attn::RmsNormOptions;
  using attn::RotaryEmbeddingOptions;
  const attn::TransformerLayerOptions llama{
      .d_model = 12,
      .num_heads = 6,
      .dim_feedforward = 19,
      .activation = Activation::kSilu,
      .gated_feed_forward = true,
      .rms_norm = RmsNormOptions{.eps = 1e-5F},
      .norm_first = true,
      .bias = false,
      .num_kv_heads = 2,
      .positions = {.rotary = RotaryEmbeddingOptions{.base = 5e5}}};
  attn::TransformerLayerOptions qwen2 = llama;
  qwen2.attention_bias = true;
  qwen2.attention_output_bias = false;
  attn::TransformerLayerOptions qwen3 = llama;
  qwen3.num_heads = 4;
  qwen3.head_dim = 8;
  qwen3.qk_norm = llama.rms_norm;
  attn::TransformerLayerOptions gemma = qwen3;
  gemma.activation = Activation::kGeluTanh;
  gemma.rms_norm = gemma.qk_norm = RmsNormOptions{.eps = 1e-3F, .zero_centred_weight = true};
  gemma.norm_outputs = true;
  gemma.scale = 0.4F;
  gemma.softcap = 5;
  gemma.window = attn::Window{2, 0};
  attn::TransformerLayerOptions gpt_oss = llama;
  gpt_oss.attention_bias = true;
  gpt_oss.sinks = true;
  gpt_oss.window = attn::Window{.left = 1};
  return {{.d_model = 20,  // GPT-2
           .num_heads = 4,
           .dim_feedforward = 33,
           .activation = Activation::kGeluTanh,
           .norm_first = true},
          llama,
          qwen2,
          qwen3,
          gemma,
          gpt_oss,
          {.d_model = 8,  // OLMo 2
           .num_heads = 2,
           .dim_feedforward = 5,
           .activation = Activation::kSilu,
           .gated_feed_forward = true,
           .rms_norm = RmsNormOptions{.eps = 1e-6F},
           .norm_outputs = true,
           .bias = false,
           .qk_norm = RmsNormOptions{.eps = 1e-6F},
           .qk_norm_all_heads = true},
          {.d_model = 1, .dim_feedforward = 1, .rms_norm = RmsNormOptions{.eps = 0.5F}},
          {.d_model = 9,
           .num_heads = 3,
           .dim_feedforward = 17,
           .norm_outputs = true,
           .head_dim = 2,
           .qk_norm = RmsNormOptions{.eps = 1e-5F}},
          {.d_model = 10,  // GPT-NeoX
           .num_heads = 5,
           .dim_feedforward = 21,
           .activation = Activation::kGelu,
           .norm_first = true,
           .parallel_residual = true}};
}

/// The options of a layer that affect the scores of self-attention.
template <class T = double>
reference::AttentionOf<T> rules_of(const attn::TransformerLayerOptions& options) {
  reference::AttentionOf<T> rules;
  if (options.scale) rules.scale = static_cast<double>(*options.scale);
  rules.softcap = static_cast<double>(options.softcap);
  if (options.window) {
    rules.window_left = options.window->left;
    rules.window_right = options.window->right;
    rules.window_offset = reference::Array(std::vector<std::int64_t>{1});
  }
  return rules;
}

/// Sets every parameter to random values about as large as in Xavier initialisation. Parameters of
/// norms are around 1.
inline void randomize(attn::Module& module, Random& random) {
  for (const std::string& name : module.parameter_names()) {
    const attn::ConstTensor old = module.parameter(name);
    const std::vector<std::int64_t> shape(old.shape().begin(), old.shape().end());
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const bool matrix = shape.size() == 2;
    std::vector<float> values =
        random.normals(count, matrix ? 1 / std::sqrt(static_cast<float>(shape.back())) : 0.3F);
    if (name.find("norm") != std::string::npos && name.ends_with("weight")) {
      for (float& value : values) value += 1;
    }
    module.set_parameter(name, {values.data(), shape});
  }
}

/// The parameters whose names begin with `prefix`, for the reference.
inline reference::TransformerLayer reference_of(const attn::Module& module,
                                                const std::string& prefix,
                                                const attn::TransformerLayerOptions& options) {
  reference::TransformerLayer layer;
  for (const std::string& name : module.parameter_names()) {
    if (!name.starts_with(prefix)) continue;
    const attn::ConstTensor values = module.parameter(name);
    reference::Array array(std::vector(values.shape().begin(), values.shape().end()));
    for (std::size_t i = 0; i < array.values.size(); ++i) array.values[i] = values.data()[i];
    layer.weights[name.substr(prefix.size())] = array;
  }
  layer.num_heads = options.num_heads;
  layer.num_kv_heads = options.num_kv_heads.value_or(options.num_heads);
  layer.activation = options.activation;
  const auto& rms = options.rms_norm ? options.rms_norm : options.qk_norm;
  layer.eps = static_cast<double>(rms ? rms->eps : options.layer_norm_eps);
  layer.norm_first = options.norm_first;
  layer.parallel = options.parallel_residual;
  layer.rms = options.rms_norm.has_value();
  layer.norms_add_one = rms && rms->zero_centred_weight;
  if (options.positions.rotary) {
    layer.rotary_frequencies = reference::rotary_frequencies(
        {.dim = options.head_dim.value_or(options.d_model / options.num_heads),
         .base = options.positions.rotary->base});
  }
  return layer;
}

}  // namespace attn_test
