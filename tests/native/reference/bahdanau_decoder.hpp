#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// One sequence of D2L's Seq2SeqAttentionDecoder.
struct BahdanauDecoder {
  std::map<std::string, Array> weights;  ///< by their names in D2L's state_dict
  std::int64_t num_layers = 1;
  Array encoder_outputs;  ///< (Nk, encoder_dim)
  std::int64_t encoder_len = 0;
  Array hidden;  ///< (num_layers, H), before the first step
  std::vector<std::int64_t> tokens;
};

struct BahdanauResult {
  Array logits;     ///< (T, V)
  Array alignment;  ///< (T, Nk)
};

/// Step by step, as D2L writes it down.
BahdanauResult bahdanau_decoder(const BahdanauDecoder&);

}  // namespace reference
