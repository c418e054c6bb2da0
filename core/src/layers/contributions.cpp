#include "layers/contributions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "attn/owned_tensor.hpp"
#include "layers/module_access.hpp"
#include "layers/transformer.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Row `position` of an intermediate (N, E) that has no gaps.
std::span<const float> row_of(const Intermediates& shown, const std::string& name,
                              std::int64_t position) {
  const ConstTensor values = shown[name];
  return {&values(position, 0), static_cast<std::size_t>(values.size(1))};
}

double dot(std::span<const float> values, std::span<const double> direction) {
  double sum = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) sum += double{values[i]} * direction[i];
  return sum;
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Moves `direction` from the output of a norm to its input `x`: afterwards, direction · x plus the
/// returned number is the dot product of the previous direction and the norm's output. The new
/// direction contains the norm's scale for this x.
double move_before_norm(const Module& stack, const std::string& norm,
                        const TransformerLayerOptions& layer, std::span<const float> x,
                        std::vector<double>& direction) {
  double bias = 0, eps = double{layer.layer_norm_eps};
  double centre = 0, weight_shift = 0;
  bool has_weight = true;
  if (layer.rms_norm) {
    eps = double{layer.rms_norm->eps};
    has_weight = layer.rms_norm->elementwise_affine;
    weight_shift = layer.rms_norm->zero_centred_weight ? 1 : 0;
  } else {
    if (layer.bias) bias = dot({stack.parameter(norm + ".bias").data(), x.size()}, direction);
    for (const float value : x) centre += double{value};
    centre /= static_cast<double>(x.size());
  }
  double squares = 0;
  for (const float value : x) squares += (double{value} - centre) * (double{value} - centre);
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  const float* weight = has_weight ? stack.parameter(norm + ".weight").data() : nullptr;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] *= scale * (weight ? double{weight[i]} + weight_shift : 1);
  }
  if (!layer.rms_norm) {
    const double average = mean(direction);
    for (double& value : direction) value -= average;
  }
  return bias;
}

}  // namespace

void require_position(std::int64_t position, std::int64_t length) {
  if (position >= 0 && position < length) return;
  validation::fail_value("position", position, {"0 to ", length - 1});
}

void require_residual_sum(const TransformerEncoder& stack) {
  for (const TransformerEncoderLayer& layer : stack.layers()) {
    if (layer.options().norm_first || layer.options().norm_outputs) continue;
    validation::fail(ErrorCode::kUnsupported, "norm_first",
                     {"layers that normalise the residual stream after each sum"},
                     {"layers with norms first, because only their outputs add up"});
  }
}

std::vector<std::string> contribution_names(const TransformerEncoder& stack,
                                            const std::string& path) {
  std::vector<std::string> names = {path + "layers.0.resid_pre"};
  std::string layer;
  for (std::size_t l = 0; l < stack.layers().size(); ++l) {
    layer = path + "layers." + std::to_string(l) + ".";
    names.insert(names.end(), {layer + "self_attn.head_output", layer + "mlp_out"});
    if (stack.layers()[l].options().norm_outputs) names.push_back(layer + "self_attn.output");
  }
  names.push_back(layer + "output");
  if (stack.options().final_norm) names.push_back(path + "norm.output");
  return names;
}

Contributions contributions_of(const TransformerEncoder& stack, const Intermediates& shown,
                               const std::string& path, std::vector<double> direction,
                               std::int64_t position) {
  const std::span<const TransformerEncoderLayer> layers = stack.layers();
  const std::string last = "layers." + std::to_string(layers.size() - 1) + ".output";
  Contributions result;
  if (stack.options().final_norm) {
    result.total = dot(row_of(shown, path + "norm.output", position), direction);
    result.bias += move_before_norm(stack, "norm", layers.front().options(),
                                    row_of(shown, path + last, position), direction);
  } else {
    result.total = dot(row_of(shown, path + last, position), direction);
  }
  result.embedding = dot(row_of(shown, path + "layers.0.resid_pre", position), direction);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const TransformerLayerOptions& options = layers[l].options();
    const MultiHeadAttentionOptions& attention = layers[l].self_attention().options();
    const std::string name = "layers." + std::to_string(l) + ".";
    const std::string projection = name + "self_attn.out_proj";
    Contributions::Layer& parts = result.layers.emplace_back();
    parts.feed_forward = dot(row_of(shown, path + name + "mlp_out", position), direction);

    std::vector<double> before = direction;
    if (options.norm_outputs) {
      result.bias +=
          move_before_norm(stack, name + "output_norm1", options,
                           row_of(shown, path + name + "self_attn.output", position), before);
    }
    if (attention.output_bias.value_or(attention.bias)) {
      result.bias += dot({stack.parameter(projection + ".bias").data(), before.size()}, before);
    }
    const ConstTensor heads = shown[path + name + "self_attn.head_output"];
    const std::int64_t width = heads.size(2);
    std::vector<double> columns(static_cast<std::size_t>(heads.size(0) * width));
    // Reads some rows at a time, because weights that are not float32 are copied.
    constexpr std::int64_t kRows = 64;
    OwnedTensor rows({kRows, std::ssize(columns)});
    for (std::int64_t first = 0; first < std::ssize(before); first += kRows) {
      const std::int64_t count = std::min(kRows, std::ssize(before) - first);
      const Tensor block = rows.view().slice(0, 0, count);
      ModuleAccess::read(stack, projection + ".weight", block, first);
      for (std::int64_t row = 0; row < count; ++row) {
        const double factor = before[static_cast<std::size_t>(first + row)];
        const float* weights = &block(row, 0);
        for (std::size_t c = 0; c < columns.size(); ++c) columns[c] += factor * double{weights[c]};
      }
    }
    for (std::int64_t h = 0; h < heads.size(0); ++h) {
      const auto size = static_cast<std::size_t>(width);
      parts.heads.push_back(
          dot({&heads(h, position, 0), size},
              std::span(columns).subspan(static_cast<std::size_t>(h) * size, size)));
    }
  }
  return result;
}

Contributions TransformerEncoder::contributions(const ConstTensor& x, const ConstTensor& direction,
                                                std::int64_t position,
                                                const TransformerEncoderCall& call,
                                                Context& context) const {
  const std::int64_t width = layer_of(options_, 0).d_model;
  validation::require_shape("x", x, {-1, width});
  validation::require_shape("direction", direction, {width});
  validation::require_data("direction", direction);
  require_position(position, x.size(0));
  if (!call.caches.empty() || !call.weights.empty() || call.intermediates || call.interventions ||
      call.dropout.training) {
    validation::fail_value("contributions", "a cache, results, interventions or dropout",
                           {"none; the call only takes attention and positions"});
  }
  require_residual_sum(*this);
  Intermediates shown(contribution_names(*this, ""));
  TransformerEncoderCall inner = call;
  inner.intermediates = &shown;
  OwnedTensor output({x.size(0), width});
  forward(x, output, inner, context);
  std::vector<double> along;
  for (std::int64_t i = 0; i < width; ++i) along.push_back(double{direction(i)});
  return contributions_of(*this, shown, "", std::move(along), position);
}

}  // namespace attn
