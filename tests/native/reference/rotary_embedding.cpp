#include "reference/rotary_embedding.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/scalar.hpp"
#include "reference/sinusoidal_encoding.hpp"

namespace reference {
namespace {

using Real = long double;
constexpr Real kTwoPi = 2 * std::numbers::pi_v<Real>;

/// Converts a factor that the core stores in float32. A Scalar also carries a bound on the rounding
/// error; a double does not.
template <class T>
Wide<T> factor(Real x) {
  if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return T(static_cast<double>(x), 4 * kUnit);
  }
}

}  // namespace

std::vector<Real> rotary_frequencies(const RotaryFrequencies& p) {
  const std::int64_t pairs = p.dim / 2;
  std::vector<Real> result;
  for (std::int64_t j = 0; j < pairs; ++j) {
    const Real plain = sinusoidal_frequency(p.base, j, p.dim);
    // The scaling rules depend on the number of turns that a pair makes within the original maximum
    // length.
    const Real turns = p.max_position_embeddings * plain / kTwoPi;
    Real frequency = plain;
    switch (p.type) {
      case RotaryFrequencies::Type::kDefault:
        break;
      case RotaryFrequencies::Type::kLinear:
        frequency = plain / p.factor;
        break;
      case RotaryFrequencies::Type::kDynamic: {
        // (base·g^(d/(d−2)))^(−2j/d) = base^(−2j/d) · g^(−2j/(d−2)).
        const Real length = std::max(p.sequence_length, p.max_position_embeddings);
        const Real growth = p.factor * length / p.max_position_embeddings - (p.factor - 1);
        if (j > 0) frequency = plain * std::exp(-std::log(growth) * 2 * j / (p.dim - 2));
        break;
      }
      case RotaryFrequencies::Type::kYarn: {
        const auto pair_with = [&](Real wanted) {
          return p.dim * std::log(p.max_position_embeddings / (kTwoPi * wanted)) /
                 (2 * std::log(static_cast<Real>(p.base)));
        };
        Real low = pair_with(p.beta_fast);
        Real high = pair_with(p.beta_slow);
        if (p.truncate) {
          low = std::floor(low);
          high = std::ceil(high);
        }
        low = std::max<Real>(low, 0);
        high = std::min<Real>(high, p.dim - 1);
        if (low == high) high += 0.001L;
        const Real extrapolated = 1 - std::clamp<Real>((j - low) / (high - low), 0, 1);
        frequency = plain / p.factor * (1 - extrapolated) + plain * extrapolated;
        break;
      }
      case RotaryFrequencies::Type::kLlama3:
        if (turns < p.low_freq_factor) {
          frequency = plain / p.factor;
        } else if (turns <= p.high_freq_factor) {
          const Real smooth =
              (turns - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor);
          frequency = (1 - smooth) * plain / p.factor + smooth * plain;
        }
        break;
    }
    result.push_back(frequency);
  }
  return result;
}

template <class T>
BoundedOf<T> rotary_embedding(const RotaryEmbeddingOf<T>& p) {
  const std::int64_t rows = p.x.size(2);
  const auto pairs = static_cast<std::int64_t>(p.frequencies.size());
  const std::size_t num_axes =
      p.axes.empty() ? 1 : 1 + *std::max_element(p.axes.begin(), p.axes.end());
  const std::size_t per_axis = p.positions.size() / num_axes;
  BoundedOf<T> result{p.x, Array(p.x.shape)};
  for (std::int64_t b = 0; b < p.x.size(0); ++b) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const bool shared = static_cast<std::int64_t>(per_axis) == rows;
      for (std::int64_t j = 0; j < pairs; ++j) {
        const std::size_t axis = p.axes.empty() ? 0 : p.axes[static_cast<std::size_t>(j)];
        const Real position =
            p.positions[axis * per_axis + static_cast<std::size_t>(shared ? i : b * rows + i)];
        const Real angle = position * p.frequencies[static_cast<std::size_t>(j)];
        const Wide<T> cos = factor<T>(p.attention_factor * std::cos(angle));
        const Wide<T> sin = factor<T>(p.attention_factor * std::sin(angle) * (p.inverse ? -1 : 1));
        const std::int64_t first = p.interleaved ? 2 * j : j;
        const std::int64_t second = p.interleaved ? 2 * j + 1 : pairs + j;
        for (std::int64_t h = 0; h < p.x.size(1); ++h) {
          const Wide<T> x = p.x.at({b, h, i, first});
          const Wide<T> y = p.x.at({b, h, i, second});
          result.exact.at({b, h, i, first}) = narrow(x * cos - y * sin);
          result.exact.at({b, h, i, second}) = narrow(x * sin + y * cos);
          const double magnitude = std::abs(plain(narrow(x))) + std::abs(plain(narrow(y)));
          result.error.at({b, h, i, first}) = magnitude;
          result.error.at({b, h, i, second}) = magnitude;
        }
      }
    }
  }
  return result;
}

template Bounded rotary_embedding(const RotaryEmbedding&);
template BoundedOf<Scalar> rotary_embedding(const RotaryEmbeddingOf<Scalar>&);

Bounded onnx_rotary_embedding(const OnnxRotaryEmbedding& p) {
  const bool flat = p.input.shape.size() == 3;
  const std::int64_t batch = p.input.size(0);
  const std::int64_t rows = p.input.size(flat ? 1 : 2);
  const std::int64_t heads = flat ? p.num_heads : p.input.size(1);
  const std::int64_t head_size = flat ? p.input.size(2) / heads : p.input.size(3);
  const std::int64_t dim = p.rotary_embedding_dim == 0 ? head_size : p.rotary_embedding_dim;
  const auto at = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
    const std::int64_t flat_index = flat ? ((b * rows + i) * heads + h) * head_size + c
                                         : ((b * heads + h) * rows + i) * head_size + c;
    return static_cast<std::size_t>(flat_index);
  };
  const auto cached = [&](const Array& cache, std::int64_t b, std::int64_t i, std::int64_t j) {
    if (!p.position_ids) return cache.at({b, i, j});
    return cache.at({(*p.position_ids)[static_cast<std::size_t>(b * rows + i)], j});
  };
  Bounded result{p.input, Array(p.input.shape)};
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t j = 0; j < dim / 2; ++j) {
          const std::size_t first = at(b, h, i, p.interleaved != 0 ? 2 * j : j);
          const std::size_t second = at(b, h, i, p.interleaved != 0 ? 2 * j + 1 : dim / 2 + j);
          const double x = p.input.values[first];
          const double y = p.input.values[second];
          const double cos = cached(p.cos_cache, b, i, j);
          const double sin = cached(p.sin_cache, b, i, j);
          result.exact.values[first] = cos * x - sin * y;
          result.exact.values[second] = sin * x + cos * y;
          result.error.values[first] = std::abs(cos * x) + std::abs(sin * y);
          result.error.values[second] = std::abs(sin * x) + std::abs(cos * y);
        }
      }
    }
  }
  return result;
}

}  // namespace reference
