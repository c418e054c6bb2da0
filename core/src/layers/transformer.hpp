#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "attention/attention_options.hpp"
#include "attention/staged_outputs.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/error.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"
#include "elementwise.hpp"
#include "layers/intermediate_writer.hpp"
#include "layers/multi_head_attention_impl.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

/// Code that encoder and decoder layers share.
namespace attn {

inline MultiHeadAttentionOptions self_attention_of(const TransformerLayerOptions& options) {
  return {.d_model = options.d_model,
          .num_heads = options.num_heads,
          .num_kv_heads = options.num_kv_heads,
          .head_dim = options.head_dim,
          .bias = options.attention_bias.value_or(options.bias),
          .output_bias = options.attention_output_bias,
          .qk_norm = options.qk_norm,
          .qk_norm_all_heads = options.qk_norm_all_heads,
          .positions = options.positions,
          .sinks = options.sinks,
          .scale = options.scale,
          .softcap = options.softcap,
          .window = options.window,
          .weights = options.weights};
}

using AnyFeedForward = std::variant<FeedForward, GatedFeedForward>;

AnyFeedForward feed_forward_of(const TransformerLayerOptions& options);

/// Throws kInvalidArgument for options that contradict each other.
detail::Norm norm_of(const TransformerLayerOptions& options);
detail::SublayerNorms sublayer_norms_of(const TransformerLayerOptions& options);

/// Number of layers in a stack. Throws kInvalidArgument.
std::int64_t checked_layer_count(const TransformerEncoderOptions& stack);
inline const TransformerLayerOptions& layer_of(const TransformerEncoderOptions& stack,
                                               std::int64_t l) {
  return stack.layers.empty() ? stack.layer : stack.layers[static_cast<std::size_t>(l)];
}

/// The options with which a stack builds layer l. They have no T5 bias if the layer shares the bias
/// of the first layer.
TransformerLayerOptions own_options_of(const TransformerEncoderOptions& stack, std::int64_t l);

/// If a stack shares its first layer's T5 bias, adds it to the attention of another layer. A bias
/// of the call takes precedence. Returns true if it adds the bias.
template <class Layer>
bool add_shared_t5_bias(const TransformerEncoderOptions& stack, const std::vector<Layer>& layers,
                        std::size_t l, AttentionOptions& attention) {
  if (!stack.shared_t5_bias || l == 0 || attention.t5_bias) return false;
  const T5BiasOptions& bias = *layers.front().options().positions.t5_bias;
  attention.t5_bias = T5Bias{.table = layers.front().self_attention().parameter(kT5Table),
                             .bidirectional = bias.bidirectional,
                             .max_distance = bias.max_distance};
  return true;
}

/// Rejects positions if no layer of a stack has rotary positions.
template <class Layer>
void check_positions(const TensorView<const double>& positions, const std::vector<Layer>& layers) {
  if (positions.is_none()) return;
  for (const Layer& layer : layers) {
    if (layer.options().positions.rotary) return;
  }
  fail_positions("positions", "none; no layer has rotary positions");
}

/// The positions that a stack passes to one of its layers.
inline TensorView<const double> positions_of(const TensorView<const double>& positions,
                                             const TransformerLayerOptions& layer) {
  return layer.positions.rotary ? positions : TensorView<const double>();
}

/// The layer that a variant contains, as a Module.
template <class... Layers>
const Module& as_module(const std::variant<Layers...>& layer) {
  return std::visit([](const Module& module) -> const Module& { return module; }, layer);
}

/// A sublayer of a layer. Its result is added to the residual stream.
struct Sublayer {
  const detail::SublayerNorms& norms;
  const char* norm_name;         ///< "norm1"
  const char* output_norm_name;  ///< "output_norm1"
  const char* result_name;       ///< "attn_out"
  const char* sum_name;          ///< "resid_mid"
  Dropout dropout;               ///< dropout of the sublayer's result
};

/// The dropout within a feed-forward network, if the options ask for it.
inline Dropout hidden_dropout(const TransformerLayerOptions& options, const Dropout& dropout) {
  return options.feed_forward_dropout ? dropout : Dropout{};
}

void normalize(const detail::Norm& norm, const ConstTensor& x, const AnyTensor& output,
               Context& context, Intermediates* intermediates);

/// Requires x (B, N, E) or (N, E) and output of the same shape.
inline void check_tokens(const ConstAnyTensor& x, const AnyTensor& output, std::int64_t d_model) {
  require_rows("x", x, "d_model", d_model);
  require_rows_like("output", output, x, x.size(-2), d_model);
}

/// Requires that the attention options of a stack contain no output tensors, because every layer
/// would write to them, and that `weights` is empty or has one tensor for each layer.
inline void check_stack_outputs(const char* name, const AttentionOptions& attention,
                                std::span<const Tensor> weights, std::size_t num_layers) {
  for (const auto output : kFurtherOutputs) {
    if (!(attention.*output).is_none()) {
      validation::fail_value(name, "an output tensor",
                             {"none, because every layer would write to it; the call itself takes "
                              "one tensor of weights for each layer"});
    }
  }
  if (!weights.empty() && weights.size() != num_layers) {
    validation::fail_value("weights", weights.size(),
                           {"none or one for each of the ", num_layers, " layers"});
  }
}

/// The dropout at one of the places where a layer applies it. Each place has its own random stream.
inline Dropout dropout_at(const Dropout& dropout, std::uint64_t place) {
  Dropout result = dropout;
  result.random.stream += place;
  return result;
}

/// Requires a valid probability, and no dropout in the attention options.
inline void check_dropout(const Dropout& dropout, const char* name,
                          const AttentionOptions& attention) {
  validation::require_probability("dropout", dropout.probability);
  if (attention.dropout != 0) {
    validation::fail_value(name, attention.dropout,
                           {"0; the ", validation::Name("dropout"),
                            " of the call already covers the attention weights"});
  }
}

/// The attention options of a call. In training, they contain the call's dropout for the weights.
inline AttentionOptions with_dropout(const AttentionOptions& attention, const Dropout& dropout,
                                     std::uint64_t place) {
  AttentionOptions result = attention;
  if (dropout.training) {
    result.dropout = dropout.probability;
    result.dropout_random = dropout_at(dropout, place).random;
  }
  return result;
}

/// Staged memory for the weights of each layer; null for a layer whose weights are not requested.
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
