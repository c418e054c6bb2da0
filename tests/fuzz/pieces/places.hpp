#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/positions/rotary_embedding.hpp"
#include "attn/tensor_view.hpp"
#include "choices.hpp"

namespace attn_fuzz {

/// What turns queries and keys.
struct Rotation {
  attn::RotaryEmbeddingOptions options = {};
  std::vector<std::size_t> axes = {};  ///< of each pair
  bool is_dynamic = false;

  std::vector<long double> frequencies(std::int64_t num_keys) const;
};

/// Needs a head of 2 columns or more.
Rotation choose_rotation(Choices& choices, std::int64_t head_dim);

/// Positions that a call gives; no shape: none.
struct GivenPositions {
  std::vector<double> values = {};
  std::vector<std::int64_t> shape = {};

  bool given() const { return !shape.empty(); }
  attn::TensorView<const double> view() const;
};

/// In any order, some of them several times.
GivenPositions choose_positions(Choices& choices, const Rotation& rotation, std::int64_t batch,
                                std::int64_t rows);

/// The same for the references: (B, N) of each axis. What is not given begins at `first` (B).
std::vector<double> places_of(const GivenPositions& positions, const Rotation& rotation,
                              std::int64_t batch, std::int64_t rows,
                              const std::vector<double>& first);

}  // namespace attn_fuzz
