// Positional encodings, and the score terms that depend on positions.

#include <emscripten/bind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/positions/alibi.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "attn/positions/t5_bias.hpp"
#include "attn/teaching/relative_skew.hpp"
#include "attn/teaching/shift_matrix.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

// Sinusoidal

void write_sinusoidal_encoding(const TensorArgument& output,
                               const SinusoidalEncodingOptions& options) {
  sinusoidal_encoding(output.result(), options, context());
}

void write_sinusoidal_encoding_at(const TensorArgument& positions, const TensorArgument& output,
                                  const SinusoidalPositionsOptions& options) {
  const auto numbers = positions.as<const double>();
  sinusoidal_encoding_at({numbers.data(), static_cast<std::size_t>(numbers.size(0))},
                         output.result(), options, context());
}

void write_sinusoidal_encoding_in_float32(const TensorArgument& encoding,
                                          const TensorArgument& error,
                                          const SinusoidalEncodingOptions& options) {
  sinusoidal_encoding_in_float32(encoding.result(), error.result(), options, context());
}

void write_shift_matrix(const TensorArgument& output, double delta, const ShiftOptions& options) {
  shift_matrix(output.result(), delta, options, context());
}

void shift(const TensorArgument& encoding, double delta, const TensorArgument& output,
           const ShiftOptions& options) {
  apply_shift(encoding.floats(), delta, output.result(), options, context());
}

void add_positional_encoding(const TensorArgument& x, const TensorArgument& output,
                             const PositionalEncodingOptions& options, double start,
                             const Dropout& dropout) {
  PositionalEncoding(options).forward(x.floats(), output.result(), start, dropout, context());
}

// ALiBi and T5

void write_alibi_slopes(const TensorArgument& output) {
  const Tensor slopes = output.result();
  alibi_slopes({slopes.data(), static_cast<std::size_t>(slopes.size(0))});
}

bool has_elements(const Tensor& tensor) { return std::ranges::count(tensor.shape(), 0) == 0; }

/// Writes the sum of the position terms that `options` sets. The queries and keys are zero, so the
/// scores consist only of these terms.
void write_bias(const Tensor& bias, AttentionOptions options) {
  const std::int64_t heads = bias.size(0), keys = bias.size(2);
  const std::int64_t queries = has_elements(bias) ? bias.size(1) : 0;
  const float zero = 0;
  const auto zeros = [&](std::int64_t length) {
    return ConstTensor(&zero, std::array<std::int64_t, 4>{1, heads, length, 1},
                       std::array<std::int64_t, 4>{});
  };
  std::vector<float> output(static_cast<std::size_t>(heads * queries));
  options.biased_scores = Tensor(bias.data(), {1, heads, queries, keys});
  scaled_dot_product_attention(zeros(queries), zeros(keys), zeros(keys),
                               Tensor(output.data(), {1, heads, queries, 1}), options, context());
}

/// `options` must set the diagonal.
void write_alibi_bias(const TensorArgument& output, const AttentionOptions& options) {
  const Tensor bias = output.result();
  if (!has_elements(bias)) return;
  std::vector<float> slopes(static_cast<std::size_t>(bias.size(0)));
  alibi_slopes(slopes);
  AttentionOptions with_slopes = options;
  with_slopes.alibi_slopes = ConstTensor(slopes.data(), {bias.size(0)});
  write_bias(bias, with_slopes);
}

/// `options` must set T5's bias and the diagonal.
void write_t5_bias(const TensorArgument& output, const AttentionOptions& options) {
  write_bias(output.result(), options);
}

/// Replaces each distance by its bucket.
void replace_by_t5_buckets(const TensorArgument& distances, double num_buckets, double max_distance,
                           bool bidirectional) {
  const auto numbers = distances.as<std::int32_t>();
  for (std::int64_t i = 0; i < numbers.size(0); ++i) {
    numbers(i) = static_cast<std::int32_t>(
        t5_bucket(numbers(i), static_cast<std::int64_t>(num_buckets),
                  static_cast<std::int64_t>(max_distance), bidirectional));
  }
}

// Relative

void skew(const TensorArgument& query, const TensorArgument& embeddings,
          const TensorArgument& output, bool bidirectional, float scale) {
  const RelativeSkewOptions options{.bidirectional = bidirectional, .scale = scale};
  relative_skew(query.floats(), embeddings.floats(), output.result(), options, context());
}

void keys_of_skew(const TensorArgument& embeddings, const TensorArgument& output) {
  relative_keys_of_skew(embeddings.floats(), output.result());
}

}  // namespace

EMSCRIPTEN_BINDINGS(positions) {
  using emscripten::function, emscripten::value_object;
  emscripten::enum_<SinusoidalLayout>("SinusoidalLayout")
      .value("interleaved", SinusoidalLayout::kInterleaved)
      .value("concatenated", SinusoidalLayout::kConcatenated);
  value_object<SinusoidalEncodingOptions>("SinusoidalEncodingOptions")
      .field("base", &SinusoidalEncodingOptions::base)
      .field("start", &SinusoidalEncodingOptions::start)
      .field("step", &SinusoidalEncodingOptions::step)
      .field("layout", &SinusoidalEncodingOptions::layout);
  value_object<SinusoidalPositionsOptions>("SinusoidalPositionsOptions")
      .field("base", &SinusoidalPositionsOptions::base)
      .field("layout", &SinusoidalPositionsOptions::layout);
  value_object<ShiftOptions>("ShiftOptions")
      .field("base", &ShiftOptions::base)
      .field("layout", &ShiftOptions::layout);
  value_object<PositionalEncodingOptions>("PositionalEncodingOptions")
      .field("base", &PositionalEncodingOptions::base)
      .field("layout", &PositionalEncodingOptions::layout);
  function("sinusoidalEncoding", guarded<&write_sinusoidal_encoding>);
  function("sinusoidalEncodingAt", guarded<&write_sinusoidal_encoding_at>);
  function("sinusoidalEncodingInFloat32", guarded<&write_sinusoidal_encoding_in_float32>);
  function("shiftMatrix", guarded<&write_shift_matrix>);
  function("applyShift", guarded<&shift>);
  function("positionalEncoding", guarded<&add_positional_encoding>);
  function("alibiSlopes", guarded<&write_alibi_slopes>);
  function("alibiBias", guarded<&write_alibi_bias>);
  function("t5Bias", guarded<&write_t5_bias>);
  function("t5Buckets", guarded<&replace_by_t5_buckets>);
  function("relativeSkew", guarded<&skew>);
  function("relativeKeysOfSkew", guarded<&keys_of_skew>);
}

}  // namespace attn::wasm
