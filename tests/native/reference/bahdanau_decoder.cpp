#include "reference/bahdanau_decoder.hpp"

#include "reference/attention_pooling.hpp"
#include "reference/linear.hpp"
#include "reference/recurrent.hpp"

namespace reference {

BahdanauDecoderOf<Scalar> variables(Tape& tape, const BahdanauDecoder& p) {
  return {tape.variables(p.weights), p.num_layers, tape.variables(p.encoder_outputs), p.encoder_len,
          tape.variables(p.hidden),  p.tokens};
}

template <class T>
BahdanauResultOf<T> bahdanau_decoder(const BahdanauDecoderOf<T>& p) {
  const std::int64_t num_keys = p.encoder_outputs.size(0), encoder_dim = p.encoder_outputs.size(1);
  const std::int64_t num_hiddens = p.hidden.size(1);
  const ArrayOf<T>& embedding = p.weights.at("embedding.weight");
  const std::int64_t embed_size = embedding.size(1), vocab_size = embedding.size(0);
  const auto steps = static_cast<std::int64_t>(p.tokens.size());

  PoolingOf<T> attention;
  attention.score = PoolingScore::kAdditive;
  attention.key = attention.value = p.encoder_outputs;
  attention.query_weight = p.weights.at("attention.W_q.weight");
  attention.key_weight = p.weights.at("attention.W_k.weight");
  attention.score_weight = p.weights.at("attention.w_v.weight");
  attention.attends = [&](std::int64_t, std::int64_t j) { return j < p.encoder_len; };
  std::vector<RecurrentLayerOf<T>> layers;
  for (std::int64_t l = 0; l < p.num_layers; ++l) {
    const std::string suffix = "_l" + std::to_string(l);
    layers.push_back({p.weights.at("rnn.weight_ih" + suffix),
                      p.weights.at("rnn.weight_hh" + suffix), p.weights.at("rnn.bias_ih" + suffix),
                      p.weights.at("rnn.bias_hh" + suffix)});
  }

  ArrayOf<T> hidden = p.hidden;
  BahdanauResultOf<T> result{ArrayOf<T>({steps, vocab_size}), ArrayOf<T>({steps, num_keys})};
  for (std::int64_t t = 0; t < steps; ++t) {
    attention.query = ArrayOf<T>({1, num_hiddens});
    for (std::int64_t i = 0; i < num_hiddens; ++i) {
      attention.query.at({0, i}) = hidden.at({p.num_layers - 1, i});
    }
    const PoolingResultOf<T> pooled = attention_pooling(attention);
    ArrayOf<T> input({1, encoder_dim + embed_size});
    for (std::int64_t i = 0; i < encoder_dim; ++i) {
      input.at({0, i}) = pooled.output.exact.at({0, i});
    }
    const std::int64_t token = p.tokens[static_cast<std::size_t>(t)];
    for (std::int64_t i = 0; i < embed_size; ++i) {
      input.at({0, encoder_dim + i}) = embedding.at({token, i});
    }
    const RecurrentResultOf<T> step = recurrent(Cell::kGru, layers, input, hidden);
    hidden = step.h_n.exact;
    const BoundedOf<T> logits = linear<T>({step.output.exact, {}}, p.weights.at("dense.weight"),
                                          p.weights.at("dense.bias"));
    for (std::int64_t v = 0; v < vocab_size; ++v) {
      result.logits.at({t, v}) = logits.exact.at({0, v});
    }
    for (std::int64_t j = 0; j < num_keys; ++j) {
      result.alignment.at({t, j}) = pooled.weights.exact.at({0, j});
    }
  }
  return result;
}

template BahdanauResult bahdanau_decoder(const BahdanauDecoder&);
template BahdanauResultOf<Scalar> bahdanau_decoder(const BahdanauDecoderOf<Scalar>&);

}  // namespace reference
