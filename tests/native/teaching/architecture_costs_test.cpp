#include "attn/teaching/architecture_costs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compare.hpp"

namespace {

using attn::ArchitectureCosts;
using attn_test::error_of;

/// Returns true if `output` of a layer reads `token` of the layer below. Layers count from 0.
using Sees = std::function<bool(std::int64_t layer, std::int64_t output, std::int64_t token)>;

/// Number of layers until some output is connected to both the first and the last of n tokens. A
/// breadth-first search over the graph of layers starts from both tokens.
std::optional<std::int64_t> layers_until_they_meet(std::int64_t n, const Sees& sees) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<bool> from_first(size), from_last(size);
  from_first.front() = from_last.back() = true;
  for (std::int64_t layer = 0; layer <= n; ++layer) {
    const auto next = [&](const std::vector<bool>& reached) {
      std::vector<bool> result(size);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          if (reached[static_cast<std::size_t>(j)] && sees(layer, i, j)) {
            result[static_cast<std::size_t>(i)] = true;
          }
        }
      }
      return result;
    };
    from_first = next(from_first);
    from_last = next(from_last);
    for (std::size_t i = 0; i < size; ++i) {
      if (from_first[i] && from_last[i]) return layer + 1;
    }
  }
  return std::nullopt;
}

TEST(ArchitectureCostsTest, of_a_convolution_match_a_count_of_its_loops) {
  for (const std::int64_t n : {1, 2, 3, 7, 10, 16}) {
    for (const std::int64_t k : {1, 2, 3, 4, 7, 20}) {
      const std::int64_t d = 3;
      std::int64_t count = 0;
      for (std::int64_t t = 0; t < n; ++t) {
        for (std::int64_t out = 0; out < d; ++out) {
          for (std::int64_t tap = 0; tap < k; ++tap) {
            for (std::int64_t in = 0; in < d; ++in) ++count;
          }
        }
      }
      const ArchitectureCosts costs = attn::convolution_costs(n, d, k);
      EXPECT_EQ(costs.multiply_adds, count);
      EXPECT_EQ(costs.sequential_operations, 1);
      // In a causal convolution all taps are to the left, and the last output reaches furthest.
      EXPECT_EQ(
          costs.max_path_length,
          layers_until_they_meet(n, [&](auto, auto i, auto j) { return j <= i && j > i - k; }))
          << n << " tokens, kernel " << k;
      if (k % 2 == 1) {
        // With a centred kernel, the paths from both tokens meet half-way, after the same number of
        // layers.
        EXPECT_EQ(costs.max_path_length,
                  layers_until_they_meet(
                      n, [&](auto, auto i, auto j) { return std::abs(i - j) <= k / 2; }))
            << n << " tokens, centred kernel " << k;
      }
    }
  }
}

TEST(ArchitectureCostsTest, of_dilated_convolutions_have_short_paths) {
  for (std::int64_t n = 1; n <= 40; ++n) {
    for (const std::int64_t k : {1, 2, 3, 4, 7}) {
      const ArchitectureCosts costs = attn::dilated_convolution_costs(n, 2, k);
      EXPECT_EQ(costs.multiply_adds, n * k * 4);
      EXPECT_EQ(costs.max_path_length,
                layers_until_they_meet(n,
                                       [&](std::int64_t layer, std::int64_t i, std::int64_t j) {
                                         std::int64_t dilation = 1;
                                         while (layer-- > 0 && dilation < n) dilation *= k;
                                         return j <= i && (i - j) % dilation == 0 &&
                                                (i - j) / dilation < k;
                                       }))
          << n << " tokens, kernel " << k;
    }
  }
}

TEST(ArchitectureCostsTest, of_a_recurrent_layer_match_a_count_of_its_loops) {
  for (const std::int64_t n : {1, 2, 5, 9}) {
    for (const std::int64_t gates : {1, 3}) {
      const std::int64_t d = 4;
      std::int64_t count = 0, steps = 0;
      for (std::int64_t t = 0; t < n; ++t) {
        ++steps;
        for (std::int64_t out = 0; out < gates * d; ++out) {
          for (std::int64_t in = 0; in < d; ++in) ++count;  // W_ih x
          for (std::int64_t in = 0; in < d; ++in) ++count;  // W_hh h
        }
      }
      const ArchitectureCosts costs = attn::recurrent_costs(n, d, gates);
      EXPECT_EQ(costs.multiply_adds, count);
      EXPECT_EQ(costs.sequential_operations, steps);
      // x_0 → h_0 → h_1 → … → h_(n−1): states are computed one after another.
      std::int64_t path = 1;
      for (std::int64_t state = 0; state < n - 1; ++state) ++path;
      EXPECT_EQ(costs.max_path_length, path);
    }
  }
}

