#include "nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace attn {
namespace {

/// The Levenshtein distance between `a` and `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  // The distances from the current prefix of `a` to each prefix of `b`.
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const std::string& nearest_name(std::string_view name, std::span<const std::string> names) {
  return *std::ranges::min_element(names, {},
                                   [&](const std::string& known) { return distance(name, known); });
}

}  // namespace attn
