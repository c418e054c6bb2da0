// Layers of a Transformer on a tape: made of the layers inside, which know their own gradients.

#include "layers/transformer.hpp"

#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/training/functions.hpp"
#include "training/recording.hpp"

namespace attn {
namespace {

using training::show;

/// Requires that a call asks for nothing but values.
void require_none(const char* argument, bool given) {
  if (given) {
    validation::fail_value(argument, "something", {"none where variables are recorded"});
  }
}

/// One place of a layer where something is added to the stream of residuals:
///
///   post-norm:  norm(x + dropout(f(x)))        pre-norm:  x + dropout(f(norm(x)))
struct Sublayer {
  const Module& layer;
  bool norm_first;

  template <class F>
  Variable operator()(const Variable& x, const LayerNorm& norm, const Dropout& dropout,
                      const char* sum_name, F&& f) const {
    const Variable y = apply_dropout(f(norm_first ? norm.forward(x) : x), dropout);
    if (norm_first) {
      const Variable sum = x + y;
      show(layer, sum_name, sum);
      return sum;
    }
    return norm.forward_sum(x, y);
  }
};

}  // namespace

Variable TransformerEncoderLayer::forward(const Variable& x,
                                          const TransformerEncoderLayerCall& call) const {
  require_rows("x", x.value(), "d_model", options_.d_model);
  check_dropout(call.dropout, "attention.dropout", call.attention);
  require_none("cache", call.cache);
  require_none("intermediates", call.intermediates);
  const Dropout& dropout = call.dropout;
  const Sublayer sublayer{*this, options_.norm_first};
  show(*this, "resid_pre", x);
  const Variable h =
      sublayer(x, norm1_, dropout_at(dropout, 1), "resid_mid", [&](const Variable& n) {
        return self_attention_.forward(n, n, n, with_dropout(call.attention, dropout, 0));
      });
  const Dropout within = options_.feed_forward_dropout ? dropout_at(dropout, 2) : Dropout{};
  const Variable output =
      sublayer(h, norm2_, dropout_at(dropout, 3), "resid_post",
               [&](const Variable& n) { return feed_forward_.forward(n, within); });
  show(*this, "output", output);
  return output;
}

Variable TransformerEncoder::forward(const Variable& x, const TransformerEncoderCall& call) const {
  require_none("caches", !call.caches.empty());
  require_none("weights", !call.weights.empty());
  require_none("intermediates", call.intermediates);
  Variable y = x;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    y = layers_[l].forward(
        y, {.attention = call.attention, .dropout = dropout_at(call.dropout, 4 * l)});
  }
  return norm_ ? norm_->forward(y) : y;
}

Variable TransformerDecoderLayer::forward(const Variable& x, const Variable& memory,
                                          const TransformerDecoderLayerCall& call) const {
  require_rows("x", x.value(), "d_model", options_.d_model);
  check_memory(x.value(), memory.value(), false);
  check_dropout(call.dropout, "self_attention.dropout", call.self_attention);
  check_dropout(call.dropout, "cross_attention.dropout", call.cross_attention);
  require_none("state", call.state);
  require_none("intermediates", call.intermediates);
  const Dropout& dropout = call.dropout;
  const Sublayer sublayer{*this, options_.norm_first};
  show(*this, "resid_pre", x);
  const Variable g =
      sublayer(x, norm1_, dropout_at(dropout, 1), "resid_mid", [&](const Variable& n) {
        return self_attention_.forward(n, n, n, with_dropout(call.self_attention, dropout, 0));
      });
  const Variable h =
      sublayer(g, norm2_, dropout_at(dropout, 3), "resid_mid_cross", [&](const Variable& n) {
        return cross_attention_.forward(n, memory, memory,
                                        with_dropout(call.cross_attention, dropout, 2));
      });
  const Dropout within = options_.feed_forward_dropout ? dropout_at(dropout, 4) : Dropout{};
  const Variable output =
      sublayer(h, norm3_, dropout_at(dropout, 5), "resid_post",
               [&](const Variable& n) { return feed_forward_.forward(n, within); });
  show(*this, "output", output);
  return output;
}

Variable TransformerDecoder::forward(const Variable& x, const Variable& memory,
                                     const TransformerDecoderCall& call) const {
  require_none("state", call.state);
  require_none("weights", !call.self_attention_weights.empty());
  require_none("weights", !call.cross_attention_weights.empty());
  require_none("intermediates", call.intermediates);
  Variable y = x;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    y = layers_[l].forward(y, memory,
                           {.self_attention = call.self_attention,
                            .cross_attention = call.cross_attention,
                            .dropout = dropout_at(call.dropout, 6 * l)});
  }
  return norm_ ? norm_->forward(y) : y;
}

}  // namespace attn
