// Records the layers of a Transformer on a tape. No steps are defined here, because the layers and
// functions used here record their own steps.

#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/functions.hpp"
#include "layers/transformer_forward.hpp"
#include "training/recording.hpp"

namespace attn {
namespace {

using training::record_intermediate;
using training::require_none;

Variable normalize(const detail::Norm& norm, const Variable& x) {
  return std::visit([&](const auto& n) { return n.forward(x); }, norm);
}

/// Like add_shared_t5_bias(), but also adds the table as a variable, which receives a gradient.
template <class Layer>
AttentionVariables with_shared_t5_bias(const TransformerEncoderOptions& stack,
                                       const std::vector<Layer>& layers, std::size_t l,
                                       const Variable& x, AttentionOptions& attention,
                                       const AttentionVariables& given) {
  AttentionVariables terms = given;
  if (add_shared_t5_bias(stack, layers, l, attention) && terms.t5_table.is_none()) {
    training::TapeData& tape = *TapeAccess::tape(x);
    terms.t5_table = TapeAccess::variable(
        tape, tape.parameter(layers.front().self_attention(), attention.t5_bias->table));
  }
  return terms;
}

/// Records the forward pass of a Transformer layer; see transformer_forward.hpp.
struct TapedFlow {
  using Memory = Variable;
  using Terms = AttentionVariables;

  void attend(const Sublayer& sublayer, const MultiHeadAttention& attention,
              const MultiHeadAttentionCall& call, const Terms& terms) {
    const Variable x = input_of(sublayer);
    add_result(sublayer, attention.forward(x, x, x, call, terms));
  }
  void attend_to(const Variable& memory, const KeyValueCache*, const Sublayer& sublayer,
                 const MultiHeadAttention& attention, const AttentionOptions& options,
                 const Terms& terms) {
    add_result(sublayer, attention.forward(input_of(sublayer), memory, memory,
                                           {.attention = options}, terms));
  }
  void feed_forward(const Sublayer& sublayer, const AnyFeedForward& network,
                    const Dropout& dropout) {
    const Variable x = input_of(sublayer);
    add_result(sublayer, std::visit([&](const auto& n) { return n.forward(x, dropout); }, network));
    record_intermediate(layer, "output", stream);
  }

  Variable input_of(const Sublayer& sublayer) const {
    if (!options.norm_first) return stream;
    return normalize(*sublayer.norms.norm, options.parallel_residual ? x : stream);
  }
  void add_result(const Sublayer& sublayer, Variable y) {
    const auto& [norm, output_norm] = sublayer.norms;
    if (output_norm) y = normalize(*output_norm, y);
    y = apply_dropout(y, sublayer.dropout);
    record_intermediate(layer, sublayer.result_name, y);
    stream = stream + y;
    record_intermediate(layer, sublayer.sum_name, stream);
    if (!options.norm_first && norm) stream = normalize(*norm, stream);
  }

  const Module& layer;
  const TransformerLayerOptions& options;
  const Variable x;
  Variable stream = x;
};

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
  require_none("interventions", call.interventions);
  record_intermediate(*this, "resid_pre", x);
  TapedFlow flow{*this, options_, x};
  run(flow, call, terms);
  return flow.stream;
}

Variable TransformerEncoder::forward(const Variable& x, const TransformerEncoderCall& call) const {
  return forward(x, call, {});
}

Variable TransformerEncoder::forward(const Variable& x, const TransformerEncoderCall& call,
                                     const AttentionVariables& terms) const {
  require_none("caches", !call.caches.empty());
  require_none("weights", !call.weights.empty());
  require_none("intermediates", call.intermediates);
  require_none("interventions", call.interventions);
  check_positions(call.positions, layers_);
  Variable y = x;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    TransformerEncoderLayerCall inner = call_of_layer(call, layers_[l].options(), l);
    const AttentionVariables all =
        with_shared_t5_bias(options_, layers_, l, y, inner.attention, terms);
    y = layers_[l].forward(y, inner, all);
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
  record_intermediate(*this, "resid_pre", x);
  TapedFlow flow{*this, options_, x};
  run(flow, memory, call, self_terms, cross_terms);
  return flow.stream;
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
    TransformerDecoderLayerCall inner = call_of_layer(call, layers_[l].options(), l);
    const AttentionVariables all =
        with_shared_t5_bias(options_, layers_, l, y, inner.self_attention, self_terms);
    y = layers_[l].forward(y, memory, inner, all, cross_terms);
  }
  return norm_ ? normalize(*norm_, y) : y;
}

}  // namespace attn
