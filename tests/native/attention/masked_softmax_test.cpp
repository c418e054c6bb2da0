#include "attn/attention/masked_softmax.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "reference/masked_softmax.hpp"
#include "shape.hpp"

namespace {

using attn::MaskedSoftmaxOptions;
using attn_test::count_of;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::HostTensor;
using attn_test::is_within;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::Shape;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class MaskedSoftmaxTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> softmax(const std::vector<float>& x, const Shape& shape,
                             const MaskedSoftmaxOptions& options = {}, int threads = 2) {
    std::vector<float> output(x.size(), 7.0F);
    attn::masked_softmax({x.data(), std::span<const std::int64_t>(shape)},
                         {output.data(), std::span<const std::int64_t>(shape)}, options,
                         context(threads));
    return output;
  }

  void expect_exact(const std::vector<float>& x, const Shape& shape,
                    const std::vector<bool>& taking_part, const MaskedSoftmaxOptions& options) {
    const auto [exact, error] = reference::masked_softmax(reference::Array(shape, x), taking_part);
    EXPECT_TRUE(is_within(softmax(x, shape, options), exact, error))
        << ::testing::PrintToString(shape);
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(MaskedSoftmaxTest);

TEST_P(MaskedSoftmaxTest, without_a_mask_is_softmax) {
  Random random;
  for (std::int64_t cols = 1; cols <= 70; ++cols) {
    const std::vector<float> x = random.normals(3 * cols, 4);
    expect_exact(x, {3, cols}, std::vector<bool>(x.size(), true), {});
  }
  for (const std::int64_t cols : {255, 256, 257, 4099}) {
    const std::vector<float> x = random.normals(2 * cols, 10);
    expect_exact(x, {2, cols}, std::vector<bool>(x.size(), true), {});
  }
}

TEST_P(MaskedSoftmaxTest, d2l_example) {
  Random random;
  const std::vector<float> x = random.uniforms(2 * 2 * 4, 0, 1);
  const std::int32_t per_batch[] = {2, 3};
  const std::int32_t per_row[] = {1, 3, 2, 4};
  std::vector<bool> taking_part;
  for (int i = 0; i < 16; ++i) taking_part.push_back(i % 4 < per_batch[i / 8]);
  expect_exact(x, {2, 2, 4}, taking_part, {.valid_lens = {per_batch, {2}}});
  for (int i = 0; i < 16; ++i) taking_part[static_cast<std::size_t>(i)] = i % 4 < per_row[i / 4];
  expect_exact(x, {2, 2, 4}, taking_part, {.valid_lens = {per_row, {2, 2}}});
}

TEST_P(MaskedSoftmaxTest, lengths_and_masks_of_every_rank_exclude_together) {
  Random random;
  struct Case {
    Shape shape, lens, mask;
  };
  const Case cases[] = {
      {{5, 37}, {5}, {}},
      {{5, 37}, {}, {37}},
      {{5, 37}, {}, {5, 1}},
      {{5, 37}, {5}, {5, 37}},
      {{3, 5, 37}, {3}, {}},
      {{3, 5, 37}, {3, 5}, {5, 37}},
      {{3, 5, 37}, {3}, {3, 1, 37}},
      {{3, 5, 37}, {}, {3, 5, 37}},
      {{2, 3, 5, 37}, {2}, {}},
      {{2, 3, 5, 37}, {2, 5}, {2, 1, 5, 37}},
      {{2, 3, 5, 37}, {2, 5}, {3, 1, 1}},
      {{2, 3, 5, 37}, {}, {1}},
      {{2, 3, 5, 1}, {2}, {2, 3, 5, 1}},
  };
  for (const Case& c : cases) {
    const std::int64_t cols = c.shape.back();
    const std::int64_t rows = c.shape[c.shape.size() - 2];
    const std::vector<float> x = random.normals(count_of(c.shape), 3);
    std::vector<std::int32_t> lens(c.lens.empty() ? 0 : count_of(c.lens));
    for (std::int32_t& length : lens) length = static_cast<std::int32_t>(random.integer(0, cols));
    std::vector<std::uint8_t> mask(c.mask.empty() ? 0 : count_of(c.mask));
    for (std::uint8_t& flag : mask) flag = random.chance(0.6) ? 200 : 0;

    std::vector<bool> taking_part(x.size(), true);
    const reference::Array flags(c.mask, mask);
    for (std::size_t at = 0; at < x.size(); ++at) {
      const auto flat = static_cast<std::int64_t>(at);
      const std::int64_t column = flat % cols;
      const std::int64_t row = flat / cols % rows;
      const std::int64_t batch = flat / (static_cast<std::int64_t>(x.size()) / c.shape[0]);
      const std::int64_t head =
          flat / cols / rows % c.shape[c.shape.size() > 2 ? c.shape.size() - 3 : 0];
      if (!lens.empty()) {
        const std::size_t which =
            static_cast<std::size_t>(c.lens.size() == 2 ? batch * rows + row : batch);
        taking_part[at] = column < lens[which];
      }
      if (!mask.empty()) {
        const bool flag = c.shape.size() == 4 ? flags.broadcast_at({batch, head, row, column}) != 0
                          : c.shape.size() == 3 ? flags.broadcast_at({batch, row, column}) != 0
                                                : flags.broadcast_at({row, column}) != 0;
        taking_part[at] = taking_part[at] && flag;
      }
    }
    MaskedSoftmaxOptions options;
    if (!lens.empty()) options.valid_lens = {lens.data(), std::span<const std::int64_t>(c.lens)};
    if (!mask.empty()) options.mask = {mask.data(), std::span<const std::int64_t>(c.mask)};
    expect_exact(x, c.shape, taking_part, options);
  }
}

TEST_P(MaskedSoftmaxTest, rows_with_nothing_left_are_zero) {
  const std::vector<float> x(2 * 20, 1.0F);
  const std::int32_t lens[] = {0, 20};
  const std::vector<float> output = softmax(x, {2, 20}, {.valid_lens = {lens, {2}}});
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(output[i], 0.0F);
  const std::vector<float> none(20, -kInfinity);
  EXPECT_THAT(softmax(none, {1, 20}), ::testing::Each(0.0F));
  const std::uint8_t no = 0;
  EXPECT_THAT(softmax(x, {2, 20}, {.mask = {&no, {1}}}), ::testing::Each(0.0F));
}

TEST_P(MaskedSoftmaxTest, excluded_values_have_no_effect) {
  Random random;
  for (const float poison : {kNaN, kInfinity, -kInfinity, 3e38F}) {
    std::vector<float> x = random.normals(2 * 41);
    std::vector<std::uint8_t> mask(x.size(), 1);
    for (std::uint8_t& flag : mask) flag = random.chance(0.7) ? 1 : 0;
    const MaskedSoftmaxOptions options{.mask = {mask.data(), {2, 41}}};
    const std::vector<float> clean = softmax(x, {2, 41}, options);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (mask[i] == 0) x[i] = poison;
    }
    EXPECT_TRUE(same_bits(clean, softmax(x, {2, 41}, options)));
    const std::int32_t lens[] = {30, 17};
    for (std::size_t i = 30; i < 41; ++i) x[i] = poison;
    for (std::size_t i = 41 + 17; i < 82; ++i) x[i] = poison;
    for (std::size_t i = 0; i < 30; ++i) x[i] = 1;
    for (std::size_t i = 41; i < 58; ++i) x[i] = 1;
    const std::vector<float> output = softmax(x, {2, 41}, {.valid_lens = {lens, {2}}});
    for (std::size_t i = 0; i < 41; ++i) EXPECT_NEAR(output[i], i < 30 ? 1.0 / 30 : 0, 1e-7);
  }
}

TEST_P(MaskedSoftmaxTest, included_nan_makes_its_row_nan_except_in_excluded_columns) {
  for (const float poison : {kNaN, kInfinity}) {
    for (const std::size_t place : {0, 1, 16, 33}) {
      std::vector<float> x(3 * 40, 0.5F);
      x[40 + place] = poison;
      x[40 + 20] = -kInfinity;
      std::vector<std::uint8_t> mask(40, 1);
      mask[5] = 0;
      const std::vector<std::int32_t> lens(3, 36);
      const std::vector<float> output =
          softmax(x, {3, 40}, {.valid_lens = {lens.data(), {3}}, .mask = {mask.data(), {40}}});
      for (std::size_t i = 0; i < output.size(); ++i) {
        const bool taking_part = i % 40 < 36 && i % 40 != 5;
        EXPECT_EQ(std::isnan(output[i]), taking_part && i / 40 == 1) << i;
        if (!taking_part) {
          EXPECT_EQ(output[i], 0.0F);
        }
      }
    }
  }
}

TEST_P(MaskedSoftmaxTest, huge_scores_neither_overflow_nor_vanish) {
  const std::vector<float> x{3e38F, 3e38F, -3e38F, 1, -1000, -1001, -kInfinity, -2000};
  const std::vector<float> output = softmax(x, {2, 4});
  EXPECT_EQ(output[0], 0.5F);
  EXPECT_EQ(output[2], 0.0F);
  EXPECT_NEAR(output[4], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(output[6], 0.0F);
}

TEST_P(MaskedSoftmaxTest, random_rows_stay_within_the_stated_bound) {
  Random random;
  attn_test::LargestError largest("share of bound, masked softmax", 1);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t cols = random.integer(1, 600);
    const std::vector<float> x = random.normals(4 * cols, random.uniform(0.1F, 30));
    const std::vector<bool> all(x.size(), true);
    const auto [exact, error] = reference::masked_softmax(reference::Array({4, cols}, x), all);
    const std::vector<float> output = softmax(x, {4, cols});
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_GE(output[i], 0);
      largest.add((output[i] - exact.values[i]) / error.values[i]);
    }
  }
}

