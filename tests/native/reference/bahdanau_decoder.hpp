#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/array.hpp"
#include "reference/scalar.hpp"

namespace reference {

/// One sequence of D2L's Seq2SeqAttentionDecoder.
template <class T>
struct BahdanauDecoderOf {
  std::map<std::string, ArrayOf<T>> weights;  ///< weights by their names in D2L's state_dict
  std::int64_t num_layers = 1;
  ArrayOf<T> encoder_outputs;  ///< (Nk, encoder_dim)
  std::int64_t encoder_len = 0;
  ArrayOf<T> hidden;  ///< the state before the first step, (num_layers, H)
  std::vector<std::int64_t> tokens;
};
using BahdanauDecoder = BahdanauDecoderOf<double>;

BahdanauDecoderOf<Scalar> variables(Tape&, const BahdanauDecoder&);

template <class T>
struct BahdanauResultOf {
  ArrayOf<T> logits;     ///< (T, V)
  ArrayOf<T> alignment;  ///< (T, Nk)
};
using BahdanauResult = BahdanauResultOf<double>;

/// Computes one step after another, following the definition in D2L.
template <class T>
BahdanauResultOf<T> bahdanau_decoder(const BahdanauDecoderOf<T>&);

}  // namespace reference
