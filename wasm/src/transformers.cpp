// Layers that attend to what they keep: multi-head attention with a cache, the Transformer, and
// Bahdanau's decoder.

#include <span>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "states.hpp"

namespace attn::wasm {
namespace {

/// What decoding keeps; JavaScript owns it.
template <class T, class... A>
void give_new(Arguments& a, A&&... args) {
  a.give(static_cast<const void*>(new T(std::forward<A>(args)...)));
}

template <class T>
void remove(Arguments& a) {
  delete &a.object<T>();
}

void length_of_state(Arguments& a) { a.give(static_cast<double>(a.object<State>().length())); }

void truncate_state(Arguments& a) {
  auto& state = a.object<State>();
  state.truncate(a.integer());
}

// Key/value cache

void make_cache(Arguments& a) {
  const std::int64_t batch = a.integer(), heads = a.integer(), head_dim = a.integer(),
                     value_dim = a.integer();
  const std::int64_t capacity = a.integer();
  give_state(a,
             KeyValueCache(batch, heads, head_dim, value_dim, capacity, a.choice<ElementType>()));
}

void capacity_of_cache(Arguments& a) {
  a.give(static_cast<double>(state_of<KeyValueCache>(a, "cache").capacity()));
}

void read_cached(Arguments& a) {
  const auto& cache = state_of<KeyValueCache>(a, "cache");
  const bool values = a.flag();
  if (values) {
    cache.read_values(a.result());
  } else {
    cache.read_keys(a.result());
  }
}

void append_to_cache(Arguments& a) {
  auto& cache = state_of<KeyValueCache>(a, "cache");
  const ConstAnyTensor key = a.elements();
  cache.append(key, a.elements());
}

// Multi-head attention

void make_attention_cache(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const std::int64_t batch = a.integer(), capacity = a.integer();
  give_state(a, attention.make_cache(batch, capacity, a.choice<ElementType>()));
}

void run_with_cache(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const ConstAnyTensor query = a.elements(), key = a.elements(), value = a.elements();
  const AnyTensor output = a.result_of_type();
  auto& cache = state_of<KeyValueCache>(a, "cache");
  const MultiHeadAttentionCall call{.attention = attention_options(a),
                                    .positions = a.positions(),
                                    .key_positions = a.positions(),
                                    .cache = &cache,
                                    .intermediates = a.intermediates()};
  attention.forward(query, key, value, output, call, context());
  a.give_intermediates();
}

void append_keys(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const ConstAnyTensor key = a.elements(), value = a.elements();
  auto& cache = state_of<KeyValueCache>(a, "cache");
  attention.append(key, value, cache, context(), a.positions());
}

void attend(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const ConstAnyTensor query = a.elements();
  const auto& cache = state_of<KeyValueCache>(a, "cache");
  const AnyTensor output = a.result_of_type();
  const AttentionOptions options = attention_options(a);
  const TensorView<const double> positions = a.positions();
  attention.attend(query, cache, output, options, context(), a.intermediates(), positions);
  a.give_intermediates();
}

// Transformer

TransformerLayerOptions layer_options(Arguments& a) {
  TransformerLayerOptions options;
  options.d_model = a.integer();
  options.num_heads = a.integer();
  options.dim_feedforward = a.integer();
  options.activation = a.choice<Activation>();
  options.gated_feed_forward = a.flag();
  options.layer_norm_eps = a.real();
  options.rms_norm = optional_rms_norm(a);
  options.norm_first = a.flag();
  options.norm_outputs = a.flag();
  options.bias = a.flag();
  options.attention_bias = a.flag();
  options.attention_output_bias = a.flag();
  options.feed_forward_dropout = a.flag();
  options.num_kv_heads = a.integer();
  options.head_dim = a.optional_integer();
  options.qk_norm = optional_rms_norm(a);
  options.qk_norm_all_heads = a.flag();
  options.sinks = a.flag();
  options.scale = a.optional_real();
  options.softcap = a.real();
  options.window = optional_window(a);
  options.positions = attention_positions(a);
  return options;
}

TransformerEncoderOptions stack_options(Arguments& a) {
  TransformerEncoderOptions options{.layer = layer_options(a)};
  options.num_layers = a.integer();
  options.final_norm = a.flag();
  for (std::int64_t more = a.integer(); more > 0; --more) {
    options.layers.push_back(layer_options(a));
  }
  return options;
}

template <class L>
void make_layer(Arguments& a) {
  give_initialized(a, std::make_unique<L>(layer_options(a)));
}

template <class L>
void make_stack(Arguments& a) {
  give_initialized(a, std::make_unique<L>(stack_options(a)));
}

/// A layer of a stack, which stays its owner.
template <class L>
void layer_of(Arguments& a) {
  const auto& stack = a.layer<L>();
  const auto& layer = stack.layers()[static_cast<std::size_t>(a.integer())];
  a.give_layer(const_cast<Module*>(static_cast<const Module*>(&layer)));
}

/// As many as layers, or none.
std::vector<Tensor> weights_of_layers(Arguments& a) {
  std::vector<Tensor> weights(static_cast<std::size_t>(a.integer()));
  for (Tensor& tensor : weights) tensor = a.result();
  return weights;
}

void run_encoder_layer(Arguments& a) {
  const auto& layer = a.layer<TransformerEncoderLayer>();
  const ConstAnyTensor x = a.elements();
  const AnyTensor output = a.result_of_type();
  auto* const cache = optional_state<KeyValueCache>(a, "cache");
  const TransformerEncoderLayerCall call{.attention = attention_options(a),
                                         .positions = a.positions(),
                                         .dropout = a.dropout(),
                                         .cache = cache,
                                         .intermediates = a.intermediates()};
  layer.forward(x, output, call, context());
  a.give_intermediates();
}

void run_encoder(Arguments& a) {
  const auto& encoder = a.layer<TransformerEncoder>();
  const ConstAnyTensor x = a.elements();
  const AnyTensor output = a.result_of_type();
  auto* const caches = optional_state<Caches>(a, "caches");
  TransformerEncoderCall call{
      .attention = attention_options(a), .positions = a.positions(), .dropout = a.dropout()};
  if (caches) call.caches = *caches;
  const std::vector<Tensor> weights = weights_of_layers(a);
  call.weights = weights;
  call.intermediates = a.intermediates();
  encoder.forward(x, output, call, context());
  a.give_intermediates();
}

void make_caches(Arguments& a) {
  const auto& encoder = a.layer<TransformerEncoder>();
  const std::int64_t batch = a.integer(), capacity = a.integer();
  give_state(a, encoder.make_caches(batch, capacity, a.choice<ElementType>()));
}

void make_layer_cache(Arguments& a) {
  const auto& layer = a.layer<TransformerEncoderLayer>();
  const std::int64_t batch = a.integer(), capacity = a.integer();
  give_state(a, layer.self_attention().make_cache(batch, capacity, a.choice<ElementType>()));
}

/// Over the output of an encoder, or over a state.
template <class L, class Call>
void run_decoder(Arguments& a) {
  const auto& decoder = a.layer<L>();
  const ConstAnyTensor x = a.elements();
  const AnyTensor output = a.result_of_type();
  auto* const state = optional_state<typename L::State>(a, "memory");
  const ConstAnyTensor memory = state ? ConstAnyTensor(ConstTensor()) : a.elements();
  Call call{.self_attention = attention_options(a),
            .cross_attention = attention_options(a),
            .positions = a.positions(),
            .dropout = a.dropout()};
  call.state = state;
  std::vector<Tensor> self_weights, cross_weights;
  if constexpr (std::same_as<L, TransformerDecoder>) {
    self_weights = weights_of_layers(a);
    cross_weights = weights_of_layers(a);
    call.self_attention_weights = self_weights;
    call.cross_attention_weights = cross_weights;
  }
  call.intermediates = a.intermediates();
  decoder.forward(x, memory, output, call, context());
  a.give_intermediates();
}

template <class L>
void start_decoder(Arguments& a) {
  const auto& decoder = a.layer<L>();
  const ConstAnyTensor memory = a.elements();
  const std::int64_t capacity = a.integer();
  give_state(a, decoder.start(memory, capacity, context(), a.choice<ElementType>()));
}

// Bahdanau's decoder

void make_bahdanau(Arguments& a) {
  BahdanauDecoderOptions options;
  options.vocab_size = a.integer();
  options.embed_size = a.integer();
  options.num_hiddens = a.integer();
  options.num_layers = a.integer();
  options.encoder_dim = a.integer();
  give_initialized(a, std::make_unique<BahdanauDecoder>(options));
}

void start_bahdanau(Arguments& a) {
  const auto& decoder = a.layer<BahdanauDecoder>();
  const ConstTensor encoder_outputs = a.floats(), hidden = a.floats();
  give_new<BahdanauDecoder::State>(
      a, decoder.init_state(encoder_outputs, hidden, a.lengths(), context()));
}

void run_bahdanau(Arguments& a) {
  const auto& decoder = a.layer<BahdanauDecoder>();
  const ConstLengths tokens = a.lengths();
  auto& state = a.object<BahdanauDecoder::State>();
  const Tensor logits = a.result();
  const Tensor alignment = a.result();
  decoder.forward(tokens, state, logits, alignment, context(), a.intermediates());
  a.give_intermediates();
}

void bahdanau_hidden(Arguments& a) { a.give(a.object<BahdanauDecoder::State>().hidden()); }

void clone_bahdanau_state(Arguments& a) {
  give_new<BahdanauDecoder::State>(a, a.object<BahdanauDecoder::State>());
}

}  // namespace

EMSCRIPTEN_BINDINGS(transformers) {
  operation("deleteState", &remove<State>);
  operation("lengthOfState", &length_of_state);
  operation("truncateState", &truncate_state);

  operation("makeCache", &make_cache);
  operation("capacityOfCache", &capacity_of_cache);
  operation("readCached", &read_cached);
  operation("appendToCache", &append_to_cache);

  operation("makeAttentionCache", &make_attention_cache);
  operation("forwardWithCache", &run_with_cache);
  operation("appendKeys", &append_keys);
  operation("attend", &attend);

  operation("makeTransformerEncoderLayer", &make_layer<TransformerEncoderLayer>);
  operation("forwardTransformerEncoderLayer", &run_encoder_layer);
  operation("makeLayerCache", &make_layer_cache);
  operation("makeTransformerEncoder", &make_stack<TransformerEncoder>);
  operation("layerOfTransformerEncoder", &layer_of<TransformerEncoder>);
  operation("forwardTransformerEncoder", &run_encoder);
  operation("makeCaches", &make_caches);

  operation("makeTransformerDecoderLayer", &make_layer<TransformerDecoderLayer>);
  operation("forwardTransformerDecoderLayer",
            &run_decoder<TransformerDecoderLayer, TransformerDecoderLayerCall>);
  operation("startTransformerDecoderLayer", &start_decoder<TransformerDecoderLayer>);
  operation("makeTransformerDecoder", &make_stack<TransformerDecoder>);
  operation("layerOfTransformerDecoder", &layer_of<TransformerDecoder>);
  operation("forwardTransformerDecoder", &run_decoder<TransformerDecoder, TransformerDecoderCall>);
  operation("startTransformerDecoder", &start_decoder<TransformerDecoder>);

  operation("makeBahdanauDecoder", &make_bahdanau);
  operation("startBahdanauDecoder", &start_bahdanau);
  operation("forwardBahdanauDecoder", &run_bahdanau);
  operation("deleteBahdanauState", &remove<BahdanauDecoder::State>);
  operation("hiddenOfBahdanauState", &bahdanau_hidden);
  operation("cloneBahdanauState", &clone_bahdanau_state);
}

}  // namespace attn::wasm
