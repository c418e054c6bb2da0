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
  detail::SublayerNorms norms;
  if (options.norm_first || !options.norm_outputs) norms.norm.emplace(norm_of(options));
  if (options.norm_outputs) norms.output_norm.emplace(norm_of(options));
  return norms;
}

std::int64_t checked_layer_count(const TransformerEncoderOptions& stack) {
  validation::require_at_least("num_layers", stack.num_layers, 1);
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

ConstTensor stream_of(const ConstAnyTensor& x, const Tensor& stream, runtime::Execution& run) {
  if (x.type() == ElementType::kFloat32) return x.as<float>();
  widen(x, stream, run);
  return stream;
}

void normalize(const detail::Norm& norm, const ConstTensor& x, const AnyTensor& output,
               Context& context, Intermediates* intermediates) {
  std::visit([&](const auto& n) { n.forward(x, output, context, intermediates); }, norm);
}

void run_feed_forward(const AnyFeedForward& feed_forward, const TransformerLayerOptions& options,
                      const ConstTensor& x, const Dropout& dropout, const SublayerPass& pass) {
  const Dropout within = options.feed_forward_dropout ? dropout : Dropout{};
  std::visit(
      [&](const auto& layer) {
        layer.forward(x, pass.scratch, within, pass.context, pass.show.within(""));
      },
      feed_forward);
}

ConstTensor Sublayer::input(const ConstTensor& x, const SublayerPass& pass) const {
  if (!pass.norm_first) return x;
  normalize(*norms.norm, x, pass.scratch, pass.context, pass.show.within(norm_name));
  return pass.scratch;
}

void Sublayer::add_to(const ConstTensor& x, const Tensor& output, const Dropout& dropout,
                      const SublayerPass& pass) const {
  const Tensor& y = pass.scratch;
  if (norms.output_norm) {
    normalize(*norms.output_norm, y, y, pass.context, pass.show.within(output_norm_name));
  }
  apply_dropout(y, y, dropout, pass.context);
  const Tensor sum = pass.show.take(sum_name, x.shape());
  if (!sum.is_none()) add(x, y, sum, pass.run);
  if (pass.norm_first || !norms.norm) return add(x, y, output, pass.run);
  std::visit(
      [&](const auto& norm) {
        norm.forward_sum(x, y, output, pass.context, pass.show.within(norm_name));
      },
      *norms.norm);
}

void Sublayer::add_last(const Tensor& stream, const AnyTensor& output, const Dropout& dropout,
                        const SublayerPass& pass) const {
  const bool rounds = output.type() != ElementType::kFloat32;
  add_to(stream, rounds ? stream : output.as<float>(), dropout, pass);
  if (rounds) narrow(stream, output, pass.run);
}

}  // namespace attn
