#include "attn/layers/transformer_encoder.hpp"

#include <cstddef>
#include <string>

#include "layers/transformer.hpp"

namespace attn {

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerLayerOptions& options)
    : options_(options),
      self_attention_(self_attention_of(options)),
      feed_forward_(feed_forward_of(options)),
      norm1_(norm_of(options)),
      norm2_(norm_of(options)) {
  add_child("self_attn", self_attention_);
  add_child("", feed_forward_);
  add_child("norm1", norm1_);
  add_child("norm2", norm2_);
  add_intermediates({"resid_pre", "resid_mid", "resid_post", "output"});
}

void TransformerEncoderLayer::run(const ConstTensor& x, const Tensor& output,
                                  const TransformerEncoderLayerCall& call, Context& context) const {
  Showing show(*this, call.intermediates);
  runtime::Execution run(context);
  const auto take = [&] {
    return Tensor(run.floats(validation::product("x", x.shape()), "transformer layer"), x.shape());
  };
  const Tensor a = take();
  const Tensor b = take();
  const Dropout& dropout = call.dropout;
  const AttentionOptions attention = with_dropout(call.attention, dropout, 0);
  const auto attend = [&](const ConstTensor& tokens, const Tensor& to) {
    self_attention_.forward(
        tokens, tokens, tokens, to,
        {.attention = attention, .cache = call.cache, .intermediates = show.within("self_attn")},
        context);
    apply_dropout(to, to, dropout_at(dropout, 1), context);
  };
  const auto feed_forward = [&](const ConstTensor& tokens, const Tensor& to) {
    feed_forward_.forward(tokens, to,
                          options_.feed_forward_dropout ? dropout_at(dropout, 2) : Dropout{},
                          context, show.within(""));
    apply_dropout(to, to, dropout_at(dropout, 3), context);
  };
  const auto show_sum = [&](const char* name, const ConstTensor& p, const ConstTensor& q) {
    const Tensor sum = show.take(name, x.shape());
    if (!sum.is_none()) add(p, q, sum, run);
  };
  show.copy("resid_pre", x, run);
  const Tensor shown = show.take("output", x.shape());
  if (options_.norm_first) {
    norm1_.forward(x, a, context, show.within("norm1"));
    attend(a, b);
    add(x, b, b, run);
    show.copy("resid_mid", b, run);
    norm2_.forward(b, a, context, show.within("norm2"));
    feed_forward(a, a);
    show_sum("resid_post", b, a);
    add(b, a, output, run);
  } else {
    attend(x, a);
    show_sum("resid_mid", x, a);
    norm1_.forward_sum(x, a, a, context, show.within("norm1"));
    feed_forward(a, b);
    show_sum("resid_post", a, b);
    norm2_.forward_sum(a, b, output, context, show.within("norm2"));
  }
  show.fill(shown, output, run);
  show.done();
}

void TransformerEncoderLayer::forward(const ConstTensor& x, const Tensor& output,
                                      const TransformerEncoderLayerCall& call,
                                      Context& context) const {
  check_tokens(x, output, options_.d_model);
  check_dropout(call.dropout, "attention.dropout", call.attention);
  Showing show(*this, call.intermediates, x.rank() == 3);
  runtime::Execution execution(context);
  TransformerEncoderLayerCall inner = call;
  inner.attention = staged(call.attention, execution);
  inner.intermediates = show.within("");
  const std::int64_t past = call.cache ? call.cache->length() : 0;
  try {
    run(with_batch(x), with_batch(output), inner, context);
  } catch (...) {
    if (call.cache) call.cache->truncate(past);
    throw;
  }
  publish(inner.attention, call.attention, execution);
  show.done();
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderOptions& options)
    : options_(options) {
  validation::require_at_least("num_layers", options.num_layers, 1);
  for (std::int64_t l = 0; l < options.num_layers; ++l) {
    add_child("layers." + std::to_string(l), layers_.emplace_back(options.layer));
  }
  if (options.final_norm) add_child("norm", norm_.emplace(norm_of(options.layer)));
}

void TransformerEncoder::run(const ConstTensor& x, const Tensor& output,
                             const TransformerEncoderCall& call, Context& context) const {
  check_tokens(x, output, options_.layer.d_model);
  check_dropout(call.dropout, "attention.dropout", call.attention);
  check_stack_outputs("attention", call.attention, call.weights, layers_.size());
  Showing show(*this, call.intermediates, x.rank() == 3);
  runtime::Execution run(context);
  float* const* weights = staged_weights(call.weights, run);
  const ConstTensor from = with_batch(x);
  const Tensor tokens(run.floats(validation::product("x", from.shape()), "transformer encoder"),
                      from.shape());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    AttentionOptions attention = call.attention;
    attention.weights = staged_weight(call.weights, weights, l);
    const bool last = l + 1 == layers_.size() && !norm_;
    layers_[l].run(l == 0 ? from : ConstTensor(tokens), last ? with_batch(output) : tokens,
                   {.attention = attention,
                    .dropout = dropout_at(call.dropout, 4 * l),
                    .cache = call.caches.empty() ? nullptr : &call.caches[l],
                    .intermediates = show.within("layers", l)},
                   context);
  }
  if (norm_) norm_->forward(tokens, with_batch(output), context, show.within("norm"));
  publish_weights(call.weights, weights, run);
  show.done();
}

std::vector<KeyValueCache> TransformerEncoder::make_caches(std::int64_t batch,
                                                           std::int64_t capacity) const {
  std::vector<KeyValueCache> caches;
  caches.reserve(layers_.size());
  for (const TransformerEncoderLayer& layer : layers_) {
    caches.push_back(layer.self_attention().make_cache(batch, capacity));
  }
  return caches;
}

void TransformerEncoder::forward(const ConstTensor& x, const Tensor& output,
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
                       {past, ", the length of the first"});
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
