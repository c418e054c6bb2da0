// Functions of variables. The tape of the variables records the calls.

#include <emscripten/bind.h>

#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/pooling.hpp"
#include "encodings.hpp"
#include "guarded.hpp"
#include "pooling.hpp"
#include "recording.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

EMSCRIPTEN_DECLARE_VAL_TYPE(Variables)

/// The output of attention and the requested intermediate results.
struct RecordedAttention {
  Variable output;
  Variable biased_scores;
  Variable weights;
  Variable log_sum_exp;
};

Variable add(const Variable& a, const Variable& b) { return a + b; }

Variable multiply(const Variable& a, const Variable& b) { return a * b; }

Variable scale(const Variable& x, float factor) { return factor * x; }

Variable apply_linear(const Variable& x, const Variable& weight, const Variable* bias) {
  return linear(x, weight, given(bias));
}

Variable reshaped(const Variable& x, const Sizes& shape) {
  const auto sizes = emscripten::convertJSArrayToNumberVector<double>(shape);
  return reshape(x, std::vector<std::int64_t>(sizes.begin(), sizes.end()));
}

Variable part(const Variable& x, int dimension, double begin, double end) {
  return slice(x, dimension, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
}

Variable entry(const Variable& x, int dimension, double index) {
  return select(x, dimension, static_cast<std::int64_t>(index));
}

Variable joined(const Variables& parts, int dimension) {
  return concatenate(emscripten::vecFromJSArray<Variable>(parts), dimension);
}

Variable activated(const Variable& x, Activation activation) {
  return apply_activation(x, activation);
}

Variable dropped_out(const Variable& x, const Dropout& dropout) {
  return apply_dropout(x, dropout);
}

/// `valid_lens` and `mask` may be null.
Variable softmax_of(const Variable& x, const TensorArgument* valid_lens,
                    const TensorArgument* mask) {
  MaskedSoftmaxOptions options;
  if (valid_lens) options.valid_lens = valid_lens->as<const std::int32_t>();
  if (mask) options.mask = mask->as<const std::uint8_t>();
  return masked_softmax(x, options);
}

RecordedAttention attend(const Variable& query, const Variable& key, const Variable& value,
                         const AttentionOptions* options, const AttentionVariables* terms,
                         bool need_biased_scores, bool need_weights, bool need_log_sum_exp) {
  RecordedAttention result;
  AttentionIntermediates intermediates;
  if (need_biased_scores) intermediates.scores = &result.biased_scores;
  if (need_weights) intermediates.weights = &result.weights;
  if (need_log_sum_exp) intermediates.log_sum_exp = &result.log_sum_exp;
  result.output =
      scaled_dot_product_attention(query, key, value, given(options), given(terms), intermediates);
  return result;
}

AttentionPart merge(const Variable& output_a, const Variable& log_sum_exp_a,
                    const Variable& output_b, const Variable& log_sum_exp_b) {
  return merge_attention({output_a, log_sum_exp_a}, {output_b, log_sum_exp_b});
}

/// `width` is null unless the kernel's width is learned.
Variable pool(const Variable& query, const Variable& key, const Variable& value,
              ScoringFunction::Kind scoring, float parameter,
              const AttentionPoolingOptions& options, const Variable* width) {
  return attention_pooling(query, key, value, scoring_function(scoring, parameter), options,
                           given(width));
}

Variable rotate(const RotaryEmbedding& rotary, const Variable& x, double start,
                const TensorArgument* positions, double sequence_length, bool inverse,
                double num_heads) {
  return rotary.forward(x, rotary_positions(start, positions, sequence_length, inverse),
                        static_cast<std::int64_t>(num_heads));
}

Variable encode_positions(const Variable& x, const PositionalEncodingOptions& options, double start,
                          const Dropout& dropout) {
  return PositionalEncoding(options).forward(x, start, dropout);
}

}  // namespace

EMSCRIPTEN_BINDINGS(recorded_functions) {
  using emscripten::allow_raw_pointers;
  using emscripten::function;
  emscripten::register_type<Variables>("Variable[]");
  emscripten::class_<AttentionVariables>("AttentionVariables")
      .constructor()
      .property("bias", &AttentionVariables::bias)
      .property("alibiSlopes", &AttentionVariables::alibi_slopes)
      .property("t5Table", &AttentionVariables::t5_table)
      .property("relativeKeys", &AttentionVariables::relative_keys)
      .property("relativeValues", &AttentionVariables::relative_values)
      .property("sinks", &AttentionVariables::sinks);
  emscripten::value_object<RecordedAttention>("RecordedAttention")
      .field("output", &RecordedAttention::output)
      .field("biasedScores", &RecordedAttention::biased_scores)
      .field("weights", &RecordedAttention::weights)
      .field("logSumExp", &RecordedAttention::log_sum_exp);
  emscripten::value_object<AttentionPart>("AttentionPart")
      .field("output", &AttentionPart::output)
      .field("logSumExp", &AttentionPart::log_sum_exp);
  function("recordAdd", guarded<&add>);
  function("recordMultiply", guarded<&multiply>);
  function("recordScale", guarded<&scale>);
  function("recordLinearFunction", guarded<&apply_linear>, allow_raw_pointers());
  function("recordReshape", guarded<&reshaped>);
  function("recordSlice", guarded<&part>);
  function("recordSelect", guarded<&entry>);
  function("recordConcatenate", guarded<&joined>);
  function("recordActivation", guarded<&activated>);
  function("recordDropout", guarded<&dropped_out>);
  function("recordMaskedSoftmax", guarded<&softmax_of>, allow_raw_pointers());
  function("recordAttention", guarded<&attend>, allow_raw_pointers());
  function("recordMergeAttention", guarded<&merge>);
  function("recordAttentionPooling", guarded<&pool>, allow_raw_pointers());
  function("recordPositionalEncoding", guarded<&encode_positions>);
  function("recordRotaryEmbedding", guarded<&rotate>, allow_raw_pointers());
}

}  // namespace attn::wasm
