// Attention pooling and additive attention.

#include "pooling.hpp"

#include <emscripten/bind.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "attn/pooling/attention_pooling.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "layers.hpp"
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

AdditiveAttention* make_additive_attention(double query_dim, double key_dim, double num_hiddens,
                                           const FirstWeights& weights) {
  return initialized(std::make_unique<AdditiveAttention>(static_cast<std::int64_t>(query_dim),
                                                         static_cast<std::int64_t>(key_dim),
                                                         static_cast<std::int64_t>(num_hiddens)),
                     weights);
}

void pool_additively(const AdditiveAttention& attention, const TensorArgument& query,
                     const TensorArgument& key, const TensorArgument& value,
                     const TensorArgument& output, bool projected,
                     const AttentionPoolingOptions& options, const LayerCall* call) {
  Intermediates* const intermediates = given(call).intermediates;
  if (projected) {
    attention.forward_projected(query.floats(), key.floats(), value.floats(), output.result(),
                                options, context(), intermediates);
  } else {
    attention.forward(query.floats(), key.floats(), value.floats(), output.result(), options,
                      context(), intermediates);
  }
}

void project_keys(const AdditiveAttention& attention, const TensorArgument& key,
                  const TensorArgument& projected) {
  attention.project_keys(key.floats(), projected.result(), context());
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
  emscripten::class_<AdditiveAttention, emscripten::base<Module>>("AdditiveAttention")
      .constructor(guarded<&make_additive_attention>)
      .function("forward", guarded<&pool_additively>, emscripten::allow_raw_pointers())
      .function("projectKeys", guarded<&project_keys>);
}

}  // namespace attn::wasm
