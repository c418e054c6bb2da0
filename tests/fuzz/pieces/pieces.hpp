#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/training/tape.hpp"
#include "choices.hpp"
#include "reference/scalar.hpp"

/// The layers and functions that the fuzzer combines into models.
namespace attn_fuzz {

using Scalars = reference::ArrayOf<reference::Scalar>;
using Parameters = std::map<std::string, Scalars>;

/// The sizes of a batch of sequences, (B, N, E).
struct Sizes {
  std::int64_t batch, length, width;
};

/// A layer or a function: `record` runs it on a tape, and `exact` is its reference, which receives
/// the layer's parameters by name.
struct Piece {
  std::string name;
  std::shared_ptr<attn::Module> module = nullptr;
  std::function<attn::Variable(attn::Tape&, const attn::Variable&)> record;
  std::function<Scalars(const Scalars&, const Parameters&)> exact;
};

/// Returns the same elements with another shape.
Scalars reshaped(Scalars x, std::vector<std::int64_t> shape);

/// Chooses a piece for an input of `sizes`, and sets `sizes` to the sizes of the piece's output.
Piece choose_piece(Choices& choices, Sizes& sizes);

class Terms;

/// Chooses attention or Transformer layers that are called with positions and some of `terms`. The
/// output has the shape of the input.
Piece choose_piece_of_call(Choices& choices, const Sizes& sizes,
                           const std::shared_ptr<Terms>& terms);

}  // namespace attn_fuzz
