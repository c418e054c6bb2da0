#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attention_options.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "layers/transformer.hpp"

/// The forward passes of encoder and decoder layers, written once for two flows. EagerFlow computes
/// tensors, with caches and with scratch memory that sublayers share. TapedFlow, which is in
/// training/transformer.cpp, records variables. A flow contains the residual stream, which begins
/// as the layer's input. Each of its functions adds the result of a sublayer to the stream:
///
///   attend         self-attention, with Flow::Terms, the attention terms that are variables
///   attend_to      attention to a decoder's `memory`, or to a cache of its projections
///   feed_forward   the feed-forward network, the last sublayer of a layer
namespace attn {

/// Returns the call that a stack passes to its layer l, without outputs, caches and states.
inline TransformerEncoderLayerCall call_of_layer(const TransformerEncoderCall& call,
                                                 const TransformerLayerOptions& options,
                                                 std::size_t l) {
  return {.attention = call.attention,
          .positions = positions_of(call.positions, options),
          .dropout = dropout_at(call.dropout, 4 * l)};
}
inline TransformerDecoderLayerCall call_of_layer(const TransformerDecoderCall& call,
                                                 const TransformerLayerOptions& options,
                                                 std::size_t l) {
  return {.self_attention = call.self_attention,
          .cross_attention = call.cross_attention,
          .positions = positions_of(call.positions, options),
          .dropout = dropout_at(call.dropout, 6 * l)};
}

template <class Flow>
void TransformerEncoderLayer::run(Flow& flow, const TransformerEncoderLayerCall& call,
                                  const typename Flow::Terms& terms) const {
  const Dropout& dropout = call.dropout;
  flow.attend({norms1_, "norm1", "output_norm1", "attn_out", "resid_mid", dropout_at(dropout, 1)},
              self_attention_,
              {.attention = with_dropout(call.attention, dropout, 0),
               .positions = call.positions,
               .cache = call.cache},
              terms);
  flow.feed_forward(
      {norms2_, "norm2", "output_norm2", "mlp_out", "resid_post", dropout_at(dropout, 3)},
      feed_forward_, hidden_dropout(options_, dropout_at(dropout, 2)));
}

template <class Flow>
void TransformerDecoderLayer::run(Flow& flow, const typename Flow::Memory& memory,
                                  const TransformerDecoderLayerCall& call,
                                  const typename Flow::Terms& self_terms,
                                  const typename Flow::Terms& cross_terms) const {
  State* const state = call.state;
  const Dropout& dropout = call.dropout;
  const std::int64_t past = state ? state->self_attention.length() : 0;
  flow.attend({norms1_, "norm1", "output_norm1", "attn_out", "resid_mid", dropout_at(dropout, 1)},
              self_attention_,
              {.attention = with_dropout(call.self_attention, dropout, 0),
               .positions = call.positions,
               .cache = state ? &state->self_attention : nullptr},
              self_terms);
  flow.attend_to(memory, state ? &state->memory : nullptr,
                 {norms2_, "norm2", "output_norm2", "cross_attn_out", "resid_mid_cross",
                  dropout_at(dropout, 3)},
                 cross_attention_,
                 with_dropout(shift_diagonal(call.cross_attention, past), dropout, 2), cross_terms);
  flow.feed_forward(
      {norms3_, "norm3", "output_norm3", "mlp_out", "resid_post", dropout_at(dropout, 5)},
      feed_forward_, hidden_dropout(options_, dropout_at(dropout, 4)));
}

}  // namespace attn
