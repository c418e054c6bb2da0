// Layers that compute each row separately.

#include <emscripten/bind.h>

#include <cstdint>
#include <memory>

#include "attn/layers/add_norm.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/rms_norm.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "layers.hpp"

namespace attn::wasm {
namespace {

Linear* make_linear(double in_features, double out_features, bool bias,
                    const FirstWeights& weights) {
  return initialized(std::make_unique<Linear>(static_cast<std::int64_t>(in_features),
                                              static_cast<std::int64_t>(out_features), bias),
                     weights);
}

Linear* make_tied_linear(const Embedding& embedding, bool bias, const FirstWeights& weights) {
  return initialized(std::make_unique<Linear>(embedding, bias, context()), weights);
}

Embedding* make_embedding(const EmbeddingOptions& options, const FirstWeights& weights,
                          float deviation) {
  auto embedding = std::make_unique<Embedding>(options);
  if (weights.init == Init::kNormal) {
    embedding->initialize_normal(weights.random, deviation, context());
  }
  return embedding.release();
}

void look_up(const Embedding& embedding, const TensorArgument& ids, const TensorArgument& output) {
  embedding.forward(ids.as<const std::int32_t>(), output.result_of_type(), context());
}

template <class L, class Options>
L* make_norm(double width, const Options& options) {
  return new L(static_cast<std::int64_t>(width), options);
}

void normalize_sum(const LayerNorm& norm, const TensorArgument& x, const TensorArgument& y,
                   const TensorArgument& output) {
  norm.forward_sum(x.elements(), y.elements(), output.result_of_type(), context());
}

void add_and_normalize(const AddNorm& norm, const TensorArgument& x, const TensorArgument& y,
                       const TensorArgument& output, const LayerCall* call) {
  norm.forward(x.floats(), y.floats(), output.result(), given(call).dropout, context(),
               given(call).intermediates);
}

template <class L, class Options>
L* make_feed_forward(const Options& options, const FirstWeights& weights) {
  return initialized(std::make_unique<L>(options), weights);
}

template <class L>
void feed_forward(const L& layer, const TensorArgument& x, const TensorArgument& output,
                  const LayerCall* call) {
  layer.forward(x.elements(), output.result_of_type(), given(call).dropout, context(),
                given(call).intermediates);
}

}  // namespace

EMSCRIPTEN_BINDINGS(rows) {
  using emscripten::allow_raw_pointers;
  using emscripten::base;
  using emscripten::class_;
  using emscripten::value_object;

  class_<Linear, base<Module>>("Linear")
      .constructor(guarded<&make_linear>)
      .constructor(guarded<&make_tied_linear>)
      .function("forward", guarded<&forward<Linear>>);

  using E = EmbeddingOptions;
  value_object<E>("EmbeddingOptions")
      .field("numEmbeddings", get_number<&E::num_embeddings>, set_number<&E::num_embeddings>)
      .field("embeddingDim", get_number<&E::embedding_dim>, set_number<&E::embedding_dim>)
      .field("paddingIdx", get_number<&E::padding_idx>, set_number<&E::padding_idx>)
      .field("scaleBySqrtDim", &E::scale_by_sqrt_dim);
  class_<Embedding, base<Module>>("Embedding")
      .constructor(guarded<&make_embedding>)
      .function("forward", guarded<&look_up>);

  value_object<LayerNormOptions>("LayerNormOptions")
      .field("elementwiseAffine", &LayerNormOptions::elementwise_affine)
      .field("bias", &LayerNormOptions::bias)
      .field("eps", &LayerNormOptions::eps);
  class_<LayerNorm, base<Module>>("LayerNorm")
      .constructor(guarded<&make_norm<LayerNorm, LayerNormOptions>>)
      .function("forward", guarded<&forward<LayerNorm>>)
      .function("forwardSum", guarded<&normalize_sum>);
  class_<AddNorm, base<Module>>("AddNorm")
      .constructor(guarded<&make_norm<AddNorm, LayerNormOptions>>)
      .function("forward", guarded<&add_and_normalize>, allow_raw_pointers());

  value_object<RmsNormOptions>("RMSNormOptions")
      .field("elementwiseAffine", &RmsNormOptions::elementwise_affine)
      .field("zeroCentredWeight", &RmsNormOptions::zero_centred_weight)
      .field("eps", &RmsNormOptions::eps);
  class_<RmsNorm, base<Module>>("RMSNorm")
      .constructor(guarded<&make_norm<RmsNorm, RmsNormOptions>>)
      .function("forward", guarded<&forward<RmsNorm>>);

  using F = FeedForwardOptions;
  value_object<F>("FeedForwardOptions")
      .field("dModel", get_number<&F::d_model>, set_number<&F::d_model>)
      .field("dimFeedforward", get_number<&F::dim_feedforward>, set_number<&F::dim_feedforward>)
      .field("outFeatures", get_number<&F::out_features>, set_number<&F::out_features>)
      .field("activation", &F::activation)
      .field("bias", &F::bias);
  class_<FeedForward, base<Module>>("FeedForward")
      .constructor(guarded<&make_feed_forward<FeedForward, F>>)
      .function("forward", guarded<&feed_forward<FeedForward>>, allow_raw_pointers());

  using G = GatedFeedForwardOptions;
  value_object<G>("GatedFeedForwardOptions")
      .field("dModel", get_number<&G::d_model>, set_number<&G::d_model>)
      .field("dimFeedforward", get_number<&G::dim_feedforward>, set_number<&G::dim_feedforward>)
      .field("activation", &G::activation)
      .field("bias", &G::bias);
  class_<GatedFeedForward, base<Module>>("GatedFeedForward")
      .constructor(guarded<&make_feed_forward<GatedFeedForward, G>>)
      .function("forward", guarded<&feed_forward<GatedFeedForward>>, allow_raw_pointers());
}

}  // namespace attn::wasm
