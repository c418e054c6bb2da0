#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/positions/rotary_embedding.hpp"
#include "attn/tensor_view.hpp"
#include "choices.hpp"

namespace attn_fuzz {

/// A rotation of queries and keys.
struct Rotation {
  attn::RotaryEmbeddingOptions options = {};
  std::vector<std::size_t> axes = {};  ///< of each pair
  bool is_dynamic = false;

  std::vector<long double> frequencies(std::int64_t num_keys) const;
};

/// Needs a head of 2 columns or more.
Rotation choose_rotation(Choices& choices, std::int64_t head_dim);

/// Positions passed to a call; an empty shape means none.
struct GivenPositions {
  std::vector<double> values = {};
  std::vector<std::int64_t> shape = {};

  bool given() const { return !shape.empty(); }
  attn::TensorView<const double> view() const;
};

/// Positions in any order, some of them repeated.
GivenPositions choose_positions(Choices& choices, const Rotation& rotation, std::int64_t batch,
                                std::int64_t rows);

/// The positions for the references, (B, N) for each axis. If the call passes none, they count from
/// `first` (B).
std::vector<double> places_of(const GivenPositions& positions, const Rotation& rotation,
                              std::int64_t batch, std::int64_t rows,
                              const std::vector<double>& first);

}  // namespace attn_fuzz
