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

// These functions are called in many places, so WebAssembly is smaller if they are not inlined.

/// Row `position` of a contiguous intermediate (N, E).
__attribute__((noinline)) std::span<const float> row_of(const Intermediates& shown,
                                                        validation::Parts name,
                                                        std::int64_t position) {
  const ConstTensor values = shown[validation::join(name)];
  return {&values(position, 0), static_cast<std::size_t>(values.size(1))};
}

__attribute__((noinline)) double dot(const float* values, std::span<const double> direction) {
  double sum = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) sum += double{values[i]} * direction[i];
  return sum;
}

__attribute__((noinline)) const float* parameter_of(const Module& module, validation::Parts name) {
  return module.parameter(validation::join(name)).data();
}

/// Moves `direction` from a norm's output to its input `x`. Afterwards, direction · x plus the
/// returned number equals the dot product of the previous direction and the norm's output. The new
/// direction contains the norm's scale for this x.
__attribute__((noinline)) double move_before_norm(const Module& stack, const std::string& norm,
                                                  const TransformerLayerOptions& layer,
                                                  std::span<const float> x,
                                                  std::vector<double>& direction) {
  double bias = 0, eps = double{layer.layer_norm_eps};
  double centre = 0, weight_shift = 0;
  bool has_weight = true;
  if (layer.rms_norm) {
    eps = double{layer.rms_norm->eps};
    has_weight = layer.rms_norm->elementwise_affine;
    weight_shift = layer.rms_norm->zero_centred_weight ? 1 : 0;
  } else {
    if (layer.bias) bias = dot(parameter_of(stack, {norm, ".bias"}), direction);
    for (const float value : x) centre += double{value};
    centre /= static_cast<double>(x.size());
  }
  double squares = 0, sum = 0;
  for (const float value : x) squares += (double{value} - centre) * (double{value} - centre);
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  const float* weight = has_weight ? parameter_of(stack, {norm, ".weight"}) : nullptr;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] *= scale * (weight ? double{weight[i]} + weight_shift : 1);
    sum += direction[i];
  }
  if (!layer.rms_norm) {
    for (double& value : direction) value -= sum / static_cast<double>(x.size());
  }
  return bias;
}

}  // namespace

void require_position(std::int64_t position, std::int64_t length) {
  if (position >= 0 && position < length) return;
  if (length == 0) validation::fail_value("tokens", 0, {"at least one"});
  validation::fail_value("position", position, {"0 to ", length - 1});
}

void require_residual_sum(const TransformerEncoder& stack) {
  for (const TransformerEncoderLayer& layer : stack.layers()) {
    if (layer.options().norm_first || layer.options().norm_outputs) continue;
    validation::fail(ErrorCode::kUnsupported, "norm_first",
                     {"layers that normalise the residual stream after each sum"},
                     {"layers that do not, because otherwise their outputs do not add up"});
  }
}

std::vector<std::string> contribution_names(const TransformerEncoder& stack,
                                            const std::string& path) {
  std::vector<std::string> names;
  const auto add = [&](validation::Parts name) { names.push_back(validation::join(name)); };
  add({path, "layers.0.resid_pre"});
  const std::size_t count = stack.layers().size();
  for (std::size_t l = 0; l < count; ++l) {
    for (const char* value : {".self_attn.head_output", ".mlp_out", ".self_attn.output"}) {
      add({path, "layers.", l, value});
    }
  }
  add({path, "layers.", count - 1, ".output"});
  if (stack.options().final_norm) add({path, "norm.output"});
  return names;
}

Contributions contributions_of(const TransformerEncoder& stack, const Intermediates& shown,
                               const std::string& path, std::vector<double> direction,
                               std::int64_t position) {
  const std::span<const TransformerEncoderLayer> layers = stack.layers();
  const auto last = row_of(shown, {path, "layers.", layers.size() - 1, ".output"}, position);
  Contributions result;
  if (stack.options().final_norm) {
    result.total = dot(row_of(shown, {path, "norm.output"}, position).data(), direction);
    result.bias += move_before_norm(stack, "norm", layers.front().options(), last, direction);
  } else {
    result.total = dot(last.data(), direction);
  }
  const auto part = [&](std::size_t l, const char* name) {
    return row_of(shown, {path, "layers.", l, name}, position);
  };
  result.embedding = dot(part(0, ".resid_pre").data(), direction);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const TransformerLayerOptions& options = layers[l].options();
    const MultiHeadAttentionOptions& attention = layers[l].self_attention().options();
    const std::string projection = validation::join({"layers.", l, ".self_attn.out_proj"});
    Contributions::Layer& parts = result.layers.emplace_back();
    parts.feed_forward = dot(part(l, ".mlp_out").data(), direction);

    std::vector<double> before = direction;
    if (options.norm_outputs) {
      result.bias += move_before_norm(stack, validation::join({"layers.", l, ".output_norm1"}),
                                      options, part(l, ".self_attn.output"), before);
    }
    if (attention.output_bias.value_or(attention.bias)) {
      result.bias += dot(parameter_of(stack, {projection, ".bias"}), before);
    }
    const ConstTensor heads =
        shown[validation::join({path, "layers.", l, ".self_attn.head_output"})];
    const std::int64_t width = heads.size(2);
    std::vector<double> columns(static_cast<std::size_t>(heads.size(0) * width));
    // Reads a few rows at a time, because weights that are not float32 are copied.
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
      const std::span of_head(&columns[static_cast<std::size_t>(h * width)],
                              static_cast<std::size_t>(width));
      parts.heads.push_back(dot(&heads(h, position, 0), of_head));
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
