// What all layers have, and those that stand by themselves.

#include "layers.hpp"

#include <memory>
#include <vector>

#include "arguments.hpp"
#include "attn/layers/multi_head_attention.hpp"

namespace attn::wasm {

RmsNormOptions rms_norm_options(Arguments& a) {
  RmsNormOptions options;
  options.elementwise_affine = a.flag();
  options.zero_centred_weight = a.flag();
  options.eps = a.real();
  return options;
}

std::optional<RmsNormOptions> optional_rms_norm(Arguments& a) {
  return a.flag() ? std::optional(rms_norm_options(a)) : std::nullopt;
}

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

// Multi-head attention

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
  operation("makeMultiHeadAttention", &make_multi_head_attention);
  operation("forwardMultiHeadAttention", &run_multi_head_attention);
}

}  // namespace attn::wasm
