#include "layers/transformer.hpp"

namespace attn {

AnyFeedForward feed_forward_of(const TransformerLayerOptions& options) {
  if (options.gated_feed_forward) {
    return GatedFeedForward({.d_model = options.d_model,
                             .dim_feedforward = options.dim_feedforward,
                             .activation = options.activation,
                             .bias = options.bias,
                             .weights = options.weights});
  }
  return FeedForward({.d_model = options.d_model,
                      .dim_feedforward = options.dim_feedforward,
                      .activation = options.activation,
                      .bias = options.bias,
                      .weights = options.weights});
}

detail::Norm norm_of(const TransformerLayerOptions& options) {
  if (!options.rms_norm) {
    return LayerNorm(options.d_model, {.eps = options.layer_norm_eps, .bias = options.bias});
  }
  if (options.layer_norm_eps != TransformerLayerOptions{}.layer_norm_eps) {
    validation::fail_value(
        "layer_norm_eps", options.layer_norm_eps,
        {"the default, because ", validation::Name("rms_norm"), " has its own eps"});
  }
  return RmsNorm(options.d_model, *options.rms_norm);
}

detail::SublayerNorms sublayer_norms_of(const TransformerLayerOptions& options) {
  if (options.parallel_residual && !options.norm_first) {
    validation::fail_value("parallel_residual", "true",
                           {"false without ", validation::Name("norm_first")});
  }
  detail::SublayerNorms norms;
  if (options.norm_first || !options.norm_outputs) norms.norm.emplace(norm_of(options));
  if (options.norm_outputs) norms.output_norm.emplace(norm_of(options));
  return norms;
}

namespace {

/// Requires that the first layer has a T5 bias and that the bias fits all layers.
void check_shared_t5_bias(const TransformerEncoderOptions& stack) {
  const TransformerLayerOptions& first = layer_of(stack, 0);
  bool fits = first.positions.t5_bias.has_value();
  for (const TransformerLayerOptions& layer : stack.layers) {
    fits = fits && layer.num_heads == first.num_heads;
  }
  if (stack.shared_t5_bias && !fits) {
    validation::fail_value(
        "shared_t5_bias", "true",
        {"false, or a T5 bias in the first layer and the same number of heads in every layer"});
  }
}

}  // namespace

TransformerLayerOptions own_options_of(const TransformerEncoderOptions& stack, std::int64_t l) {
  TransformerLayerOptions options = layer_of(stack, l);
  if (stack.shared_t5_bias && l > 0) options.positions.t5_bias.reset();
  return options;
}

std::int64_t checked_layer_count(const TransformerEncoderOptions& stack) {
  validation::require_at_least("num_layers", stack.num_layers, 1);
  check_shared_t5_bias(stack);
  if (stack.layers.empty()) return stack.num_layers;
  const std::int64_t count = std::ssize(stack.layers);
  if (stack.num_layers != 1 && stack.num_layers != count) {
    validation::fail_value("num_layers", stack.num_layers,
                           {count, ", the number of ", validation::Name("layers")});
  }
  const std::int64_t width = stack.layers.front().d_model;
  for (const TransformerLayerOptions& layer : stack.layers) {
    if (layer.d_model != width) {
      validation::fail(ErrorCode::kInvalidArgument, "layers",
                       {validation::Name("d_model"), " ", layer.d_model},
                       {width, ", as in the first layer"});
    }
  }
  return count;
}

void normalize(const detail::Norm& norm, const ConstTensor& x, const AnyTensor& output,
               Context& context, Intermediates* intermediates) {
  std::visit([&](const auto& n) { n.forward(x, output, context, intermediates); }, norm);
}

}  // namespace attn
