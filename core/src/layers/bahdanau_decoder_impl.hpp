#pragma once

#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/embedding.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/linear.hpp"
#include "attn/pooling/attention_pooling.hpp"

namespace attn {

struct BahdanauDecoder::Layers {
  explicit Layers(const BahdanauDecoderOptions& o)
      : attention(o.num_hiddens, o.encoder_dim.value_or(o.num_hiddens), o.num_hiddens),
        embedding({.num_embeddings = o.vocab_size, .embedding_dim = o.embed_size}),
        // The sum of these widths cannot overflow, because a table of each width already exists.
        rnn({o.encoder_dim.value_or(o.num_hiddens) + o.embed_size, o.num_hiddens, o.num_layers}),
        dense(o.num_hiddens, o.vocab_size) {}

  AdditiveAttention attention;
  Embedding embedding;
  GRU rnn;
  Linear dense;
};

}  // namespace attn
