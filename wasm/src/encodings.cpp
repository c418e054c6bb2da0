// Learned and rotary positions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "arguments.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/positions/rotary_embedding.hpp"

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

}  // namespace

EMSCRIPTEN_BINDINGS(encodings) {
  operation("makeLearnedPositionalEncoding", &make_learned_positional_encoding);
  operation("forwardLearnedPositionalEncoding", &run_learned_positional_encoding);
  operation("makeRotaryEmbedding", &make_rotary_embedding);
  operation("deleteRotaryEmbedding", &delete_rotary_embedding);
  operation("rotaryFrequencies", &rotary_frequencies);
  operation("rotaryTables", &rotary_tables);
  operation("forwardRotaryEmbedding", &run_rotary_embedding);
  operation("applyRotaryEmbedding", &run_apply_rotary_embedding);
}

}  // namespace attn::wasm
