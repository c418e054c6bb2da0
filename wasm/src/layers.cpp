// What all layers have, and those that stand by themselves.

#include <memory>
#include <vector>

#include "arguments.hpp"
#include "attn/io/state_dict.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "validation.hpp"

namespace attn::wasm {

AttentionPositions attention_positions(Arguments& a) {
  AttentionPositions positions;
  if (a.flag()) positions.rotary = rotary_options(a);
  positions.alibi = a.flag();
  if (a.flag()) {
    T5BiasOptions bias;
    bias.num_buckets = a.integer();
    bias.max_distance = a.integer();
    bias.bidirectional = a.flag();
    positions.t5_bias = bias;
  }
  positions.max_relative_distance = a.optional_integer();
  return positions;
}

namespace {

// Any layer

void delete_layer(Arguments& a) { delete &a.object<Module>(); }

void parameter_names(Arguments& a) { a.give(a.object<Module>().parameter_names()); }

void intermediate_names(Arguments& a) { a.give(a.object<Module>().intermediate_names()); }

void get_parameter(Arguments& a) {
  const auto& layer = a.object<Module>();
  const std::string_view name = a.text();
  if (layer.parameter_type(name) == ElementType::kFloat32) return a.give(layer.parameter(name));
  // Until the next call of this kind.
  static std::vector<float> widened;
  const auto shape = layer.parameter_shape(name);
  widened.clear();
  widened.shrink_to_fit();
  widened.resize(validation::product(name, shape));
  const Tensor values(widened.data(), shape);
  layer.read_parameter(name, values, context());
  a.give(ConstTensor(values));
}

void set_parameter(Arguments& a) {
  auto& layer = a.object<Module>();
  const std::string_view name = a.text();
  layer.set_parameter(name, a.floats(), context());
}

// Multi-head attention

enum class Init { kXavier, kIdentity, kZeros };

void make_multi_head_attention(Arguments& a) {
  MultiHeadAttentionOptions options;
  options.d_model = a.integer();
  options.num_heads = a.integer();
  options.num_kv_heads = a.integer();
  options.head_dim = a.optional_integer();
  options.key_dim = a.integer();
  options.value_dim = a.integer();
  options.bias = a.flag();
  options.output_bias = a.flag();
  options.qk_norm = optional_rms_norm(a);
  options.qk_norm_all_heads = a.flag();
  options.sinks = a.flag();
  options.scale = a.optional_real();
  options.softcap = a.real();
  options.window = optional_window(a);
  options.positions = attention_positions(a);
  auto attention = std::make_unique<MultiHeadAttention>(options);
  const auto init = a.choice<Init>();
  const RandomStream random = a.random();
  if (init == Init::kXavier) attention->initialize_xavier(random, context());
  if (init == Init::kIdentity) attention->initialize_identity(context());
  a.give_layer(attention.release());
}

void run_multi_head_attention(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const ConstAnyTensor query = a.elements(), key = a.elements(), value = a.elements();
  const AnyTensor output = a.result_of_type();
  const MultiHeadAttentionCall call{.attention = attention_options(a),
                                    .positions = a.positions(),
                                    .key_positions = a.positions(),
                                    .intermediates = a.intermediates()};
  attention.forward(query, key, value, output, call, context());
  a.give_intermediates();
}

}  // namespace

EMSCRIPTEN_BINDINGS(layers) {
  operation("deleteLayer", &delete_layer);
  operation("parameterNames", &parameter_names);
  operation("intermediateNames", &intermediate_names);
  operation("parameter", &get_parameter);
  operation("setParameter", &set_parameter);
  operation("makeMultiHeadAttention", &make_multi_head_attention);
  operation("forwardMultiHeadAttention", &run_multi_head_attention);
}

}  // namespace attn::wasm
