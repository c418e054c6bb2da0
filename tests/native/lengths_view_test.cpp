#include "attn/lengths_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "attn/attention/masked_softmax.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/random.hpp"
#include "attn/training/attention.hpp"
#include "compare.hpp"

namespace {

using attn::LengthsView;
using attn::OwnedTensor;
using attn_test::error_of;
using ::testing::ElementsAre;

OwnedTensor random_tensor(std::initializer_list<std::int64_t> shape, std::uint64_t seed) {
  OwnedTensor tensor(shape);
  attn::fill_normal(tensor, {.seed = seed});
  return tensor;
}

template <class T>
class LengthsViewTest : public ::testing::Test {};
using LengthTypes = ::testing::Types<int, unsigned, long, unsigned long, long long,
                                     unsigned long long, std::int32_t, std::int64_t, std::size_t>;
TYPED_TEST_SUITE(LengthsViewTest, LengthTypes);

TYPED_TEST(LengthsViewTest, vectors_of_integers_are_lengths_of_attention) {
  const OwnedTensor x = random_tensor({2, 1, 3, 4}, 1);
  const std::vector<std::int32_t> narrow{3, 1};
  OwnedTensor expected(x.shape()), output(x.shape());
  attn::scaled_dot_product_attention(x, x, x, expected,
                                     {.valid_lens = attn::ConstLengths(narrow, {2})});
  const std::vector<TypeParam> lengths{3, 1};
  attn::scaled_dot_product_attention(x, x, x, output, {.valid_lens = lengths});
  EXPECT_EQ(output, expected);
  output.fill(0);
  attn::scaled_dot_product_attention(x, x, x, output, {.key_lens = std::span(lengths)});
  EXPECT_EQ(output, expected);
  const std::array<TypeParam, 6> of_rows{3, 3, 3, 1, 1, 1};
  output.fill(0);
  attn::scaled_dot_product_attention(x, x, x, output, {.valid_lens = {of_rows, {2, 3}}});
  EXPECT_EQ(output, expected);

  attn::Tape tape;
  std::vector<TypeParam> copied = lengths;
  const attn::Variable v = tape.variable(x);
  const attn::Variable y = attn::scaled_dot_product_attention(v, v, v, {.valid_lens = copied});
  copied = {0, 0};  // the tape has its own copy
  EXPECT_TRUE(attn_test::same_bits({y.value().data(), y.value().data() + 24},
                                   {expected.values().begin(), expected.values().end()}));
  tape.backward(y, x);
}

TYPED_TEST(LengthsViewTest, vectors_of_integers_are_lengths_of_a_masked_softmax) {
  const OwnedTensor x = random_tensor({2, 2, 5}, 2);
  OwnedTensor expected(x.shape()), output(x.shape());
  const std::vector<std::int32_t> narrow{4, 2};
  attn::masked_softmax(x, expected, {.valid_lens = attn::ConstLengths(narrow, {2})});
  const std::vector<TypeParam> lengths{4, 2};
  attn::masked_softmax(x, output, {.valid_lens = lengths});
  EXPECT_EQ(output, expected);
  const std::vector<TypeParam> of_rows{4, 4, 2, 2};
  output.fill(0);
  attn::masked_softmax(x, output, {.valid_lens = {of_rows, {2, 2}}});
  EXPECT_EQ(output, expected);
}

TEST(LengthsViewValueTest, strides_match_the_tensor) {
  const std::int64_t numbers[] = {1, 2, 3, 4, 5, 6};
  const std::array<std::int64_t, 2> shape{3, 2}, strides{1, 3};
  const LengthsView transposed = attn::TensorView<const std::int64_t>(numbers, shape, strides);
  EXPECT_EQ(transposed(2, 0), 3);
  EXPECT_EQ(transposed(0, 1), 4);
  EXPECT_THAT(transposed.shape(), ElementsAre(3, 2));
  EXPECT_TRUE(LengthsView().is_none());
  EXPECT_FALSE(LengthsView(std::vector<int>{}).data() != nullptr);
}

TEST(LengthsViewValueTest, lengths_that_do_not_fit_are_errors) {
  const OwnedTensor x({1, 1, 3, 4});
  OwnedTensor output(x.shape());
  const auto error_with = [&](const LengthsView& lengths) {
    return error_of(
        [&] { attn::scaled_dot_product_attention(x, x, x, output, {.valid_lens = lengths}); });
  };
  const std::vector<std::int64_t> beyond_32_bits{(std::int64_t{1} << 32) + 1};
  EXPECT_EQ(error_with(beyond_32_bits),
            "invalid_argument: valid_lens: got 4294967297, needs a length from 0 to 3, the number "
            "of keys");
  const std::vector<std::uint64_t> beyond_63_bits{UINT64_MAX};
  EXPECT_EQ(error_with(beyond_63_bits),
            "invalid_argument: valid_lens: got -1, needs a length from 0 to 3, the number of keys");
  const std::vector<int> of_no_entry{1, 2};
  EXPECT_EQ(error_with(of_no_entry),
            "shape_mismatch: valid_lens: got shape (2), needs shape (1) or (1, 3)");
  EXPECT_EQ(error_of([&] { error_with({of_no_entry, {3}}); }),
            "shape_mismatch: elements: got 2, needs 3 for shape (3)");
}

static_assert(!std::is_constructible_v<LengthsView, std::vector<float>>);
static_assert(!std::is_constructible_v<LengthsView, std::vector<bool>>);
static_assert(!std::is_constructible_v<LengthsView, std::vector<std::int8_t>>);

}  // namespace
