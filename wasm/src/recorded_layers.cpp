// Layers called with variables. The tape of the variables records the calls.

#include <emscripten/bind.h>

#include <cstdint>

#include "attn/layers/add_norm.hpp"
#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "attn/positions/learned_positional_encoding.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/tape.hpp"
#include "guarded.hpp"
#include "recording.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

/// Results of a recurrent layer.
struct RecordedSequence {
  Variable output;
  Variable h_n;
};

/// Results of Bahdanau's decoder.
struct RecordedDecoding {
  Variable logits;
  Variable hidden;
};

TensorView<const double> positions_of(const TensorArgument* positions) {
  return positions ? positions->as<const double>() : TensorView<const double>();
}

template <class L>
Variable run(const L& layer, const Variable& x) {
  return layer.forward(x);
}

template <class L>
Variable run_with_dropout(const L& layer, const Variable& x, const Dropout& dropout) {
  return layer.forward(x, dropout);
}

Variable add_learned_positions(const LearnedPositionalEncoding& encoding, const Variable& x,
                               double start, const Dropout& dropout) {
  return encoding.forward(x, static_cast<std::int64_t>(start), dropout);
}

Variable embed(Tape& tape, const Embedding& embedding, const TensorArgument& tokens) {
  return embedding.forward(tape, ids(tokens));
}

Variable normalize_sum(const LayerNorm& norm, const Variable& x, const Variable& y) {
  return norm.forward_sum(x, y);
}

Variable add_and_normalize(const AddNorm& norm, const Variable& x, const Variable& y,
                           const Dropout& dropout) {
  return norm.forward(x, y, dropout);
}

template <class L>
RecordedSequence run_recurrent(const L& layer, const Variable& x, const Variable* h_0) {
  RecordedSequence result;
  result.output = layer.forward(x, given(h_0), &result.h_n);
  return result;
}

RecordedDecoding decode(Tape& tape, const BahdanauDecoder& decoder, const TensorArgument& tokens,
                        const Variable& encoder_outputs, const Variable& hidden,
                        const TensorArgument* encoder_lens) {
  RecordedDecoding result;
  result.logits = decoder.forward(
      tape, ids(tokens), encoder_outputs, hidden,
      encoder_lens ? encoder_lens->as<const std::int32_t>() : ConstLengths(), &result.hidden);
  return result;
}

Variable attend_heads(const MultiHeadAttention& attention, const Variable& query,
                      const Variable& key, const Variable& value, const AttentionOptions* options,
                      const AttentionVariables* terms, const TensorArgument* positions,
                      const TensorArgument* key_positions) {
  const MultiHeadAttentionCall call{.attention = given(options),
                                    .positions = positions_of(positions),
                                    .key_positions = positions_of(key_positions)};
  return attention.forward(query, key, value, call, given(terms));
}

Variable pool_additively(const AdditiveAttention& attention, const Variable& query,
                         const Variable& key, const Variable& value, bool projected,
                         const AttentionPoolingOptions& options) {
  return projected ? attention.forward_projected(query, key, value, options)
                   : attention.forward(query, key, value, options);
}

Variable project_keys(const AdditiveAttention& attention, const Variable& key) {
  return attention.project_keys(key);
}

template <class L, class Call>
Variable encode(const L& encoder, const Variable& x, const AttentionOptions* attention,
                const AttentionVariables* terms, const TensorArgument* positions,
                const Dropout& dropout) {
  const Call call{
      .attention = given(attention), .positions = positions_of(positions), .dropout = dropout};
  return encoder.forward(x, call, given(terms));
}

template <class L, class Call>
Variable decode_from(const L& decoder, const Variable& x, const Variable& memory,
                     const AttentionOptions* self_attention, const AttentionVariables* self_terms,
                     const AttentionOptions* cross_attention, const AttentionVariables* cross_terms,
                     const TensorArgument* positions, const Dropout& dropout) {
  const Call call{.self_attention = given(self_attention),
                  .cross_attention = given(cross_attention),
                  .positions = positions_of(positions),
                  .dropout = dropout};
  return decoder.forward(x, memory, call, given(self_terms), given(cross_terms));
}

}  // namespace

EMSCRIPTEN_BINDINGS(recorded_layers) {
  using emscripten::allow_raw_pointers;
  using emscripten::function;
  emscripten::value_object<RecordedSequence>("RecordedSequence")
      .field("output", &RecordedSequence::output)
      .field("hN", &RecordedSequence::h_n);
  emscripten::value_object<RecordedDecoding>("RecordedDecoding")
      .field("logits", &RecordedDecoding::logits)
      .field("hidden", &RecordedDecoding::hidden);
  function("recordLinear", guarded<&run<Linear>>);
  function("recordLayerNorm", guarded<&run<LayerNorm>>);
  function("recordLayerNormOfSum", guarded<&normalize_sum>);
  function("recordAddNorm", guarded<&add_and_normalize>);
  function("recordRMSNorm", guarded<&run<RmsNorm>>);
  function("recordFeedForward", guarded<&run_with_dropout<FeedForward>>);
  function("recordGatedFeedForward", guarded<&run_with_dropout<GatedFeedForward>>);
  function("recordConv1d", guarded<&run<Conv1d>>);
  function("recordGRU", guarded<&run_recurrent<GRU>>, allow_raw_pointers());
  function("recordRNN", guarded<&run_recurrent<RNN>>, allow_raw_pointers());
  function("recordEmbedding", guarded<&embed>);
  function("recordLearnedPositionalEncoding", guarded<&add_learned_positions>);
  function("recordBahdanauDecoder", guarded<&decode>, allow_raw_pointers());
  function("recordAdditiveAttention", guarded<&pool_additively>);
  function("recordProjectKeys", guarded<&project_keys>);
  function("recordMultiHeadAttention", guarded<&attend_heads>, allow_raw_pointers());
  function("recordTransformerEncoderLayer",
           guarded<&encode<TransformerEncoderLayer, TransformerEncoderLayerCall>>,
           allow_raw_pointers());
  function("recordTransformerEncoder", guarded<&encode<TransformerEncoder, TransformerEncoderCall>>,
           allow_raw_pointers());
  function("recordTransformerDecoderLayer",
           guarded<&decode_from<TransformerDecoderLayer, TransformerDecoderLayerCall>>,
           allow_raw_pointers());
  function("recordTransformerDecoder",
           guarded<&decode_from<TransformerDecoder, TransformerDecoderCall>>, allow_raw_pointers());
}

}  // namespace attn::wasm
