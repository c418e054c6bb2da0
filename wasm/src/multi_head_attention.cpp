#include "attn/layers/multi_head_attention.hpp"

#include <emscripten/bind.h>

#include <memory>

#include "attention_layers.hpp"
#include "fields.hpp"
#include "guarded.hpp"

namespace attn::wasm {
namespace {

MultiHeadAttention* make_attention(const MultiHeadAttentionOptions& options,
                                   const FirstWeights& weights) {
  auto attention = std::make_unique<MultiHeadAttention>(options);
  if (weights.init == Init::kIdentity) attention->initialize_identity(context());
  return initialized(std::move(attention), weights);
}

/// `cache` may be null.
void attend(const MultiHeadAttention& attention, const TensorArgument& query,
            const TensorArgument& key, const TensorArgument& value, const TensorArgument& output,
            KeyValueCache* cache, const LayerCall* call) {
  const LayerCall& options = given(call);
  attention.forward(query.elements(), key.elements(), value.elements(), output.result_of_type(),
                    {.attention = options.attention,
                     .positions = options.positions,
                     .key_positions = options.key_positions,
                     .cache = cache,
                     .intermediates = options.intermediates,
                     .interventions = &options.interventions},
                    context());
}

void append(const MultiHeadAttention& attention, const TensorArgument& key,
            const TensorArgument& value, KeyValueCache& cache, const TensorArgument* positions) {
  attention.append(key.elements(), value.elements(), cache, context(),
                   positions ? positions->as<const double>() : TensorView<const double>());
}

void attend_to_cache(const MultiHeadAttention& attention, const TensorArgument& query,
                     const KeyValueCache& cache, const TensorArgument& output,
                     const LayerCall* call) {
  const LayerCall& options = given(call);
  attention.attend(query.elements(), cache, output.result_of_type(), options.attention, context(),
                   options.intermediates, options.positions);
}

}  // namespace

EMSCRIPTEN_BINDINGS(multi_head_attention) {
  using emscripten::allow_raw_pointers;
  using emscripten::register_type;
  using emscripten::value_object;

  value_object<Window>("Window")
      .field("left", get_number<&Window::left>, set_number<&Window::left>)
      .field("right", get_number<&Window::right>, set_number<&Window::right>);
  using T = T5BiasOptions;
  value_object<T>("T5BiasOptions")
      .field("numBuckets", get_number<&T::num_buckets>, set_number<&T::num_buckets>)
      .field("maxDistance", get_number<&T::max_distance>, set_number<&T::max_distance>)
      .field("bidirectional", &T::bidirectional);
  register_type<OptionalOf<Window>>("Window | undefined");
  register_type<OptionalOf<T>>("T5BiasOptions | undefined");
  register_type<OptionalOf<RotaryEmbeddingOptions>>("RotaryEmbeddingOptions | undefined");
  register_type<OptionalOf<RmsNormOptions>>("RMSNormOptions | undefined");

  using P = AttentionPositions;
  value_object<P>("AttentionPositions")
      .field("rotary", get_optional<&P::rotary>, set_optional<&P::rotary>)
      .field("alibi", &P::alibi)
      .field("t5Bias", get_optional<&P::t5_bias>, set_optional<&P::t5_bias>)
      .field("maxRelativeDistance", get_number<&P::max_relative_distance>,
             set_number<&P::max_relative_distance>);

  using O = MultiHeadAttentionOptions;
  value_object<O>("MultiHeadAttentionOptions")
      .field("dModel", get_number<&O::d_model>, set_number<&O::d_model>)
      .field("numHeads", get_number<&O::num_heads>, set_number<&O::num_heads>)
      .field("numKvHeads", get_number<&O::num_kv_heads>, set_number<&O::num_kv_heads>)
      .field("headDim", get_number<&O::head_dim>, set_number<&O::head_dim>)
      .field("keyDim", get_number<&O::key_dim>, set_number<&O::key_dim>)
      .field("valueDim", get_number<&O::value_dim>, set_number<&O::value_dim>)
      .field("bias", &O::bias)
      .field("outputBias", get_flag<&O::output_bias>, set_flag<&O::output_bias>)
      .field("qkNorm", get_optional<&O::qk_norm>, set_optional<&O::qk_norm>)
      .field("qkNormAllHeads", &O::qk_norm_all_heads)
      .field("positions", &O::positions)
      .field("sinks", &O::sinks)
      .field("scale", get_number<&O::scale>, set_number<&O::scale>)
      .field("softcap", &O::softcap)
      .field("window", get_optional<&O::window>, set_optional<&O::window>);

  emscripten::class_<MultiHeadAttention, emscripten::base<Module>>("MultiHeadAttention")
      .constructor(guarded<&make_attention>)
      .function("forward", guarded<&attend>, allow_raw_pointers())
      .function("makeCache", guarded<&new_cache>, allow_raw_pointers())
      .function("append", guarded<&append>, allow_raw_pointers())
      .function("attend", guarded<&attend_to_cache>, allow_raw_pointers());
}

}  // namespace attn::wasm
