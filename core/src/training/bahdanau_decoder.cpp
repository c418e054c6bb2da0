#include <algorithm>
#include <span>

#include "attn/training/functions.hpp"
#include "layers/bahdanau_decoder_impl.hpp"
#include "training/recording.hpp"

namespace attn {

using training::Recording;

Variable BahdanauDecoder::forward(Tape& tape, const IdView& tokens, const Variable& encoder_outputs,
                                  const Variable& hidden, const LengthsView& encoder_lens,
                                  Variable* last_hidden) const {
  Recording record("BahdanauDecoder", this, tape, {&encoder_outputs, &hidden});
  check_encoder(encoder_outputs.value(), hidden.value(), encoder_lens);
  const std::int64_t batch = encoder_outputs.size(0), width = options_.num_hiddens;
  check_tokens(tokens, batch);
  const std::int64_t steps = tokens.size(1);
  const auto& [attention, embedding, rnn, dense] = *layers_;
  if (steps == 0) {
    if (last_hidden) *last_hidden = hidden;
    return dense.forward(record.input(record.memory({batch, 0, width}), false));
  }
  const Variable projected_keys = attention.project_keys(encoder_outputs);
  const Variable embedded = embedding.forward(tape, tokens);
  training::record_intermediate(*this, "embedding.output", embedded);
  AttentionPoolingOptions pooling;
  pooling.valid_lens = encoder_lens;
  const std::span outputs(record.take<Variable>(steps), static_cast<std::size_t>(steps));
  Variable state = hidden;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Variable query = reshape(select(state, 0, options_.num_layers - 1), {batch, 1, width});
    const Variable context =
        attention.forward_projected(query, projected_keys, encoder_outputs, pooling);
    const Variable input = concatenate({context, slice(embedded, 1, t, t + 1)}, 2);
    outputs[static_cast<std::size_t>(t)] = rnn.forward(input, state, &state);
  }
  if (last_hidden) *last_hidden = state;
  return dense.forward(concatenate(outputs, 1));
}

}  // namespace attn
