// The Transformer: layers and stacks of its encoder and decoder.

#include <emscripten/bind.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "arrays.hpp"
#include "attention_layers.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "contributions.hpp"
#include "fields.hpp"
#include "guarded.hpp"

namespace attn::wasm {
namespace {

ArrayOf<TransformerLayerOptions> layers_of(const TransformerEncoderOptions& stack) {
  return ArrayOf<TransformerLayerOptions>(stack.layers);
}

void set_layers(TransformerEncoderOptions& stack, const ArrayOf<TransformerLayerOptions>& layers) {
  stack.layers = emscripten::vecFromJSArray<TransformerLayerOptions>(layers);
}

template <class L, class Options>
L* make_layer(const Options& options, const FirstWeights& weights) {
  return initialized(std::make_unique<L>(options), weights);
}

/// Returns a layer of a stack. The stack still owns the layer.
template <class L>
auto* layer_of(L& stack, double index) {
  using Layer = typename decltype(stack.layers())::value_type;
  return const_cast<Layer*>(&stack.layers()[static_cast<std::size_t>(index)]);
}

/// `cache` may be null.
void encode_by_layer(const TransformerEncoderLayer& layer, const TensorArgument& x,
                     const TensorArgument& output, KeyValueCache* cache, const LayerCall* call) {
  const LayerCall& options = given(call);
  layer.forward(x.elements(), output.result_of_type(),
                {.attention = options.attention,
                 .positions = options.positions,
                 .dropout = options.dropout,
                 .cache = cache,
                 .intermediates = options.intermediates,
                 .interventions = &options.interventions},
                context());
}

KeyValueCache* make_layer_cache(const TransformerEncoderLayer& layer, double batch, double capacity,
                                ElementType type) {
  return new_cache(layer.self_attention(), batch, capacity, type);
}

/// `caches` may be null.
void encode(const TransformerEncoder& encoder, const TensorArgument& x,
            const TensorArgument& output, Caches* caches, const LayerCall* call) {
  const LayerCall& options = given(call);
  TransformerEncoderCall whole{.attention = options.attention,
                               .positions = options.positions,
                               .dropout = options.dropout,
                               .weights = options.weights,
                               .intermediates = options.intermediates,
                               .interventions = &options.interventions};
  if (caches) whole.caches = *caches;
  encoder.forward(x.elements(), output.result_of_type(), whole, context());
}

Sizes contributions(const TransformerEncoder& encoder, const TensorArgument& x,
                    const TensorArgument& direction, double position, const LayerCall* call) {
  const LayerCall& options = given(call);
  return flat(encoder.contributions(
      x.floats(), direction.floats(), static_cast<std::int64_t>(position),
      {.attention = options.attention, .positions = options.positions}, context()));
}

/// Attends to `memory`, the output of an encoder. If `memory` is null, attends to the projected
/// output that the state contains.
template <class L, class Call>
void decode(const L& decoder, const TensorArgument& x, const TensorArgument* memory,
            typename L::State* state, const TensorArgument& output, const LayerCall* call) {
  const LayerCall& options = given(call);
  Call whole{.self_attention = options.attention,
             .cross_attention = options.cross_attention,
             .positions = options.positions,
             .dropout = options.dropout};
  whole.state = state;
  whole.intermediates = options.intermediates;
  if constexpr (std::same_as<L, TransformerDecoder>) {
    whole.self_attention_weights = options.weights;
    whole.cross_attention_weights = options.cross_weights;
  }
  decoder.forward(x.elements(), memory ? memory->elements() : ConstAnyTensor(ConstTensor()),
                  output.result_of_type(), whole, context());
}

template <class L>
typename L::State* start(const L& decoder, const TensorArgument& memory, double capacity,
                         ElementType type) {
  return new typename L::State(
      decoder.start(memory.elements(), static_cast<std::int64_t>(capacity), context(), type));
}

}  // namespace

EMSCRIPTEN_BINDINGS(transformers) {
  using emscripten::allow_raw_pointers;
  using emscripten::base;
  using emscripten::class_;
  using emscripten::value_object;

  using O = TransformerLayerOptions;
  value_object<O>("TransformerLayerOptions")
      .field("dModel", get_number<&O::d_model>, set_number<&O::d_model>)
      .field("numHeads", get_number<&O::num_heads>, set_number<&O::num_heads>)
      .field("dimFeedforward", get_number<&O::dim_feedforward>, set_number<&O::dim_feedforward>)
      .field("activation", &O::activation)
      .field("gatedFeedForward", &O::gated_feed_forward)
      .field("layerNormEps", &O::layer_norm_eps)
      .field("rmsNorm", get_optional<&O::rms_norm>, set_optional<&O::rms_norm>)
      .field("normFirst", &O::norm_first)
      .field("normOutputs", &O::norm_outputs)
      .field("parallelResidual", &O::parallel_residual)
      .field("bias", &O::bias)
      .field("attentionBias", get_flag<&O::attention_bias>, set_flag<&O::attention_bias>)
      .field("attentionOutputBias", get_flag<&O::attention_output_bias>,
             set_flag<&O::attention_output_bias>)
      .field("feedForwardDropout", &O::feed_forward_dropout)
      .field("numKvHeads", get_number<&O::num_kv_heads>, set_number<&O::num_kv_heads>)
      .field("headDim", get_number<&O::head_dim>, set_number<&O::head_dim>)
      .field("qkNorm", get_optional<&O::qk_norm>, set_optional<&O::qk_norm>)
      .field("qkNormAllHeads", &O::qk_norm_all_heads)
      .field("sinks", &O::sinks)
      .field("scale", get_number<&O::scale>, set_number<&O::scale>)
      .field("softcap", &O::softcap)
      .field("window", get_optional<&O::window>, set_optional<&O::window>)
      .field("positions", &O::positions);
  using S = TransformerEncoderOptions;
  emscripten::register_type<ArrayOf<O>>("TransformerLayerOptions[]");
  value_object<S>("TransformerOptions")
      .field("layer", &S::layer)
      .field("numLayers", get_number<&S::num_layers>, set_number<&S::num_layers>)
      .field("finalNorm", &S::final_norm)
      .field("layers", &layers_of, guarded<&set_layers>);

  class_<TransformerEncoderLayer, base<Module>>("TransformerEncoderLayer")
      .constructor(guarded<&make_layer<TransformerEncoderLayer, O>>)
      .function("forward", guarded<&encode_by_layer>, allow_raw_pointers())
      .function("makeCache", guarded<&make_layer_cache>, allow_raw_pointers());
  class_<TransformerEncoder, base<Module>>("TransformerEncoder")
      .constructor(guarded<&make_layer<TransformerEncoder, S>>)
      .function("layer", guarded<&layer_of<TransformerEncoder>>, allow_raw_pointers())
      .function("forward", guarded<&encode>, allow_raw_pointers())
      .function("contributions", guarded<&contributions>, allow_raw_pointers())
      .function("makeCaches", guarded<&new_caches<TransformerEncoder>>, allow_raw_pointers());

  using DecoderLayer = TransformerDecoderLayer;
  class_<DecoderLayer, base<Module>>("TransformerDecoderLayer")
      .constructor(guarded<&make_layer<DecoderLayer, O>>)
      .function("forward", guarded<&decode<DecoderLayer, TransformerDecoderLayerCall>>,
                allow_raw_pointers())
      .function("start", guarded<&start<DecoderLayer>>, allow_raw_pointers());
  class_<TransformerDecoder, base<Module>>("TransformerDecoder")
      .constructor(guarded<&make_layer<TransformerDecoder, S>>)
      .function("layer", guarded<&layer_of<TransformerDecoder>>, allow_raw_pointers())
      .function("forward", guarded<&decode<TransformerDecoder, TransformerDecoderCall>>,
                allow_raw_pointers())
      .function("start", guarded<&start<TransformerDecoder>>, allow_raw_pointers());
}

}  // namespace attn::wasm
