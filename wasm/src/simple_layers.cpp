// Layers that are made of rows, and those over sequences.

#include "arguments.hpp"
#include "attn/layers/add_norm.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/rnn.hpp"

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

namespace {

/// Of layers with one input, of any element type.
template <class L>
void run(Arguments& a) {
  const auto& layer = a.layer<L>();
  const ConstAnyTensor x = a.elements();
  layer.forward(x, a.result_of_type(), context());
}

void make_embedding(Arguments& a) {
  EmbeddingOptions options;
  options.num_embeddings = a.integer();
  options.embedding_dim = a.integer();
  options.scale_by_sqrt_dim = a.flag();
  options.padding_idx = a.optional_integer();
  auto embedding = std::make_unique<Embedding>(options);
  const bool drawn = a.choice<int>() == 0;
  const RandomStream random = a.random();
  const float deviation = a.real();
  if (drawn) embedding->initialize_normal(random, deviation, context());
  a.give_layer(embedding.release());
}

void run_embedding(Arguments& a) {
  const auto& embedding = a.layer<Embedding>();
  const IdView ids = a.lengths();
  embedding.forward(ids, a.result_of_type(), context());
}

LayerNormOptions norm_options(Arguments& a) {
  LayerNormOptions options;
  options.elementwise_affine = a.flag();
  options.bias = a.flag();
  options.eps = a.real();
  return options;
}

void make_layer_norm(Arguments& a) {
  const std::int64_t width = a.integer();
  a.give_layer(new LayerNorm(width, norm_options(a)));
}

void run_layer_norm_of_sum(Arguments& a) {
  const auto& norm = a.layer<LayerNorm>();
  const ConstAnyTensor x = a.elements(), y = a.elements();
  norm.forward_sum(x, y, a.result_of_type(), context());
}

void make_add_norm(Arguments& a) {
  const std::int64_t width = a.integer();
  a.give_layer(new AddNorm(width, norm_options(a)));
}

void run_add_norm(Arguments& a) {
  const auto& norm = a.layer<AddNorm>();
  const ConstTensor x = a.floats(), y = a.floats();
  const Tensor output = a.result();
  const Dropout dropout = a.dropout();
  norm.forward(x, y, output, dropout, context(), a.intermediates());
  a.give_intermediates();
}

void make_rms_norm(Arguments& a) {
  const std::int64_t width = a.integer();
  a.give_layer(new RmsNorm(width, rms_norm_options(a)));
}

void make_feed_forward(Arguments& a) {
  FeedForwardOptions options;
  options.d_model = a.integer();
  options.dim_feedforward = a.integer();
  options.out_features = a.integer();
  options.activation = a.choice<Activation>();
  options.bias = a.flag();
  give_initialized(a, std::make_unique<FeedForward>(options));
}

void make_gated_feed_forward(Arguments& a) {
  GatedFeedForwardOptions options;
  options.d_model = a.integer();
  options.dim_feedforward = a.integer();
  options.activation = a.choice<Activation>();
  options.bias = a.flag();
  give_initialized(a, std::make_unique<GatedFeedForward>(options));
}

template <class L>
void run_feed_forward(Arguments& a) {
  const auto& layer = a.layer<L>();
  const ConstAnyTensor x = a.elements();
  const AnyTensor output = a.result_of_type();
  const Dropout dropout = a.dropout();
  layer.forward(x, output, dropout, context(), a.intermediates());
  a.give_intermediates();
}

RecurrentOptions recurrent_options(Arguments& a) {
  RecurrentOptions options;
  options.input_size = a.integer();
  options.hidden_size = a.integer();
  options.num_layers = a.integer();
  options.bias = a.flag();
  return options;
}

void make_gru(Arguments& a) { give_initialized(a, std::make_unique<GRU>(recurrent_options(a))); }

void make_rnn(Arguments& a) {
  const RecurrentOptions options = recurrent_options(a);
  give_initialized(a, std::make_unique<RNN>(options, a.choice<RecurrentActivation>()));
}

template <class L>
void run_recurrent(Arguments& a) {
  const auto& layer = a.layer<L>();
  const ConstTensor x = a.floats();
  const Tensor output = a.result();
  RecurrentStates states;
  states.h_0 = a.floats();
  states.h_n = a.result();
  layer.forward(x, output, states, context(), a.intermediates());
  a.give_intermediates();
}

void make_conv1d(Arguments& a) {
  Conv1dOptions options;
  options.in_channels = a.integer();
  options.out_channels = a.integer();
  options.kernel_size = a.integer();
  options.stride = a.integer();
  options.dilation = a.integer();
  options.bias = a.flag();
  options.same = a.flag();
  if (!options.same) options.padding = a.integer();
  give_initialized(a, std::make_unique<Conv1d>(options));
}

void run_conv1d(Arguments& a) {
  const auto& layer = a.layer<Conv1d>();
  const ConstTensor x = a.floats();
  layer.forward(x, a.result(), context());
}

void conv1d_output_length(Arguments& a) {
  const auto& layer = a.layer<Conv1d>();
  a.give(static_cast<double>(layer.output_length(a.integer())));
}

}  // namespace

EMSCRIPTEN_BINDINGS(simple_layers) {
  operation("makeEmbedding", &make_embedding);
  operation("forwardEmbedding", &run_embedding);
  operation("makeLayerNorm", &make_layer_norm);
  operation("forwardLayerNorm", &run<LayerNorm>);
  operation("forwardLayerNormOfSum", &run_layer_norm_of_sum);
  operation("makeAddNorm", &make_add_norm);
  operation("forwardAddNorm", &run_add_norm);
  operation("makeFeedForward", &make_feed_forward);
  operation("forwardFeedForward", &run_feed_forward<FeedForward>);
  operation("makeRMSNorm", &make_rms_norm);
  operation("forwardRMSNorm", &run<RmsNorm>);
  operation("makeGatedFeedForward", &make_gated_feed_forward);
  operation("forwardGatedFeedForward", &run_feed_forward<GatedFeedForward>);
  operation("makeGRU", &make_gru);
  operation("forwardGRU", &run_recurrent<GRU>);
  operation("makeRNN", &make_rnn);
  operation("forwardRNN", &run_recurrent<RNN>);
  operation("makeConv1d", &make_conv1d);
  operation("forwardConv1d", &run_conv1d);
  operation("conv1dOutputLength", &conv1d_output_length);
}

}  // namespace attn::wasm
