#include "attn/layers/bahdanau_decoder.hpp"

#include <cstddef>
#include <initializer_list>

#include "elementwise.hpp"
#include "layers/bahdanau_decoder_impl.hpp"
#include "layers/intermediate_writer.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

BahdanauDecoderOptions checked(const BahdanauDecoderOptions& options) {
  validation::require_at_least("vocab_size", options.vocab_size, 1);
  validation::require_at_least("embed_size", options.embed_size, 1);
  validation::require_at_least("num_hiddens", options.num_hiddens, 1);
  validation::require_at_least("num_layers", options.num_layers, 1);
  validation::require_at_least("encoder_dim", options.encoder_dim.value_or(1), 1);
  return options;
}

std::vector<float> allocate(const char* name, std::initializer_list<std::int64_t> shape) {
  const std::size_t count =
      validation::allocation(name, validation::product(name, shape), sizeof(float));
  return std::vector<float>(count);
}

}  // namespace

BahdanauDecoder::BahdanauDecoder(const BahdanauDecoderOptions& options)
    : options_(options), layers_(std::make_shared<Layers>(checked(options))) {
  add_child("attention", layers_->attention);
  add_child("embedding", layers_->embedding);
  add_child("rnn", layers_->rnn);
  add_child("dense", layers_->dense);
  add_intermediates({"embedding.output"});
}

ConstTensor BahdanauDecoder::State::hidden() const noexcept {
  return ConstTensor(hidden_.data(), {num_layers_, batch_, num_hiddens_});
}

void BahdanauDecoder::check_encoder(const ConstTensor& encoder_outputs, const ConstTensor& hidden,
                                    const LengthsView& encoder_lens) const {
  validation::require_shape("encoder_outputs", encoder_outputs,
                            {-1, -1, layers_->attention.key_dim()});
  validation::require_data("encoder_outputs", encoder_outputs);
  validation::require_shape("hidden", hidden,
                            {options_.num_layers, encoder_outputs.size(0), options_.num_hiddens});
  validation::require_data("hidden", hidden);
  validation::require_lengths("encoder_lens", encoder_lens, encoder_outputs.size(0), -1,
                              encoder_outputs.size(1), "encoder outputs");
}

void BahdanauDecoder::check_tokens(const IdView& tokens, std::int64_t batch) const {
  validation::require_shape("tokens", tokens.shape(), {batch, -1});
  validation::require_data("tokens", tokens);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens.size(1); ++t) {
      if (tokens(b, t) < 0 || tokens(b, t) >= options_.vocab_size) {
        validation::fail_value("tokens", tokens(b, t),
                               {"a token between 0 and ", options_.vocab_size - 1});
      }
    }
  }
}

BahdanauDecoder::State BahdanauDecoder::init_state(const ConstTensor& encoder_outputs,
                                                   const ConstTensor& hidden,
                                                   const LengthsView& encoder_lens,
                                                   Context& context) const {
  const BahdanauDecoderOptions& o = options_;
  const std::int64_t encoder_dim = layers_->attention.key_dim();
  check_encoder(encoder_outputs, hidden, encoder_lens);
  State state;
  state.batch_ = encoder_outputs.size(0);
  state.num_keys_ = encoder_outputs.size(1);
  state.encoder_dim_ = encoder_dim;
  state.num_layers_ = o.num_layers;
  state.num_hiddens_ = o.num_hiddens;
  const auto rows = {state.batch_, state.num_keys_, encoder_dim};
  state.hidden_ = allocate("hidden", {o.num_layers, state.batch_, o.num_hiddens});
  state.encoder_outputs_ = allocate("encoder_outputs", rows);
  state.projected_keys_ =
      allocate("encoder_outputs", {state.batch_, state.num_keys_, o.num_hiddens});
  state.encoder_lens_.resize(static_cast<std::size_t>(state.batch_));
  for (std::int64_t b = 0; b < state.batch_; ++b) {
    state.encoder_lens_[static_cast<std::size_t>(b)] =
        static_cast<std::int32_t>(encoder_lens.is_none() ? state.num_keys_ : encoder_lens(b));
  }
  runtime::Execution run(context);
  copy(hidden, Tensor(state.hidden_.data(), hidden.shape()), run);
  const Tensor outputs(state.encoder_outputs_.data(), rows);
  copy(encoder_outputs, outputs, run);
  layers_->attention.project_keys(
      outputs, {state.projected_keys_.data(), {state.batch_, state.num_keys_, o.num_hiddens}},
      context);
  return state;
}

