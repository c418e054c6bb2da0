// Records the layers of a Transformer on a tape. No steps are defined here, because the layers and
// functions used here record their own steps.

#include "layers/transformer.hpp"

#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/functions.hpp"
#include "training/recording.hpp"

namespace attn {
namespace {

using training::require_none;
using training::show;

Variable normalize(const detail::Norm& norm, const Variable& x) {
  return std::visit([&](const auto& n) { return n.forward(x); }, norm);
}

/// Adds f's result to x, and applies the norms that the options ask for; see Sublayer::add_to.
template <class F>
Variable add_sublayer(const Module& layer, const TransformerLayerOptions& options,
                      const detail::SublayerNorms& norms, const Dropout& dropout,
                      const char* sum_name, const Variable& x, F&& f) {
  Variable y = f(options.norm_first ? normalize(*norms.norm, x) : x);
  if (norms.output_norm) y = normalize(*norms.output_norm, y);
  const Variable sum = x + apply_dropout(y, dropout);
  show(layer, sum_name, sum);
  return options.norm_first || !norms.norm ? sum : normalize(*norms.norm, sum);
}

Variable run_feed_forward(const AnyFeedForward& feed_forward,
                          const TransformerLayerOptions& options, const Variable& x,
                          const Dropout& dropout) {
  const Dropout within = options.feed_forward_dropout ? dropout : Dropout{};
  return std::visit([&](const auto& layer) { return layer.forward(x, within); }, feed_forward);
}

}  // namespace

Variable TransformerEncoderLayer::forward(const Variable& x,
                                          const TransformerEncoderLayerCall& call) const {
  return forward(x, call, {});
}

Variable TransformerEncoderLayer::forward(const Variable& x,
                                          const TransformerEncoderLayerCall& call,
                                          const AttentionVariables& terms) const {
  require_rows("x", x.value(), "d_model", options_.d_model);
  check_dropout(call.dropout, "attention.dropout", call.attention);
  require_none("cache", call.cache);
  require_none("intermediates", call.intermediates);
  const Dropout& dropout = call.dropout;
  show(*this, "resid_pre", x);
  const Variable h = add_sublayer(
      *this, options_, norms1_, dropout_at(dropout, 1), "resid_mid", x, [&](const Variable& n) {
        return self_attention_.forward(
            n, n, n,
            {.attention = with_dropout(call.attention, dropout, 0), .positions = call.positions},
            terms);
      });
  const Variable output = add_sublayer(
      *this, options_, norms2_, dropout_at(dropout, 3), "resid_post", h, [&](const Variable& n) {
        return run_feed_forward(feed_forward_, options_, n, dropout_at(dropout, 2));
      });
  show(*this, "output", output);
  return output;
}

Variable TransformerEncoder::forward(const Variable& x, const TransformerEncoderCall& call) const {
  return forward(x, call, {});
}

Variable TransformerEncoder::forward(const Variable& x, const TransformerEncoderCall& call,
                                     const AttentionVariables& terms) const {
  require_none("caches", !call.caches.empty());
  require_none("weights", !call.weights.empty());
  require_none("intermediates", call.intermediates);
  check_positions(call.positions, layers_);
  Variable y = x;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    y = layers_[l].forward(y,
                           {.attention = call.attention,
                            .positions = positions_of(call.positions, layers_[l].options()),
                            .dropout = dropout_at(call.dropout, 4 * l)},
                           terms);
  }
  return norm_ ? normalize(*norm_, y) : y;
}

Variable TransformerDecoderLayer::forward(const Variable& x, const Variable& memory,
                                          const TransformerDecoderLayerCall& call) const {
  return forward(x, memory, call, {}, {});
}

Variable TransformerDecoderLayer::forward(const Variable& x, const Variable& memory,
                                          const TransformerDecoderLayerCall& call,
                                          const AttentionVariables& self_terms,
                                          const AttentionVariables& cross_terms) const {
  require_rows("x", x.value(), "d_model", options_.d_model);
  check_memory(x.value(), memory.value(), false);
  check_dropout(call.dropout, "self_attention.dropout", call.self_attention);
  check_dropout(call.dropout, "cross_attention.dropout", call.cross_attention);
  require_none("state", call.state);
  require_none("intermediates", call.intermediates);
  const Dropout& dropout = call.dropout;
  show(*this, "resid_pre", x);
  const Variable g = add_sublayer(
      *this, options_, norms1_, dropout_at(dropout, 1), "resid_mid", x, [&](const Variable& n) {
        return self_attention_.forward(n, n, n,
                                       {.attention = with_dropout(call.self_attention, dropout, 0),
                                        .positions = call.positions},
                                       self_terms);
      });
  const Variable h = add_sublayer(
      *this, options_, norms2_, dropout_at(dropout, 3), "resid_mid_cross", g,
      [&](const Variable& n) {
        return cross_attention_.forward(
            n, memory, memory, {.attention = with_dropout(call.cross_attention, dropout, 2)},
            cross_terms);
      });
  const Variable output = add_sublayer(
      *this, options_, norms3_, dropout_at(dropout, 5), "resid_post", h, [&](const Variable& n) {
        return run_feed_forward(feed_forward_, options_, n, dropout_at(dropout, 4));
      });
  show(*this, "output", output);
  return output;
}

Variable TransformerDecoder::forward(const Variable& x, const Variable& memory,
                                     const TransformerDecoderCall& call) const {
  return forward(x, memory, call, {}, {});
}

Variable TransformerDecoder::forward(const Variable& x, const Variable& memory,
                                     const TransformerDecoderCall& call,
                                     const AttentionVariables& self_terms,
                                     const AttentionVariables& cross_terms) const {
  require_none("state", call.state);
  require_none("weights", !call.self_attention_weights.empty());
  require_none("weights", !call.cross_attention_weights.empty());
  require_none("intermediates", call.intermediates);
  check_positions(call.positions, layers_);
  Variable y = x;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    y = layers_[l].forward(y, memory,
                           {.self_attention = call.self_attention,
                            .cross_attention = call.cross_attention,
                            .positions = positions_of(call.positions, layers_[l].options()),
                            .dropout = dropout_at(call.dropout, 6 * l)},
                           self_terms, cross_terms);
  }
  return norm_ ? normalize(*norm_, y) : y;
}

}  // namespace attn
