// Attention and the terms of its scores.

#include <emscripten/bind.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/masked_softmax.hpp"
#include "attn/attention/merge_attention.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/positions/t5_bias.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {

namespace {

void set_scale(AttentionOptions& options, float scale) { options.scale = scale; }

void set_diagonal(AttentionOptions& options, double offset) {
  options.diagonal = Diagonal::offset(static_cast<std::int64_t>(offset));
}
void set_diagonal_to_bottom_right(AttentionOptions& options) {
  options.diagonal = Diagonal::bottom_right();
}

/// If `left` or `right` is infinity, the window has no bound on that side.
void set_window(AttentionOptions& options, double left, double right) {
  const auto side = [](double keys) {
    return std::isinf(keys) ? std::nullopt : std::optional(static_cast<std::int64_t>(keys));
  };
  options.window = Window{.left = side(left), .right = side(right)};
}

void set_dropout(AttentionOptions& options, float probability, double seed, double stream) {
  options.dropout = probability;
  options.dropout_random = {static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(stream)};
}

void set_t5_bias(AttentionOptions& options, const TensorArgument& table, double max_distance,
                 bool bidirectional) {
  T5Bias bias;
  bias.table = table.floats();
  bias.max_distance = static_cast<std::int64_t>(max_distance);
  bias.bidirectional = bidirectional;
  options.t5_bias = bias;
}

void reset(AttentionOptions& options) { options = {}; }

/// Returns `*options`, or the defaults if `options` is null.
AttentionOptions given(const AttentionOptions* options) {
  return options ? *options : AttentionOptions();
}

void attend(const TensorArgument& query, const TensorArgument& key, const TensorArgument& value,
            const TensorArgument& output, const AttentionOptions* options) {
  scaled_dot_product_attention(query.elements(), key.elements(), value.elements(),
                               output.result_of_type(), given(options), context());
}

void attend_to_cache(const TensorArgument& query, const KeyValueCache& cache,
                     const TensorArgument& output, const AttentionOptions* options) {
  scaled_dot_product_attention(query.elements(), cache, output.result_of_type(), given(options),
                               context());
}

/// `valid_lens` and `mask` may be null.
void softmax(const TensorArgument& x, const TensorArgument& output,
             const TensorArgument* valid_lens, const TensorArgument* mask) {
  MaskedSoftmaxOptions options;
  if (valid_lens) options.valid_lens = valid_lens->as<const std::int32_t>();
  if (mask) options.mask = mask->as<const std::uint8_t>();
  masked_softmax(x.floats(), output.result(), options, context());
}

void merge(const TensorArgument& output_a, const TensorArgument& log_sum_exp_a,
           const TensorArgument& output_b, const TensorArgument& log_sum_exp_b,
           const TensorArgument& output, const TensorArgument& log_sum_exp) {
  merge_attention(output_a.floats(), log_sum_exp_a.floats(), output_b.floats(),
                  log_sum_exp_b.floats(), output.result(), log_sum_exp.result(), context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(attention) {
  using emscripten::function;
  using O = AttentionOptions;
  emscripten::class_<O>("AttentionOptions")
      .constructor()
      .function("reset", &reset)
      .property("softcap", &O::softcap)
      .property("causal", &O::causal)
      .function("setScale", &set_scale)
      .function("setDiagonal", &set_diagonal)
      .function("setDiagonalToBottomRight", &set_diagonal_to_bottom_right)
      .function("setWindow", &set_window)
      .function("setDropout", &set_dropout)
      .function("setRelativeKeys", set_tensor<&O::relative_keys, const float>)
      .function("setRelativeValues", set_tensor<&O::relative_values, const float>)
      .function("setAlibiSlopes", set_tensor<&O::alibi_slopes, const float>)
      .function("setT5Bias", &set_t5_bias)
      .function("setBias", set_tensor<&O::bias, const float>)
      .function("setMask", set_tensor<&O::mask, const std::uint8_t>)
      .function("setValidLens", set_tensor<&O::valid_lens, const std::int32_t>)
      .function("setKeyLens", set_tensor<&O::key_lens, const std::int32_t>)
      .function("setCuSeqlens", set_tensor<&O::cu_seqlens, const std::int32_t>)
      .function("setCuSeqlensK", set_tensor<&O::cu_seqlens_k, const std::int32_t>)
      .function("setSinks", set_tensor<&O::sinks, const float>)
      .function("setScaledScores", set_tensor<&O::scaled_scores, float>)
      .function("setCappedScores", set_tensor<&O::capped_scores, float>)
      .function("setBiasedScores", set_tensor<&O::biased_scores, float>)
      .function("setWeights", set_tensor<&O::weights, float>)
      .function("setLogSumExp", set_tensor<&O::log_sum_exp, float>)
      .function("setColumnSums", set_tensor<&O::column_sums, float>);
  function("scaledDotProductAttention", guarded<&attend>, emscripten::allow_raw_pointers());
  function("attendToCache", guarded<&attend_to_cache>, emscripten::allow_raw_pointers());
  function("maskedSoftmax", guarded<&softmax>, emscripten::allow_raw_pointers());
  function("mergeAttention", guarded<&merge>);
}

}  // namespace attn::wasm
