#include "attn/positions/t5_bias.hpp"

#include <algorithm>
#include <cmath>

#include "validation.hpp"

namespace attn {

std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance,
                       bool bidirectional) {
  validation::require_at_least("num_buckets", num_buckets, bidirectional ? 4 : 2);
  if (bidirectional && num_buckets % 2 != 0) {
    validation::fail_value("num_buckets", num_buckets, {"an even number if bidirectional"});
  }
  const std::int64_t buckets = bidirectional ? num_buckets / 2 : num_buckets;
  const std::int64_t exact = buckets / 2;
  if (max_distance <= exact) {
    validation::fail_value("max_distance", max_distance,
                           {"more than ", exact, ", the number of exact buckets"});
  }
  // All distances of at least max_distance share a bucket. Clamping also removes INT64_MIN, which
  // has no absolute value.
  distance = std::clamp(distance, -max_distance, max_distance);
  const std::int64_t side = bidirectional && distance > 0 ? buckets : 0;
  const std::int64_t away =
      bidirectional ? std::abs(distance) : std::max<std::int64_t>(0, -distance);
  if (away < exact) return side + away;
  const double share = std::log(static_cast<double>(away) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  // A distance exactly on a bucket boundary must not round down into the previous bucket.
  constexpr double kRoom = 1 + 1e-14;
  const auto wide =
      exact + static_cast<std::int64_t>(share * static_cast<double>(buckets - exact) * kRoom);
  return side + std::min(wide, buckets - 1);
}

}  // namespace attn
