#include "attn/teaching/architecture_costs.hpp"

#include <algorithm>
#include <initializer_list>

#include "validation.hpp"

namespace attn {
namespace {

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  return validation::product("multiply_adds", factors);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  if (__builtin_add_overflow(a, b, &a)) {
    validation::fail(ErrorCode::kSizeOverflow, "multiply_adds", {"a count of 2^63 or more"},
                     {"smaller sizes"});
  }
  return a;
}

void check(std::int64_t n, std::int64_t d) {
  validation::require_at_least("n", n, 1);
  validation::require_at_least("d", d, 1);
}

/// Number of layers after which an output can depend on both the first and the last of n tokens, if
/// each layer extends the receptive field by `reach` tokens.
std::optional<std::int64_t> layers_to_connect(std::int64_t n, std::int64_t reach) {
  if (n == 1) return 1;
  if (reach == 0) return std::nullopt;
  return (n - 2) / reach + 1;
}

std::int64_t projection_costs(std::int64_t n, std::int64_t d, bool projections) {
  return projections ? product({4, n, d, d}) : 0;
}

}  // namespace

ArchitectureCosts convolution_costs(std::int64_t n, std::int64_t d, std::int64_t k) {
  check(n, d);
  validation::require_at_least("k", k, 1);
  return {product({n, k, d, d}), 1, layers_to_connect(n, k - 1)};
}

ArchitectureCosts dilated_convolution_costs(std::int64_t n, std::int64_t d, std::int64_t k) {
  ArchitectureCosts costs = convolution_costs(n, d, k);
  if (k == 1) return costs;
  std::int64_t layers = 1;
  // Divides n by k instead of computing k^layers, so that nothing can overflow: `left` is ⌈n /
  // k^layers⌉.
  for (std::int64_t left = (n - 1) / k + 1; left > 1; left = (left - 1) / k + 1) ++layers;
  costs.max_path_length = layers;
  return costs;
}

ArchitectureCosts recurrent_costs(std::int64_t n, std::int64_t d, std::int64_t gates) {
  check(n, d);
  validation::require_at_least("gates", gates, 1);
  return {product({2, gates, n, d, d}), n, n};
}

ArchitectureCosts self_attention_costs(std::int64_t n, std::int64_t d, bool projections) {
  check(n, d);
  return {sum(product({2, n, n, d}), projection_costs(n, d, projections)), 1, 1};
}

ArchitectureCosts window_attention_costs(std::int64_t n, std::int64_t d, std::int64_t left,
                                         std::int64_t right, bool projections) {
  check(n, d);
  validation::require_at_least("left", left, 0);
  validation::require_at_least("right", right, 0);
  const std::int64_t l = std::min(left, n - 1);
  const std::int64_t r = std::min(right, n - 1);
  // One of the two factors `side` and `side` + 1 is even. This factor is halved before the
  // multiplication.
  const auto triangle = [](std::int64_t side) {
    return side % 2 == 0 ? product({side / 2, side + 1}) : product({side, side / 2 + 1});
  };
  const std::int64_t pairs = product({n, sum(sum(l, r), 1)}) - triangle(l) - triangle(r);
  return {sum(product({2, pairs, d}), projection_costs(n, d, projections)), 1,
          layers_to_connect(n, l + r)};
}

}  // namespace attn
