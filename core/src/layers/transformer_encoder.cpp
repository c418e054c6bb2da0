#include "attn/layers/transformer_encoder.hpp"

#include <cstddef>
#include <string>

#include "layers/eager_flow.hpp"
#include "layers/transformer_forward.hpp"

namespace attn {

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerLayerOptions& options)
    : options_(options),
      self_attention_(self_attention_of(options)),
      feed_forward_(feed_forward_of(options)),
      norms1_(sublayer_norms_of(options)),
      norms2_(sublayer_norms_of(options)) {
  add_child("self_attn", self_attention_);
  add_child("", as_module(feed_forward_));
  const auto add_norm = [&](const char* name, const std::optional<detail::Norm>& norm) {
    if (norm) add_child(name, as_module(*norm));
  };
  add_norm("norm1", norms1_.norm);
  add_norm("norm2", norms2_.norm);
  add_norm("output_norm1", norms1_.output_norm);
  add_norm("output_norm2", norms2_.output_norm);
  add_intermediates({"resid_pre", "attn_out", "resid_mid", "mlp_out", "resid_post", "output"});
}

void TransformerEncoderLayer::forward(const ConstAnyTensor& x, const AnyTensor& output,
                                      const TransformerEncoderLayerCall& call,
                                      Context& context) const {
  check_tokens(x, output, options_.d_model);
  check_dropout(call.dropout, "attention.dropout", call.attention);
  check_no_cache(call.interventions, call.cache);
  IntermediateWriter writer(*this, call.intermediates, x.rank() == 3, call.interventions);
  runtime::Execution execution(context);
  TransformerEncoderLayerCall inner = call;
  inner.attention = staged(call.attention, execution);
  const std::int64_t past = call.cache ? call.cache->length() : 0;
  try {
    EagerFlow flow(*this, options_, with_batch(x), with_batch(output), writer.enter(""), context);
    run(flow, inner, {});
  } catch (...) {
    if (call.cache) call.cache->truncate(past);
    throw;
  }
  publish(inner.attention, call.attention, execution);
  writer.finish();
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderOptions& options)
    : options_(options) {
  const std::int64_t count = checked_layer_count(options);
  for (std::int64_t l = 0; l < count; ++l) {
    add_child("layers." + std::to_string(l), layers_.emplace_back(own_options_of(options, l)));
  }
  if (options.final_norm) {
    add_child("norm", as_module(norm_.emplace(norm_of(layer_of(options, 0)))));
  }
}

void TransformerEncoder::run(const ConstAnyTensor& x, const AnyTensor& output,
                             const TransformerEncoderCall& call, Context& context) const {
  check_tokens(x, output, layer_of(options_, 0).d_model);
  check_dropout(call.dropout, "attention.dropout", call.attention);
  check_stack_outputs("attention", call.attention, call.weights, layers_.size());
  check_positions(call.positions, layers_);
  check_no_cache(call.interventions, !call.caches.empty());
  IntermediateWriter writer(*this, call.intermediates, x.rank() == 3, call.interventions);
  runtime::Execution run(context);
  float* const* weights = staged_weights(call.weights, run);
  const ConstAnyTensor from = with_batch(x);
  const Tensor tokens(run.floats(validation::product("x", from.shape()), "transformer encoder"),
                      from.shape());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const TransformerEncoderLayer& layer = layers_[l];
    TransformerEncoderLayerCall inner = call_of_layer(call, layer.options(), l);
    add_shared_t5_bias(options_, layers_, l, inner.attention);
    inner.attention.weights = staged_weight(call.weights, weights, l);
    inner.cache = call.caches.empty() ? nullptr : &call.caches[l];
    const bool last = l + 1 == layers_.size() && !norm_;
    const IntermediateWriter::Scope intermediates = writer.enter("layers", l);
    EagerFlow flow(layer, layer.options(), l == 0 ? from : ConstAnyTensor(tokens),
                   last ? with_batch(output) : AnyTensor(tokens), intermediates, context);
    layer.run(flow, inner, {});
  }
  if (norm_) normalize(*norm_, tokens, with_batch(output), context, writer.enter("norm"));
  publish_weights(call.weights, weights, run);
  writer.finish();
}

std::vector<KeyValueCache> TransformerEncoder::make_caches(std::int64_t batch,
                                                           std::int64_t capacity,
                                                           ElementType type) const {
  std::vector<KeyValueCache> caches;
  caches.reserve(layers_.size());
  for (const TransformerEncoderLayer& layer : layers_) {
    caches.push_back(layer.self_attention().make_cache(batch, capacity, type));
  }
  return caches;
}

void TransformerEncoder::forward(const ConstAnyTensor& x, const AnyTensor& output,
                                 const TransformerEncoderCall& call, Context& context) const {
  if (call.caches.empty()) {
    run(x, output, call, context);
    return;
  }
  if (call.caches.size() != layers_.size()) {
    validation::fail_value("caches", call.caches.size(),
                           {"none or one for each of the ", layers_.size(), " layers"});
  }
  const std::int64_t past = call.caches[0].length();
  for (const KeyValueCache& cache : call.caches) {
    if (cache.length() != past) {
      validation::fail(ErrorCode::kShapeMismatch, "caches", {"length ", cache.length()},
                       {past, ", the length of the first cache"});
    }
  }
  try {
    run(x, output, call, context);
  } catch (...) {
    for (KeyValueCache& cache : call.caches) cache.truncate(past);
    throw;
  }
}

}  // namespace attn
