#include "reference/relative_skew.hpp"

#include <algorithm>
#include <cmath>

namespace reference {
namespace {

/// Pads (N, N) with a column of zeros on the left, reshapes to (N + 1, N), and drops the first row.
Array skew(const Array& products) {
  const std::int64_t n = products.size(0);
  Array padded({n, n + 1});
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t r = 0; r < n; ++r) padded.at({i, r + 1}) = products.at({i, r});
  }
  return Array({n, n}, std::vector<double>(padded.values.begin() + n, padded.values.end()));
}

}  // namespace

Bounded relative_skew(const Array& query, const Array& embeddings) {
  const std::int64_t n = query.size(0);
  Array products({n, n});
  Array magnitudes({n, n});
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t d = 0; d < query.size(1); ++d) {
        const double term = query.at({i, d}) * embeddings.at({r, d});
        products.at({i, r}) += term;
        magnitudes.at({i, r}) += std::abs(term);
      }
    }
  }
  return {skew(products), skew(magnitudes)};
}

Bounded shaw_logits(const Array& query, const Array& table) {
  const std::int64_t n = query.size(0);
  const std::int64_t k = table.size(0) / 2;
  Bounded result{Array({n, n}), Array({n, n})};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t row = std::clamp(j - i, -k, k) + k;
      for (std::int64_t d = 0; d < query.size(1); ++d) {
        const double term = query.at({i, d}) * table.at({row, d});
        result.exact.at({i, j}) += term;
        result.error.at({i, j}) += std::abs(term);
      }
    }
  }
  return result;
}

}  // namespace reference
