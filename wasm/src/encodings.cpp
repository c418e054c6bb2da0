// Positions, tokens, and the comparison of architectures.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "attn/teaching/architecture_costs.hpp"
#include "attn/teaching/ngram_embedding.hpp"
#include "attn/teaching/shift_matrix.hpp"

namespace attn::wasm {

namespace {

RotaryScaling rotary_scaling(Arguments& a) {
  switch (a.choice<int>()) {
    case 1:
      return LinearRotaryScaling{.factor = a.number()};
    case 2: {
      DynamicNtkRotaryScaling scaling;
      scaling.factor = a.number();
      scaling.max_position_embeddings = a.integer();
      return scaling;
    }
    case 3: {
      YarnRotaryScaling scaling;
      scaling.factor = a.number();
      scaling.original_max_position_embeddings = a.integer();
      scaling.attention_factor = a.optional_number();
      scaling.beta_fast = a.number();
      scaling.beta_slow = a.number();
      scaling.mscale = a.optional_number();
      scaling.mscale_all_dim = a.optional_number();
      scaling.truncate = a.flag();
      return scaling;
    }
    case 4: {
      Llama3RotaryScaling scaling;
      scaling.factor = a.number();
      scaling.low_freq_factor = a.number();
      scaling.high_freq_factor = a.number();
      scaling.original_max_position_embeddings = a.integer();
      return scaling;
    }
    case 5: {
      ProportionalRotaryScaling scaling;
      scaling.partial_rotary_factor = a.number();
      scaling.factor = a.number();
      return scaling;
    }
    case 6: {
      LongRotaryScaling scaling;
      const auto short_factor = a.span<double>(), long_factor = a.span<double>();
      scaling.short_factor.assign(short_factor.begin(), short_factor.end());
      scaling.long_factor.assign(long_factor.begin(), long_factor.end());
      scaling.original_max_position_embeddings = a.integer();
      scaling.factor = a.number();
      scaling.attention_factor = a.optional_number();
      return scaling;
    }
    default:
      return {};
  }
}

}  // namespace

RotaryEmbeddingOptions rotary_options(Arguments& a) {
  RotaryEmbeddingOptions options;
  options.rotary_dim = a.integer();
  options.pairing = a.choice<RotaryPairing>();
  options.base = a.number();
  options.scaling = rotary_scaling(a);
  const auto frequencies = a.span<double>();
  options.frequencies.assign(frequencies.begin(), frequencies.end());
  const auto sections = a.span<std::int32_t>();
  options.sections.assign(sections.begin(), sections.end());
  options.axes = a.choice<RotaryAxes>();
  return options;
}

RotaryPositions rotary_positions(Arguments& a) {
  RotaryPositions positions;
  positions.start = a.number();
  positions.positions = a.tensor<const double>();
  positions.sequence_length = a.optional_number();
  positions.inverse = a.flag();
  return positions;
}

namespace {

// Sinusoidal

SinusoidalEncodingOptions sinusoidal_options(Arguments& a) {
  SinusoidalEncodingOptions options;
  options.base = a.number();
  options.layout = a.choice<SinusoidalLayout>();
  options.start = a.number();
  options.step = a.number();
  return options;
}

void run_sinusoidal_encoding(Arguments& a) {
  const Tensor output = a.result();
  sinusoidal_encoding(output, sinusoidal_options(a), context());
}

void run_sinusoidal_encoding_at(Arguments& a) {
  const auto positions = a.span<double>();
  const Tensor output = a.result();
  SinusoidalPositionsOptions options;
  options.base = a.number();
  options.layout = a.choice<SinusoidalLayout>();
  sinusoidal_encoding_at(positions, output, options, context());
}

void run_sinusoidal_encoding_in_float32(Arguments& a) {
  const Tensor encoding = a.result(), error = a.result();
  sinusoidal_encoding_in_float32(encoding, error, sinusoidal_options(a), context());
}

ShiftOptions shift_options(Arguments& a) {
  ShiftOptions options;
  options.base = a.number();
  options.layout = a.choice<SinusoidalLayout>();
  return options;
}

void run_shift_matrix(Arguments& a) {
  const Tensor output = a.result();
  const double delta = a.number();
  shift_matrix(output, delta, shift_options(a), context());
}

void run_apply_shift(Arguments& a) {
  const ConstTensor encoding = a.floats();
  const Tensor output = a.result();
  const double delta = a.number();
  apply_shift(encoding, delta, output, shift_options(a), context());
}

void run_positional_encoding(Arguments& a) {
  const ConstTensor x = a.floats();
  const Tensor output = a.result();
  PositionalEncodingOptions options;
  options.base = a.number();
  options.layout = a.choice<SinusoidalLayout>();
  const double start = a.number();
  PositionalEncoding(options).forward(x, output, start, a.dropout(), context());
}

// Learned

void make_learned_positional_encoding(Arguments& a) {
  const std::int64_t max_length = a.integer(), d_model = a.integer();
  auto encoding = std::make_unique<LearnedPositionalEncoding>(max_length, d_model);
  const std::uint64_t seed = a.integer<std::uint64_t>();
  encoding->initialize_normal(seed, a.real(), context());
  a.give_layer(encoding.release());
}

void run_learned_positional_encoding(Arguments& a) {
  const auto& encoding = a.layer<LearnedPositionalEncoding>();
  const ConstTensor x = a.floats();
  const Tensor output = a.result();
  const std::int64_t start = a.integer();
  encoding.forward(x, output, start, a.dropout(), context());
}

// Rotary

/// Gives its address, the attention factor, and how many frequencies it has.
void make_rotary_embedding(Arguments& a) {
  const auto* rotary = new RotaryEmbedding(rotary_options(a));
  a.give(static_cast<const void*>(rotary));
  a.give(rotary->attention_factor());
}

void delete_rotary_embedding(Arguments& a) { delete &a.object<RotaryEmbedding>(); }

void rotary_frequencies(Arguments& a) {
  const auto& rotary = a.object<RotaryEmbedding>();
  const double sequence_length = a.number();
  const auto output = a.tensor<double>();
  std::ranges::copy(rotary.frequencies(sequence_length), output.data());
}

void run_rotary_embedding(Arguments& a) {
  const auto& rotary = a.object<RotaryEmbedding>();
  const ConstAnyTensor x = a.elements();
  const AnyTensor output = a.result_of_type();
  rotary.forward(x, output, rotary_positions(a), context());
}

void rotary_tables(Arguments& a) {
  const auto& rotary = a.object<RotaryEmbedding>();
  const Tensor cos = a.result(), sin = a.result();
  rotary.tables(cos, sin, rotary_positions(a), context());
}

void run_apply_rotary_embedding(Arguments& a) {
  const ConstAnyTensor x = a.elements();
  const ConstTensor cos = a.floats(), sin = a.floats();
  const AnyTensor output = a.result_of_type();
  RotaryCacheOptions options;
  const auto rows = a.tensor<const double>();
  std::vector<std::int64_t> position_ids;
  if (!rows.is_none()) {
    const auto size = std::accumulate(rows.shape().begin(), rows.shape().end(), std::int64_t{1},
                                      std::multiplies<>());
    position_ids.assign(rows.data(), rows.data() + size);
    options.position_ids = {position_ids.data(), rows.shape()};
  }
  options.pairing = a.choice<RotaryPairing>();
  options.rotary_dim = a.integer();
  options.inverse = a.flag();
  apply_rotary_embedding(x, cos, sin, output, options, context());
}

// Tokens

void run_ngram_embedding(Arguments& a) {
  std::vector<std::string_view> tokens(static_cast<std::size_t>(a.integer()));
  for (std::string_view& token : tokens) token = a.text();
  const Tensor output = a.result();
  NgramEmbeddingOptions options;
  options.seed = a.integer<std::uint64_t>();
  options.min_n = a.integer<int>();
  options.max_n = a.integer<int>();
  ngram_embedding(tokens, output, options, context());
}

// Architectures

void give_costs(Arguments& a, const ArchitectureCosts& costs) {
  a.give(static_cast<double>(costs.multiply_adds));
  a.give(static_cast<double>(costs.sequential_operations));
  a.give(costs.max_path_length ? static_cast<double>(*costs.max_path_length) : NAN);
}

void run_convolution_costs(Arguments& a) {
  const std::int64_t n = a.integer(), d = a.integer();
  give_costs(a, convolution_costs(n, d, a.integer()));
}

void run_dilated_convolution_costs(Arguments& a) {
  const std::int64_t n = a.integer(), d = a.integer();
  give_costs(a, dilated_convolution_costs(n, d, a.integer()));
}

void run_recurrent_costs(Arguments& a) {
  const std::int64_t n = a.integer(), d = a.integer();
  give_costs(a, recurrent_costs(n, d, a.integer()));
}

void run_self_attention_costs(Arguments& a) {
  const std::int64_t n = a.integer(), d = a.integer();
  give_costs(a, self_attention_costs(n, d, a.flag()));
}

void run_window_attention_costs(Arguments& a) {
  const std::int64_t n = a.integer(), d = a.integer(), left = a.integer(), right = a.integer();
  give_costs(a, window_attention_costs(n, d, left, right, a.flag()));
}

}  // namespace

EMSCRIPTEN_BINDINGS(encodings) {
  operation("sinusoidalEncoding", &run_sinusoidal_encoding);
  operation("sinusoidalEncodingAt", &run_sinusoidal_encoding_at);
  operation("sinusoidalEncodingInFloat32", &run_sinusoidal_encoding_in_float32);
  operation("shiftMatrix", &run_shift_matrix);
  operation("applyShift", &run_apply_shift);
  operation("positionalEncoding", &run_positional_encoding);
  operation("makeLearnedPositionalEncoding", &make_learned_positional_encoding);
  operation("forwardLearnedPositionalEncoding", &run_learned_positional_encoding);
  operation("makeRotaryEmbedding", &make_rotary_embedding);
  operation("deleteRotaryEmbedding", &delete_rotary_embedding);
  operation("rotaryFrequencies", &rotary_frequencies);
  operation("rotaryTables", &rotary_tables);
  operation("forwardRotaryEmbedding", &run_rotary_embedding);
  operation("applyRotaryEmbedding", &run_apply_rotary_embedding);
  operation("ngramEmbedding", &run_ngram_embedding);
  operation("convolutionCosts", &run_convolution_costs);
  operation("dilatedConvolutionCosts", &run_dilated_convolution_costs);
  operation("recurrentCosts", &run_recurrent_costs);
  operation("selfAttentionCosts", &run_self_attention_costs);
  operation("windowAttentionCosts", &run_window_attention_costs);
}

}  // namespace attn::wasm
