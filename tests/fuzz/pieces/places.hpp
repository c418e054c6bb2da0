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
  std::vector<std::size_t> axes = {};  ///< the axis of each pair
  bool is_dynamic = false;

  std::vector<long double> frequencies(std::int64_t num_keys) const;
};

/// Chooses a rotation. Requires heads with at least 2 columns.
Rotation choose_rotation(Choices& choices, std::int64_t head_dim);

/// Positions to pass to a call. If the shape is empty, the call gets no positions.
struct GivenPositions {
  std::vector<double> values = {};
  std::vector<std::int64_t> shape = {};

  bool given() const { return !shape.empty(); }
  attn::TensorView<const double> view() const;
};

/// Chooses positions in any order. Some may be repeated.
GivenPositions choose_positions(Choices& choices, const Rotation& rotation, std::int64_t batch,
                                std::int64_t rows);

/// Returns the positions for the references, (B, N) for each axis. If no positions are given, the
/// positions in each batch entry count up from the entry's element of `first`.
std::vector<double> places_of(const GivenPositions& positions, const Rotation& rotation,
                              std::int64_t batch, std::int64_t rows,
                              const std::vector<double>& first);

}  // namespace attn_fuzz