TEST_P(MaskedSoftmaxTest, is_equivariant_under_permutation_and_invariant_under_addition) {
  Random random;
  const std::vector<float> x = random.normals(50, 5);
  const std::vector<float> output = softmax(x, {1, 50});
  std::vector<float> shifted = x;
  for (float& value : shifted) value += 64;
  std::vector<float> reversed(x.rbegin(), x.rend());
  const std::vector<float> of_shifted = softmax(shifted, {1, 50});
  const std::vector<float> of_reversed = softmax(reversed, {1, 50});
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_NEAR(output[i], of_reversed[49 - i], 1e-6);
    EXPECT_NEAR(output[i], of_shifted[i], 1e-5);
  }
}

TEST_P(MaskedSoftmaxTest, any_strides_work_and_the_output_may_be_the_input) {
  Random random;
  const Shape shape{2, 3, 7, 35};
  const std::vector<float> x = random.normals(2 * 3 * 7 * 35);
  std::vector<std::uint8_t> flags(2 * 3 * 7 * 35);
  for (std::uint8_t& flag : flags) flag = random.chance(0.7) ? 1 : 0;
  const std::vector<std::int32_t> lens_values{3, 35, 7, 0, 30, 20, 10, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<float> expected =
      softmax(x, shape,
              {.valid_lens = {lens_values.data(), {2, 7}},
               .mask = {flags.data(), std::span<const std::int64_t>(shape)}});
  for (const Layout layout : {Layout::kContiguous, Layout::kHeadsInside, Layout::kSpread,
                              Layout::kTransposed, Layout::kReversed}) {
    FloatTensor input(shape, x, layout);
    auto output = FloatTensor::filled(shape, 7.0F, layout);
    const HostTensor<std::uint8_t> mask(shape, flags, layout);
    const HostTensor<std::int32_t> lens({2, 7}, lens_values, layout);
    const MaskedSoftmaxOptions options{.valid_lens = lens.view(), .mask = mask.view()};
    attn::masked_softmax(input.view(), output.view(), options, context());
    EXPECT_TRUE(same_bits(expected, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
    attn::masked_softmax(input.view(), input.view(), options, context());
    EXPECT_TRUE(same_bits(expected, input.values()));
    EXPECT_TRUE(input.gaps_are_untouched());
  }
}

TEST_P(MaskedSoftmaxTest, a_mask_may_have_other_strides_than_the_numbers_or_be_absent) {
  Random random;
  const Shape shape{3, 7, 35};
  const std::vector<float> x = random.normals(3 * 7 * 35);
  std::vector<std::uint8_t> flags(3 * 7 * 35);
  for (std::uint8_t& flag : flags) flag = random.chance(0.7) ? 1 : 0;
  const HostTensor<std::uint8_t> close(shape, flags), apart(shape, flags, Layout::kSpread);
  const std::vector<float> all = softmax(x, shape);
  const std::vector<float> part =
      softmax(x, shape, {.mask = {flags.data(), std::span<const std::int64_t>(shape)}});
  for (const Layout layout : {Layout::kContiguous, Layout::kSpread, Layout::kReversed}) {
    const FloatTensor input(shape, x, layout);
    const auto expect = [&](const std::vector<float>& want, const attn::ConstMask& mask) {
      auto output = FloatTensor::filled(shape, 7.0F, layout);
      attn::masked_softmax(input.view(), output.view(), {.mask = mask}, context());
      EXPECT_TRUE(same_bits(output.values(), want));
      EXPECT_TRUE(output.gaps_are_untouched());
    };
    expect(all, {});
    expect(part, close.view());
    expect(part, apart.view());
  }
}

TEST_P(MaskedSoftmaxTest, a_row_has_the_same_bits_among_any_other_rows) {
  Random random;
  const std::vector<float> x = random.normals(300 * 200);
  const std::vector<float> all = softmax(x, {300, 200}, {}, 1);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(all, softmax(x, {300, 200}, {}, threads)));
  }
  EXPECT_TRUE(same_bits({all.begin() + 77 * 200, all.begin() + 78 * 200},
                        softmax({x.begin() + 77 * 200, x.begin() + 78 * 200}, {1, 200})));
  // Removing the excluded columns does not change the result.
  const std::vector<std::int32_t> lens(300, 101);
  const std::vector<float> part = softmax(x, {300, 200}, {.valid_lens = {lens.data(), {300}}});
  EXPECT_TRUE(same_bits({part.begin(), part.begin() + 101},
                        softmax({x.begin(), x.begin() + 101}, {1, 101})));
}

TEST_P(MaskedSoftmaxTest, empty_tensors_are_accepted) {
  attn::masked_softmax({nullptr, {0, 4}}, {nullptr, {0, 4}}, {}, context());
  attn::masked_softmax({nullptr, {4, 0}}, {nullptr, {4, 0}}, {}, context());
}

TEST_P(MaskedSoftmaxTest, a_steady_loop_of_calls_allocates_nothing) {
  std::vector<float> x(100 * 70);
  attn_test::expect_no_allocations(
      [&] { attn::masked_softmax({x.data(), {100, 70}}, {x.data(), {100, 70}}, {}, context()); });
}

TEST(MaskedSoftmaxErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(64, 7.0F);
  float* p = memory.data();
  const std::vector<std::int32_t> lens{1, 2, 4, -1};
  const std::uint8_t flag = 1;
  const auto call = [&](const MaskedSoftmaxOptions& options) {
    return error_of([&] { attn::masked_softmax({p, {2, 2, 3}}, {p + 32, {2, 2, 3}}, options); });
  };
  EXPECT_EQ(error_of([&] { attn::masked_softmax({p, {4}}, {p, {4}}); }),
            "shape_mismatch: x: got shape (4), needs (N, K), (B, N, K) or (B, H, N, K)");
  EXPECT_EQ(error_of([&] { attn::masked_softmax({p, {2, 4}}, {p, {4, 2}}); }),
            "shape_mismatch: output: got shape (4, 2), needs shape (2, 4)");
  EXPECT_EQ(error_of([&] { attn::masked_softmax({nullptr, {2, 4}}, {p, {2, 4}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { attn::masked_softmax({p, {2, 4}}, {nullptr, {2, 4}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_EQ(call({.valid_lens = {lens.data(), {3}}}),
            "shape_mismatch: valid_lens: got shape (3), needs shape (2) or (2, 2)");
  EXPECT_EQ(call({.valid_lens = {lens.data(), {2, 3}}}),
            "shape_mismatch: valid_lens: got shape (2, 3), needs shape (2) or (2, 2)");
  EXPECT_EQ(call({.valid_lens = {lens.data() + 1, {2}}}),
            "invalid_argument: valid_lens: got 4, needs a length from 0 to 3, the number of "
            "columns of x");
  EXPECT_THAT(call({.valid_lens = {lens.data() + 3, {1}}}), HasSubstr("valid_lens: got shape (1)"));
  EXPECT_THAT(error_of([&] {
                attn::masked_softmax({p, {1, 3}}, {p, {1, 3}},
                                     {.valid_lens = {lens.data() + 3, {1}}});
              }),
              StartsWith("invalid_argument: valid_lens: got -1"));
  EXPECT_EQ(call({.valid_lens = {nullptr, {2}}}),
            "invalid_argument: valid_lens: got a null pointer, needs data");
  EXPECT_THAT(call({.mask = {&flag, {2}}}), StartsWith("shape_mismatch: mask: got shape (2)"));
  EXPECT_EQ(call({.mask = {nullptr, {3}}}),
            "invalid_argument: mask: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
