#include "attn/positions/alibi.hpp"

#include <bit>
#include <cmath>
#include <cstddef>

namespace attn {
namespace {

/// The slope of head h if the number of heads is a power of two.
float slope(std::size_t h, std::size_t num_heads) {
  return static_cast<float>(
      std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(num_heads)));
}

}  // namespace

void alibi_slopes(std::span<float> slopes) noexcept {
  const std::size_t power = std::bit_floor(slopes.size());
  for (std::size_t h = 0; h < slopes.size(); ++h) {
    slopes[h] = h < power ? slope(h, power) : slope(2 * (h - power), 2 * power);
  }
}

}  // namespace attn