TEST(ArchitectureCostsTest, of_self_attention_match_a_count_of_its_loops) {
  for (const std::int64_t n : {1, 2, 5, 9}) {
    const std::int64_t d = 6;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t c = 0; c < d; ++c) ++count;  // q·k
        for (std::int64_t c = 0; c < d; ++c) ++count;  // weight · v
      }
    }
    const ArchitectureCosts costs = attn::self_attention_costs(n, d);
    EXPECT_EQ(costs.multiply_adds, count);
    EXPECT_EQ(costs.sequential_operations, 1);
    EXPECT_EQ(costs.max_path_length,
              layers_until_they_meet(n, [](auto, auto, auto) { return true; }));
    for (int projection = 0; projection < 4; ++projection) {
      for (std::int64_t i = 0; i < n; ++i) count += d * d;
    }
    EXPECT_EQ(attn::self_attention_costs(n, d, true).multiply_adds, count);
  }
}

TEST(ArchitectureCostsTest, of_a_window_match_a_count_of_its_pairs) {
  for (const std::int64_t n : {1, 2, 5, 9, 17}) {
    for (const std::int64_t left : {0, 1, 2, 5, 8, 30}) {
      for (const std::int64_t right : {0, 1, 3, 16, 30}) {
        const std::int64_t d = 3;
        const auto sees = [&](auto, auto i, auto j) { return j >= i - left && j <= i + right; };
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            if (sees(0, i, j)) count += 2 * d;
          }
        }
        const ArchitectureCosts costs = attn::window_attention_costs(n, d, left, right);
        EXPECT_EQ(costs.multiply_adds, count) << n << ", " << left << ", " << right;
        EXPECT_EQ(costs.sequential_operations, 1);
        EXPECT_EQ(costs.max_path_length, layers_until_they_meet(n, sees))
            << n << ", " << left << ", " << right;
        EXPECT_EQ(attn::window_attention_costs(n, d, left, right, true).multiply_adds,
                  count + 4 * n * d * d);
      }
    }
  }
}

TEST(ArchitectureCostsTest, large_counts_are_exact_or_errors) {
  EXPECT_EQ(attn::self_attention_costs(std::int64_t{1} << 25, 2048).multiply_adds,
            std::int64_t{1} << 62);
  EXPECT_EQ(
      attn::window_attention_costs(std::int64_t{3'000'000'000}, 1, INT64_MAX, 0).multiply_adds,
      std::int64_t{3'000'000'000} * 3'000'000'001);
  EXPECT_EQ(attn::dilated_convolution_costs(INT64_MAX / 4, 1, 2).max_path_length, 61);
}

TEST(ArchitectureCostsErrorTest, sizes) {
  EXPECT_EQ(error_of([] { attn::convolution_costs(0, 1, 1); }),
            "invalid_argument: n: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { attn::convolution_costs(1, -2, 1); }),
            "invalid_argument: d: got -2, needs 1 or more");
  EXPECT_EQ(error_of([] { attn::dilated_convolution_costs(1, 1, 0); }),
            "invalid_argument: k: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { attn::recurrent_costs(1, 1, 0); }),
            "invalid_argument: gates: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { attn::window_attention_costs(1, 1, -1, 0); }),
            "invalid_argument: left: got -1, needs 0 or more");
  EXPECT_EQ(error_of([] { attn::window_attention_costs(1, 1, 0, -1); }),
            "invalid_argument: right: got -1, needs 0 or more");
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  for (const auto& call : std::vector<std::function<void()>>{
           [] { attn::convolution_costs(kHuge, kHuge, 1); },
           [] { attn::recurrent_costs(kHuge, kHuge); },
           [] { attn::self_attention_costs(kHuge, kHuge); },
           [] { attn::self_attention_costs(1, kHuge, true); },
           // Both terms of the costs fit into an integer, but their sum does not.
           [] { attn::self_attention_costs(1'300'000, 1'300'000, true); },
           [] { attn::window_attention_costs(kHuge, kHuge, kHuge, 0); },
           [] { attn::window_attention_costs(INT64_MAX, 1, INT64_MAX, INT64_MAX); }}) {
    EXPECT_THAT(error_of(call), ::testing::StartsWith("size_overflow: multiply_adds: "));
  }
}

}  // namespace
