// Layers that attend to what they keep: multi-head attention with a cache, the Transformer, and
// Bahdanau's decoder.

#include <span>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/bahdanau_decoder.hpp"
#include "attn/key_value_cache.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/transformer_decoder.hpp"
#include "attn/transformer_encoder.hpp"

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

// Key/value cache

void make_cache(Arguments& a) {
  const std::int64_t batch = a.integer(), heads = a.integer(), head_dim = a.integer(),
                     value_dim = a.integer();
  give_new<KeyValueCache>(a, batch, heads, head_dim, value_dim, a.integer());
}

/// Length, capacity, keys and values.
void read_cache(Arguments& a) {
  const auto& cache = a.object<KeyValueCache>();
  a.give(static_cast<double>(cache.length()));
  a.give(static_cast<double>(cache.capacity()));
}

void copy(const ConstTensor& from, const Tensor& to) {
  for (std::int64_t b = 0; b < to.size(0); ++b) {
    for (std::int64_t h = 0; h < to.size(1); ++h) {
      for (std::int64_t i = 0; i < to.size(2); ++i) {
        const float* row = from.pointer(b, h, i, 0);
        std::copy_n(row, to.size(3), to.pointer(b, h, i, 0));
      }
    }
  }
}

void read_cached(Arguments& a) {
  const auto& cache = a.object<KeyValueCache>();
  const bool values = a.flag();
  copy(values ? cache.values() : cache.keys(), a.result());
}

void append_to_cache(Arguments& a) {
  auto& cache = a.object<KeyValueCache>();
  const ConstTensor key = a.floats();
  cache.append(key, a.floats());
}

void truncate_cache(Arguments& a) {
  auto& cache = a.object<KeyValueCache>();
  cache.truncate(a.integer());
}

// Multi-head attention

void make_attention_cache(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const std::int64_t batch = a.integer();
  give_new<KeyValueCache>(a, attention.make_cache(batch, a.integer()));
}

void run_with_cache(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const ConstTensor query = a.floats(), key = a.floats(), value = a.floats();
  const Tensor output = a.result();
  auto& cache = a.object<KeyValueCache>();
  attention.forward(query, key, value, output, cache, attention_options(a), context());
}

void append_keys(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const ConstTensor key = a.floats(), value = a.floats();
  attention.append(key, value, a.object<KeyValueCache>(), context());
}

void attend(Arguments& a) {
  const auto& attention = a.layer<MultiHeadAttention>();
  const ConstTensor query = a.floats();
  const auto& cache = a.object<KeyValueCache>();
  const Tensor output = a.result();
  attention.attend(query, cache, output, attention_options(a), context());
}

// Transformer

TransformerLayerOptions layer_options(Arguments& a) {
  TransformerLayerOptions options;
  options.d_model = a.integer();
  options.num_heads = a.integer();
  options.dim_feedforward = a.integer();
  options.activation = a.choice<Activation>();
  options.layer_norm_eps = a.real();
  options.norm_first = a.flag();
  options.bias = a.flag();
  options.attention_bias = a.flag();
  options.feed_forward_dropout = a.flag();
  options.num_kv_heads = a.optional_integer();
  options.sinks = a.flag();
  options.positions = attention_positions(a);
  return options;
}

template <class Options>
Options stack_options(Arguments& a) {
  Options options;
  options.layer = layer_options(a);
  options.num_layers = a.integer();
  options.final_norm = a.flag();
  return options;
}

template <class L>
void make_layer(Arguments& a) {
  a.give_layer(new L(layer_options(a)));
}

template <class L, class Options>
void make_stack(Arguments& a) {
  a.give_layer(new L(stack_options<Options>(a)));
}

template <class L>
void initialize_layer(Arguments& a) {
  a.layer<L>().initialize_xavier(a.random(), context());
}

template <class L>
void initialize_stack(Arguments& a) {
  a.layer<L>().initialize_xavier(a.seed(), context());
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
  const ConstTensor x = a.floats();
  const Tensor output = a.result();
  auto* cache = a.optional_object<KeyValueCache>();
  const AttentionOptions attention = attention_options(a);
  const Dropout dropout = a.dropout();
  if (cache) {
    layer.forward(x, output, *cache, attention, dropout, context());
  } else {
    layer.forward(x, output, attention, dropout, context());
  }
}

using Caches = std::vector<KeyValueCache>;

void run_encoder(Arguments& a) {
  const auto& encoder = a.layer<TransformerEncoder>();
  const ConstTensor x = a.floats();
  const Tensor output = a.result();
  TransformerEncoderCall call;
  if (auto* caches = a.optional_object<Caches>()) call.caches = *caches;
  call.attention = attention_options(a);
  call.dropout = a.dropout();
  const std::vector<Tensor> weights = weights_of_layers(a);
  call.weights = weights;
  encoder.forward(x, output, call, context());
}

void make_caches(Arguments& a) {
  const auto& encoder = a.layer<TransformerEncoder>();
  const std::int64_t batch = a.integer();
  give_new<Caches>(a, encoder.make_caches(batch, a.integer()));
}

void make_layer_cache(Arguments& a) {
  const auto& layer = a.layer<TransformerEncoderLayer>();
  const std::int64_t batch = a.integer();
  give_new<KeyValueCache>(a, layer.self_attention().make_cache(batch, a.integer()));
}

void length_of_caches(Arguments& a) {
  const auto& caches = a.object<Caches>();
  a.give(static_cast<double>(caches.empty() ? 0 : caches.front().length()));
}