void BahdanauDecoder::forward(const IdView& tokens, State& state, const Tensor& logits,
                              const Tensor& alignment, Context& context,
                              Intermediates* intermediates) const {
  const BahdanauDecoderOptions& o = options_;
  const std::int64_t batch = state.batch_;
  const std::int64_t keys = state.num_keys_;
  const std::int64_t encoder_dim = layers_->attention.key_dim();
  if (state.encoder_dim_ != encoder_dim || state.num_layers_ != o.num_layers ||
      state.num_hiddens_ != o.num_hiddens) {
    validation::fail_value("state", "a state from another decoder",
                           {"one from this decoder's ", validation::Name("init_state"), "()"});
  }
  check_tokens(tokens, batch);
  const std::int64_t steps = tokens.size(1);
  validation::require_shape("logits", logits, {batch, steps, o.vocab_size});
  validation::require_data("logits", logits);
  if (!alignment.is_none()) {
    validation::require_shape("alignment", alignment, {batch, steps, keys});
    validation::require_data("alignment", alignment);
  }
  IntermediateWriter writer(*this, intermediates);
  if (steps == 0) return writer.finish();

  runtime::Execution run(context);
  const auto take = [&](std::initializer_list<std::int64_t> shape) {
    return Tensor(run.floats(validation::product("tokens", shape), "Bahdanau decoder"), shape);
  };
  const std::int64_t width = encoder_dim + o.embed_size;
  const Tensor hidden = take({o.num_layers, batch, o.num_hiddens});
  const Tensor input = take({batch, 1, width});
  const Tensor output = take({batch, 1, o.num_hiddens});
  // The first step may run out of memory, so it writes to separate tensors, not to the outputs.
  // Later steps reuse its scratch memory, so they cannot fail.
  const Tensor first_logits = take({batch, 1, o.vocab_size});
  const Tensor first_weights = take({batch, 1, keys});

  const ConstTensor encoder_outputs(state.encoder_outputs_.data(), {batch, keys, encoder_dim});
  const ConstTensor projected_keys(state.projected_keys_.data(), {batch, keys, o.num_hiddens});
  copy(state.hidden(), hidden, run);
  IntermediateWriter::Steps step_writer(writer, steps, "attention.projected_keys");
  const Tensor embedded = writer.allocate("embedding.output", {batch, steps, o.embed_size});
  for (std::int64_t t = 0; t < steps; ++t) {
    AttentionPoolingOptions options;
    options.valid_lens = {state.encoder_lens_.data(), {batch}};
    if (!alignment.is_none()) {
      options.weights = t == 0 ? first_weights : alignment.slice(1, t, t + 1);
    }
    layers_->attention.forward_projected(
        hidden.select(0, o.num_layers - 1).unsqueeze(1), projected_keys, encoder_outputs,
        input.slice(2, 0, encoder_dim), options, context, step_writer.enter("attention"));
    layers_->embedding.forward(tokens.slice(1, t, t + 1), input.slice(2, encoder_dim, width),
                               context);
    if (!embedded.is_none()) {
      copy(input.slice(2, encoder_dim, width), embedded.slice(1, t, t + 1), run);
    }
    layers_->rnn.forward(input, output, {.h_0 = hidden, .h_n = hidden}, context,
                         step_writer.enter("rnn"));
    layers_->dense.forward(output, t == 0 ? first_logits : logits.slice(1, t, t + 1), context,
                           step_writer.enter("dense"));
    step_writer.store(t, run);
  }
  copy(first_logits, logits.slice(1, 0, 1), run);
  if (!alignment.is_none()) copy(first_weights, alignment.slice(1, 0, 1), run);
  copy(hidden, Tensor(state.hidden_.data(), hidden.shape()), run);
  writer.finish();
}

}  // namespace attn
