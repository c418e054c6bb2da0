// Learned and rotary positional encodings.

#include "encodings.hpp"

#include <emscripten/bind.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "arrays.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "layers.hpp"

namespace attn::wasm {

RotaryPositions rotary_positions(double start, const TensorArgument* positions,
                                 double sequence_length, bool inverse) {
  RotaryPositions result{.start = start, .inverse = inverse};
  if (positions) result.positions = positions->as<const double>();
  if (!std::isnan(sequence_length)) result.sequence_length = sequence_length;
  return result;
}

namespace {

// Learned

LearnedPositionalEncoding* make_learned_positional_encoding(double max_length, double d_model,
                                                            double seed, float deviation) {
  auto encoding = std::make_unique<LearnedPositionalEncoding>(static_cast<std::int64_t>(max_length),
                                                              static_cast<std::int64_t>(d_model));
  encoding->initialize_normal(static_cast<std::uint64_t>(seed), deviation, context());
  return encoding.release();
}

void add_learned_positions(const LearnedPositionalEncoding& encoding, const TensorArgument& x,
                           const TensorArgument& output, double start, const Dropout& dropout) {
  encoding.forward(x.floats(), output.result(), static_cast<std::int64_t>(start), dropout,
                   context());
}

// Rotary

void reset_rotary(RotaryEmbeddingOptions& options) { options = {}; }

template <class Rule>
void set_scaling(RotaryEmbeddingOptions& options, const Rule& rule) {
  options.scaling = rule;
}

RotaryEmbedding* make_rotary_embedding(const RotaryEmbeddingOptions& options) {
  return new RotaryEmbedding(options);
}

Sizes frequencies_of(const RotaryEmbedding& rotary, double sequence_length) {
  return Sizes(rotary.frequencies(sequence_length));
}

void rotate(const RotaryEmbedding& rotary, const TensorArgument& x, const TensorArgument& output,
            double start, const TensorArgument* positions, double sequence_length, bool inverse) {
  rotary.forward(x.elements(), output.result_of_type(),
                 rotary_positions(start, positions, sequence_length, inverse), context());
}

void write_tables(const RotaryEmbedding& rotary, const TensorArgument& cos,
                  const TensorArgument& sin, double start, const TensorArgument* positions,
                  double sequence_length, bool inverse) {
  rotary.tables(cos.result(), sin.result(),
                rotary_positions(start, positions, sequence_length, inverse), context());
}

/// If `position_ids` is null, row i of a sequence uses row i of `cos` and `sin`.
void rotate_by_tables(const TensorArgument& x, const TensorArgument& cos, const TensorArgument& sin,
                      const TensorArgument& output, const TensorArgument* position_ids,
                      RotaryPairing pairing, double rotary_dim, bool inverse) {
  RotaryCacheOptions options{
      .pairing = pairing, .rotary_dim = static_cast<std::int64_t>(rotary_dim), .inverse = inverse};
  std::vector<std::int64_t> rows;
  if (position_ids) {
    const auto ids = position_ids->as<const double>();
    const auto size = std::accumulate(ids.shape().begin(), ids.shape().end(), std::int64_t{1},
                                      std::multiplies<>());
    rows.assign(ids.data(), ids.data() + size);
    options.position_ids = {rows.data(), ids.shape()};
  }
  apply_rotary_embedding(x.elements(), cos.floats(), sin.floats(), output.result_of_type(), options,
                         context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(encodings) {
  using emscripten::allow_raw_pointers;
  using emscripten::class_;
  using emscripten::value_object;

  class_<LearnedPositionalEncoding, emscripten::base<Module>>("LearnedPositionalEncoding")
      .constructor(guarded<&make_learned_positional_encoding>)
      .function("forward", guarded<&add_learned_positions>);

  using Linear = LinearRotaryScaling;
  value_object<Linear>("LinearRotaryScaling").field("factor", &Linear::factor);
  using Dynamic = DynamicNtkRotaryScaling;
  value_object<Dynamic>("DynamicNtkRotaryScaling")
      .field("factor", &Dynamic::factor)
      .field("maxPositionEmbeddings", get_number<&Dynamic::max_position_embeddings>,
             set_number<&Dynamic::max_position_embeddings>);
  using Yarn = YarnRotaryScaling;
  value_object<Yarn>("YarnRotaryScaling")
      .field("factor", &Yarn::factor)
      .field("originalMaxPositionEmbeddings", get_number<&Yarn::original_max_position_embeddings>,
             set_number<&Yarn::original_max_position_embeddings>)
      .field("attentionFactor", get_number<&Yarn::attention_factor>,
             set_number<&Yarn::attention_factor>)
      .field("betaFast", &Yarn::beta_fast)
      .field("betaSlow", &Yarn::beta_slow)
      .field("mscale", get_number<&Yarn::mscale>, set_number<&Yarn::mscale>)
      .field("mscaleAllDim", get_number<&Yarn::mscale_all_dim>, set_number<&Yarn::mscale_all_dim>)
      .field("truncate", &Yarn::truncate);
  using Llama3 = Llama3RotaryScaling;
  value_object<Llama3>("Llama3RotaryScaling")
      .field("factor", &Llama3::factor)
      .field("lowFreqFactor", &Llama3::low_freq_factor)
      .field("highFreqFactor", &Llama3::high_freq_factor)
      .field("originalMaxPositionEmbeddings", get_number<&Llama3::original_max_position_embeddings>,
             set_number<&Llama3::original_max_position_embeddings>);
  using Proportional = ProportionalRotaryScaling;
  value_object<Proportional>("ProportionalRotaryScaling")
      .field("partialRotaryFactor", &Proportional::partial_rotary_factor)
      .field("factor", &Proportional::factor);
  using Long = LongRotaryScaling;
  value_object<Long>("LongRotaryScaling")
      .field("shortFactor", get_array<&Long::short_factor>, set_array<&Long::short_factor>)
      .field("longFactor", get_array<&Long::long_factor>, set_array<&Long::long_factor>)
      .field("originalMaxPositionEmbeddings", get_number<&Long::original_max_position_embeddings>,
             set_number<&Long::original_max_position_embeddings>)
      .field("factor", &Long::factor)
      .field("attentionFactor", get_number<&Long::attention_factor>,
             set_number<&Long::attention_factor>);

  emscripten::enum_<RotaryPairing>("RotaryPairing")
      .value("interleaved", RotaryPairing::kInterleaved)
      .value("halfSplit", RotaryPairing::kHalfSplit);
  emscripten::enum_<RotaryAxes>("RotaryAxes")
      .value("sections", RotaryAxes::kSections)
      .value("interleaved", RotaryAxes::kInterleaved)
      .value("axial", RotaryAxes::kAxial);
  using O = RotaryEmbeddingOptions;
  class_<O>("RotaryEmbeddingOptions")
      .constructor()
      .function("reset", &reset_rotary)
      .property("rotaryDim", get_number<&O::rotary_dim>, set_number<&O::rotary_dim>)
      .property("pairing", &O::pairing)
      .property("base", &O::base)
      .function("setLinearScaling", &set_scaling<Linear>)
      .function("setDynamicScaling", &set_scaling<Dynamic>)
      .function("setYarnScaling", &set_scaling<Yarn>)
      .function("setLlama3Scaling", &set_scaling<Llama3>)
      .function("setProportionalScaling", &set_scaling<Proportional>)
      .function("setLongScaling", guarded<&set_scaling<Long>>)
      .function("setFrequencies", set_array<&O::frequencies>)
      .function("setSections", set_array<&O::sections>)
      .property("axes", &O::axes);

  class_<RotaryEmbedding>("RotaryEmbedding")
      .constructor(guarded<&make_rotary_embedding>)
      .function("attentionFactor", &RotaryEmbedding::attention_factor)
      .function("frequencies", guarded<&frequencies_of>)
      .function("forward", guarded<&rotate>, allow_raw_pointers())
      .function("tables", guarded<&write_tables>, allow_raw_pointers());
  emscripten::function("applyRotaryEmbedding", guarded<&rotate_by_tables>, allow_raw_pointers());
}

}  // namespace attn::wasm
