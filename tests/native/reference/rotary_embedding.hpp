#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// Frequencies of rotary embedding in extended precision, with the field names of Hugging Face's
/// `rope_scaling`.
struct RotaryFrequencies {
  enum class Type { kDefault, kLinear, kDynamic, kYarn, kLlama3 };

  std::int64_t dim = 0;
  double base = 10000;
  Type type = Type::kDefault;
  double factor = 1;
  double max_position_embeddings = 0;  ///< the model's original maximum length
  double sequence_length = 0;
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;
  double low_freq_factor = 1, high_freq_factor = 4;
};

/// ω_0 … ω_(d/2−1) in radians per position.
std::vector<long double> rotary_frequencies(const RotaryFrequencies&);

template <class T>
struct RotaryEmbeddingOf {
  ArrayOf<T> x;                   ///< (B, H, N, D)
  std::vector<double> positions;  ///< (N) or (B·N) positions for each axis, one axis after another
  std::vector<long double> frequencies;
  bool interleaved = false;
  double attention_factor = 1;
  bool inverse = false;
  std::vector<std::size_t> axes = {};  ///< the axis of each pair; empty if there is only one axis
};
using RotaryEmbedding = RotaryEmbeddingOf<double>;

/// `error` is |x| + |y| for the elements of a rotated pair, and 0 for elements that are not
/// rotated. Multiply it by the bound that the header states.
template <class T>
BoundedOf<T> rotary_embedding(const RotaryEmbeddingOf<T>&);

/// ONNX operator RotaryEmbedding, opset 23, with its inputs and attributes.
struct OnnxRotaryEmbedding {
  Array input;      ///< (B, N, H·D) or (B, H, N, D)
  Array cos_cache;  ///< (max, d/2) or (B, N, d/2)
  Array sin_cache;
  std::optional<std::vector<std::int64_t>> position_ids;  ///< (B, N)
  std::int64_t interleaved = 0;
  std::int64_t num_heads = 0;
  std::int64_t rotary_embedding_dim = 0;
};

/// The result has the shape of the input. For each element, `error` is the sum of the magnitudes of
/// its products.
Bounded onnx_rotary_embedding(const OnnxRotaryEmbedding&);

}  // namespace reference
