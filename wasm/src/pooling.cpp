// Attention pooling.

#include "pooling.hpp"

#include <emscripten/bind.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "attn/pooling/attention_pooling.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {

ScoringFunction scoring_function(ScoringFunction::Kind kind, float parameter) {
  using Kind = ScoringFunction::Kind;
  const bool given = !std::isnan(parameter);
  const float width = given ? parameter : 1;
  switch (kind) {
    case Kind::kGaussian:
      return ScoringFunction::gaussian(width);
    case Kind::kBoxcar:
      return ScoringFunction::boxcar(width);
    case Kind::kEpanechnikov:
      return ScoringFunction::epanechnikov(width);
    case Kind::kAverage:
      return ScoringFunction::average();
    default:
      return ScoringFunction::scaled_dot(given ? std::optional(parameter) : std::nullopt);
  }
}

namespace {

void reset_pooling(AttentionPoolingOptions& options) { options = {}; }

void pool(const TensorArgument& query, const TensorArgument& key, const TensorArgument& value,
          const TensorArgument& output, ScoringFunction::Kind scoring, float parameter,
          const AttentionPoolingOptions& options) {
  attention_pooling(query.floats(), key.floats(), value.floats(), output.result(),
                    scoring_function(scoring, parameter), options, context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(pooling) {
  using O = AttentionPoolingOptions;
  using Kind = ScoringFunction::Kind;
  emscripten::class_<O>("AttentionPoolingOptions")
      .constructor()
      .function("reset", &reset_pooling)
      .property("hard", &O::hard)
      .function("setMask", set_tensor<&O::mask, const std::uint8_t>)
      .function("setValidLens", set_tensor<&O::valid_lens, const std::int32_t>)
      .function("setScores", set_tensor<&O::scores, float>)
      .function("setWeights", set_tensor<&O::weights, float>);
  emscripten::enum_<Kind>("Scoring")
      .value("scaledDot", Kind::kScaledDot)
      .value("gaussian", Kind::kGaussian)
      .value("boxcar", Kind::kBoxcar)
      .value("epanechnikov", Kind::kEpanechnikov)
      .value("average", Kind::kAverage);
  emscripten::function("attentionPooling", guarded<&pool>);
}

}  // namespace attn::wasm