void truncate_caches(Arguments& a) {
  auto& caches = a.object<Caches>();
  const std::int64_t length = a.integer();
  for (KeyValueCache& cache : caches) cache.truncate(length);
}

/// Over the output of an encoder, or over a state.
template <class L>
void run_decoder(Arguments& a) {
  const auto& decoder = a.layer<L>();
  const ConstTensor x = a.floats();
  const Tensor output = a.result();
  auto* state = a.optional_object<typename L::State>();
  const ConstTensor memory = a.floats();
  TransformerDecoderCall call;
  call.self_attention = attention_options(a);
  call.cross_attention = attention_options(a);
  call.dropout = a.dropout();
  const std::vector<Tensor> self_weights = weights_of_layers(a);
  const std::vector<Tensor> cross_weights = weights_of_layers(a);
  call.self_attention_weights = self_weights;
  call.cross_attention_weights = cross_weights;
  if (state) {
    decoder.forward(x, *state, output, call, context());
  } else {
    decoder.forward(x, memory, output, call, context());
  }
}

template <class L>
void start_decoder(Arguments& a) {
  const auto& decoder = a.layer<L>();
  const ConstTensor memory = a.floats();
  give_new<typename L::State>(a, decoder.start(memory, a.integer(), context()));
}

void layer_state_length(Arguments& a) {
  const auto& state = a.object<TransformerDecoderLayerState>();
  a.give(static_cast<double>(state.self_attention.length()));
}

void truncate_layer_state(Arguments& a) {
  auto& state = a.object<TransformerDecoderLayerState>();
  state.self_attention.truncate(a.integer());
}

void state_length(Arguments& a) {
  a.give(static_cast<double>(a.object<TransformerDecoderState>().length()));
}

void truncate_state(Arguments& a) {
  auto& state = a.object<TransformerDecoderState>();
  state.truncate(a.integer());
}

// Bahdanau's decoder

void make_bahdanau(Arguments& a) {
  BahdanauDecoderOptions options;
  options.vocab_size = a.integer();
  options.embed_size = a.integer();
  options.num_hiddens = a.integer();
  options.num_layers = a.integer();
  options.encoder_dim = a.optional_integer();
  a.give_layer(new BahdanauDecoder(options));
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
  decoder.forward(tokens, state, logits, a.result(), context());
}

void bahdanau_hidden(Arguments& a) { a.give(a.object<BahdanauDecoder::State>().hidden()); }

void clone_bahdanau_state(Arguments& a) {
  give_new<BahdanauDecoder::State>(a, a.object<BahdanauDecoder::State>());
}

}  // namespace

EMSCRIPTEN_BINDINGS(transformers) {
  operation("makeCache", &make_cache);
  operation("deleteCache", &remove<KeyValueCache>);
  operation("readCache", &read_cache);
  operation("readCached", &read_cached);
  operation("appendToCache", &append_to_cache);
  operation("truncateCache", &truncate_cache);

  operation("makeAttentionCache", &make_attention_cache);
  operation("forwardWithCache", &run_with_cache);
  operation("appendKeys", &append_keys);
  operation("attend", &attend);

  operation("makeEncoderLayer", &make_layer<TransformerEncoderLayer>);
  operation("initializeEncoderLayer", &initialize_layer<TransformerEncoderLayer>);
  operation("forwardEncoderLayer", &run_encoder_layer);
  operation("makeLayerCache", &make_layer_cache);
  operation("makeEncoder", &make_stack<TransformerEncoder, TransformerEncoderOptions>);
  operation("initializeEncoder", &initialize_stack<TransformerEncoder>);
  operation("layerOfEncoder", &layer_of<TransformerEncoder>);
  operation("forwardEncoder", &run_encoder);
  operation("makeCaches", &make_caches);
  operation("deleteCaches", &remove<Caches>);
  operation("lengthOfCaches", &length_of_caches);
  operation("truncateCaches", &truncate_caches);

  operation("makeDecoderLayer", &make_layer<TransformerDecoderLayer>);
  operation("initializeDecoderLayer", &initialize_layer<TransformerDecoderLayer>);
  operation("forwardDecoderLayer", &run_decoder<TransformerDecoderLayer>);
  operation("startDecoderLayer", &start_decoder<TransformerDecoderLayer>);
  operation("deleteDecoderLayerState", &remove<TransformerDecoderLayerState>);
  operation("lengthOfDecoderLayerState", &layer_state_length);
  operation("truncateDecoderLayerState", &truncate_layer_state);
  operation("makeDecoder", &make_stack<TransformerDecoder, TransformerDecoderOptions>);
  operation("initializeDecoder", &initialize_stack<TransformerDecoder>);
  operation("layerOfDecoder", &layer_of<TransformerDecoder>);
  operation("forwardDecoder", &run_decoder<TransformerDecoder>);
  operation("startDecoder", &start_decoder<TransformerDecoder>);
  operation("deleteDecoderState", &remove<TransformerDecoderState>);
  operation("lengthOfDecoderState", &state_length);
  operation("truncateDecoderState", &truncate_state);

  operation("makeBahdanauDecoder", &make_bahdanau);
  operation("initializeBahdanauDecoder", &initialize_layer<BahdanauDecoder>);
  operation("startBahdanauDecoder", &start_bahdanau);
  operation("forwardBahdanauDecoder", &run_bahdanau);
  operation("deleteBahdanauState", &remove<BahdanauDecoder::State>);
  operation("hiddenOfBahdanauState", &bahdanau_hidden);
  operation("cloneBahdanauState", &clone_bahdanau_state);
}

}  // namespace attn::wasm
