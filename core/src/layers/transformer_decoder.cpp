#include "attn/layers/transformer_decoder.hpp"

#include <cstddef>
#include <string>

#include "layers/eager_flow.hpp"
#include "layers/transformer_forward.hpp"

namespace attn {
namespace {

MultiHeadAttentionOptions cross_attention_of(const TransformerLayerOptions& options) {
  MultiHeadAttentionOptions result = self_attention_of(options);
  result.positions = {};
  result.sinks = false;
  result.window = {};
  return result;
}

}  // namespace

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerLayerOptions& options)
    : options_(options),
      self_attention_(self_attention_of(options)),
      cross_attention_(cross_attention_of(options)),
      feed_forward_(feed_forward_of(options)),
      norms1_(sublayer_norms_of(options)),
      norms2_(sublayer_norms_of(options)),
      norms3_(sublayer_norms_of(options)) {
  if (options.parallel_residual) {
    validation::fail_value("parallel_residual", "true", {"false in a decoder layer"});
  }
  add_child("self_attn", self_attention_);
  add_child("multihead_attn", cross_attention_);
  add_child("", as_module(feed_forward_));
  const auto add_norm = [&](const char* name, const std::optional<detail::Norm>& norm) {
    if (norm) add_child(name, as_module(*norm));
  };
  add_norm("norm1", norms1_.norm);
  add_norm("norm2", norms2_.norm);
  add_norm("norm3", norms3_.norm);
  add_norm("output_norm1", norms1_.output_norm);
  add_norm("output_norm2", norms2_.output_norm);
  add_norm("output_norm3", norms3_.output_norm);
  // Reserves more streams than the layer's matrices need, because layer l of a stack begins at
  // stream 16·l.
  reserve_streams(16);
  add_intermediates({"resid_pre", "attn_out", "resid_mid", "cross_attn_out", "resid_mid_cross",
                     "mlp_out", "resid_post", "output"});
}

void TransformerDecoderLayer::check_memory(const ConstAnyTensor& x, const ConstAnyTensor& memory,
                                           bool has_state) const {
  if (!has_state) return require_rows_like("memory", memory, x, -1, options_.d_model);
  if (!memory.is_none()) {
    validation::fail_shape(
        "memory", memory.shape(),
        {"none; ", validation::Name("state"), " already contains its projections"});
  }
}

void TransformerDecoderLayer::forward(const ConstAnyTensor& x, const ConstAnyTensor& memory,
                                      const AnyTensor& output,
                                      const TransformerDecoderLayerCall& call,
                                      Context& context) const {
  check_tokens(x, output, options_.d_model);
  check_memory(x, memory, call.state != nullptr);
  check_dropout(call.dropout, "self_attention.dropout", call.self_attention);
  check_dropout(call.dropout, "cross_attention.dropout", call.cross_attention);
  IntermediateWriter writer(*this, call.intermediates, x.rank() == 3);
  runtime::Execution execution(context);
  TransformerDecoderLayerCall inner = call;
  inner.self_attention = staged(call.self_attention, execution);
  inner.cross_attention = staged(call.cross_attention, execution);
  const std::int64_t past = call.state ? call.state->self_attention.length() : 0;
  try {
    EagerFlow flow(*this, options_, with_batch(x), with_batch(output), writer.enter(""), context);
    run(flow, with_batch(memory), inner, {}, {});
  } catch (...) {
    if (call.state) call.state->self_attention.truncate(past);
    throw;
  }
  publish(inner.self_attention, call.self_attention, execution);
  publish(inner.cross_attention, call.cross_attention, execution);
  writer.finish();
}

TransformerDecoderLayer::State TransformerDecoderLayer::start(const ConstAnyTensor& memory,
                                                              std::int64_t capacity,
                                                              Context& context,
                                                              ElementType type) const {
  check_memory(memory, memory, false);
  const std::int64_t batch = batch_of(memory);
  State state{.self_attention = self_attention_.make_cache(batch, capacity, type),
              .memory = cross_attention_.make_cache(batch, memory.size(-2), type)};
  cross_attention_.append(memory, memory, state.memory, context);
  return state;
}

