#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "attention/attention_options.hpp"
#include "attention/staged_outputs.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/error.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"
#include "elementwise.hpp"
#include "layers/showing.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

/// What the layers of encoder and decoder have in common.
namespace attn {

inline MultiHeadAttentionOptions self_attention_of(const TransformerLayerOptions& options) {
  return {.d_model = options.d_model,
          .num_heads = options.num_heads,
          .num_kv_heads = options.num_kv_heads,
          .bias = options.attention_bias.value_or(options.bias),
          .positions = options.positions,
          .sinks = options.sinks};
}

inline FeedForwardOptions feed_forward_of(const TransformerLayerOptions& options) {
  return {.d_model = options.d_model,
          .dim_feedforward = options.dim_feedforward,
          .activation = options.activation,
          .bias = options.bias};
}

inline LayerNorm norm_of(const TransformerLayerOptions& options) {
  return LayerNorm(options.d_model, {.eps = options.layer_norm_eps, .bias = options.bias});
}

/// Requires x (B, N, E) or (N, E) and output of the same shape.
inline void check_tokens(const ConstTensor& x, const Tensor& output, std::int64_t d_model) {
  require_rows("x", x, "d_model", d_model);
  require_rows_like("output", output, x, x.size(-2), d_model);
}

/// Requires that a stack's options leave what single layers write to `weights`, of which there are
/// none or one for each layer.
inline void check_stack_outputs(const char* name, const AttentionOptions& attention,
                                std::span<const Tensor> weights, std::size_t num_layers) {
  for (const auto output : kFurtherOutputs) {
    if (!(attention.*output).is_none()) {
      validation::fail_value(name, "an output that every layer would write",
                             {"none: the weights of each layer have an argument of their own"});
    }
  }
  if (!weights.empty() && weights.size() != num_layers) {
    validation::fail_value("weights", weights.size(),
                           {"none or one for each of the ", num_layers, " layers"});
  }
}

/// One of the places at which a layer drops out.
inline Dropout dropout_at(const Dropout& dropout, std::uint64_t place) {
  Dropout result = dropout;
  result.random.stream += place;
  return result;
}

/// Requires a probability, and that attention's options have no dropout of their own.
inline void check_dropout(const Dropout& dropout, const char* name,
                          const AttentionOptions& attention) {
  validation::require_probability("dropout", dropout.probability);
  if (attention.dropout != 0) {
    validation::fail_value(
        name, attention.dropout,
        {"0: ", validation::Name("dropout"), " of the call acts on the attention weights, too"});
  }
}

/// The options of a call, with its dropout on the weights in training.
inline AttentionOptions with_dropout(const AttentionOptions& attention, const Dropout& dropout,
                                     std::uint64_t place) {
  AttentionOptions result = attention;
  if (dropout.training) {
    result.dropout = dropout.probability;
    result.dropout_random = dropout_at(dropout, place).random;
  }
  return result;
}

/// Staged memory for the weights of each layer; null where none are asked for.
inline float** staged_weights(std::span<const Tensor> weights, runtime::Execution& run) {
  float** memory = run.take<float*>(std::ssize(weights), "attention weights");
  for (std::size_t l = 0; l < weights.size(); ++l) {
    memory[l] = staged("weights", weights[l], run).data();
  }
  return memory;
}

inline Tensor staged_weight(std::span<const Tensor> weights, float* const* memory, std::size_t l) {
  if (l >= weights.size() || weights[l].is_none()) return {};
  return Tensor(memory[l], weights[l].shape());
}

inline void publish_weights(std::span<const Tensor> weights, float* const* memory,
                            runtime::Execution& run) noexcept {
  for (std::size_t l = 0; l < weights.size(); ++l) {
    publish(staged_weight(weights, memory, l), weights[l], run);
  }
}

}  // namespace attn