void TransformerDecoderState::truncate(std::int64_t length) {
  for (TransformerDecoderLayerState& layer : layers_) layer.self_attention.truncate(length);
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderOptions& options)
    : options_(options) {
  const std::int64_t count = checked_layer_count(options);
  for (std::int64_t l = 0; l < count; ++l) {
    add_child("layers." + std::to_string(l), layers_.emplace_back(own_options_of(options, l)));
  }
  if (options.final_norm) {
    add_child("norm", as_module(norm_.emplace(norm_of(layer_of(options, 0)))));
  }
}

void TransformerDecoder::run(const ConstAnyTensor& x, const ConstAnyTensor& memory,
                             const AnyTensor& output, const TransformerDecoderCall& call,
                             Context& context) const {
  check_tokens(x, output, layer_of(options_, 0).d_model);
  layers_.front().check_memory(x, memory, call.state != nullptr);
  check_dropout(call.dropout, "self_attention.dropout", call.self_attention);
  check_dropout(call.dropout, "cross_attention.dropout", call.cross_attention);
  check_stack_outputs("self_attention", call.self_attention, call.self_attention_weights,
                      layers_.size());
  check_stack_outputs("cross_attention", call.cross_attention, call.cross_attention_weights,
                      layers_.size());
  check_positions(call.positions, layers_);
  IntermediateWriter writer(*this, call.intermediates, x.rank() == 3);
  runtime::Execution run(context);
  float* const* self_weights = staged_weights(call.self_attention_weights, run);
  float* const* cross_weights = staged_weights(call.cross_attention_weights, run);
  const ConstAnyTensor from = with_batch(x);
  const Tensor tokens(run.floats(validation::product("x", from.shape()), "transformer decoder"),
                      from.shape());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const TransformerDecoderLayer& layer = layers_[l];
    TransformerDecoderLayerCall inner = call_of_layer(call, layer.options(), l);
    add_shared_t5_bias(options_, layers_, l, inner.self_attention);
    inner.self_attention.weights = staged_weight(call.self_attention_weights, self_weights, l);
    inner.cross_attention.weights = staged_weight(call.cross_attention_weights, cross_weights, l);
    inner.state = call.state ? &call.state->layers_[l] : nullptr;
    const bool last = l + 1 == layers_.size() && !norm_;
    const IntermediateWriter::Scope intermediates = writer.enter("layers", l);
    EagerFlow flow(layer, layer.options(), l == 0 ? from : ConstAnyTensor(tokens),
                   last ? with_batch(output) : AnyTensor(tokens), intermediates, context);
    layer.run(flow, with_batch(memory), inner, {}, {});
  }
  if (norm_) normalize(*norm_, tokens, with_batch(output), context, writer.enter("norm"));
  publish_weights(call.self_attention_weights, self_weights, run);
  publish_weights(call.cross_attention_weights, cross_weights, run);
  writer.finish();
}

void TransformerDecoder::forward(const ConstAnyTensor& x, const ConstAnyTensor& memory,
                                 const AnyTensor& output, const TransformerDecoderCall& call,
                                 Context& context) const {
  State* const state = call.state;
  if (!state) return run(x, memory, output, call, context);
  if (state->layers_.size() != layers_.size()) {
    validation::fail(ErrorCode::kInvalidArgument, "state", {state->layers_.size(), " layers"},
                     {layers_.size(), ", the number of layers of this decoder"});
  }
  const std::int64_t past = state->length();
  try {
    run(x, memory, output, call, context);
  } catch (...) {
    for (TransformerDecoderLayerState& layer : state->layers_) layer.self_attention.truncate(past);
    throw;
  }
}

TransformerDecoder::State TransformerDecoder::start(const ConstAnyTensor& memory,
                                                    std::int64_t capacity, Context& context,
                                                    ElementType type) const {
  State state;
  state.layers_.reserve(layers_.size());
  for (const TransformerDecoderLayer& layer : layers_) {
    state.layers_.push_back(layer.start(memory, capacity, context, type));
  }
  return state;
}

}  // namespace attn
