#include "attn/tensor_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "compare.hpp"

namespace {

using attn::ConstTensor;
using attn::Tensor;
using attn_test::error_of;
using ::testing::ElementsAre;

class TensorViewTest : public ::testing::Test {
 protected:
  /// 0, 1, 2, …
  std::vector<float> numbers_ = [] {
    std::vector<float> numbers(120);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    return numbers;
  }();
};

TEST_F(TensorViewTest, default_made_view_is_empty) {
  const Tensor view;
  EXPECT_TRUE(view.is_none());
  EXPECT_EQ(view.rank(), 0);
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_THAT(view.shape(), ElementsAre());
}

TEST_F(TensorViewTest, is_row_major_by_default) {
  const Tensor view(numbers_.data(), {2, 3, 4});
  EXPECT_EQ(view.rank(), 3);
  EXPECT_THAT(view.shape(), ElementsAre(2, 3, 4));
  EXPECT_THAT(view.strides(), ElementsAre(12, 4, 1));
  EXPECT_EQ(view(1, 2, 3), 23.0F);
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_FALSE(view.is_none());
}

TEST_F(TensorViewTest, takes_any_strides) {
  const std::array<std::int64_t, 2> shape{3, 2}, columns_first{1, 3}, reversed{-2, -1},
      repeated{0, 1};
  const Tensor transposed(numbers_.data(), shape, columns_first);
  EXPECT_EQ(transposed(2, 1), 5.0F);
  EXPECT_FALSE(transposed.is_contiguous());
  const Tensor backwards(numbers_.data() + 5, shape, reversed);
  EXPECT_EQ(backwards(0, 0), 5.0F);
  EXPECT_EQ(backwards(2, 1), 0.0F);
  const Tensor broadcast(numbers_.data(), shape, repeated);
  EXPECT_EQ(broadcast(0, 1), broadcast(2, 1));
}

TEST_F(TensorViewTest, negative_dimensions_count_from_the_last) {
  const Tensor view(numbers_.data(), {2, 3, 4});
  EXPECT_EQ(view.size(-1), 4);
  EXPECT_EQ(view.size(-3), 2);
  EXPECT_EQ(view.stride(-2), 4);
}

TEST_F(TensorViewTest, mutable_view_converts_to_constant_but_not_back) {
  static_assert(std::is_convertible_v<Tensor, ConstTensor>);
  static_assert(!std::is_convertible_v<ConstTensor, Tensor>);
  static_assert(!std::is_convertible_v<attn::TensorView<int>, ConstTensor>);
  const std::array<std::int64_t, 2> shape{3, 2}, strides{1, 3};
  const Tensor view(numbers_.data(), shape, strides);
  const ConstTensor constant = view;
  EXPECT_EQ(constant.data(), view.data());
  EXPECT_THAT(constant.shape(), ElementsAre(3, 2));
  EXPECT_THAT(constant.strides(), ElementsAre(1, 3));
  EXPECT_TRUE(ConstTensor(Tensor()).is_none());
}

TEST_F(TensorViewTest, select_fixes_a_dimension) {
  const Tensor view(numbers_.data(), {2, 3, 4});
  EXPECT_THAT(view.select(0, 1).shape(), ElementsAre(3, 4));
  EXPECT_EQ(view.select(0, 1)(2, 3), 23.0F);
  EXPECT_THAT(view.select(1, 2).shape(), ElementsAre(2, 4));
  EXPECT_EQ(view.select(1, 2)(1, 3), 23.0F);
  EXPECT_THAT(view.select(-1, 3).strides(), ElementsAre(12, 4));
  EXPECT_EQ(view.select(-1, 3)(1, 2), 23.0F);
  EXPECT_EQ(view.select(0, 0).select(0, 2).select(0, 1)(), 9.0F);
}

TEST_F(TensorViewTest, slice_narrows_a_dimension) {
  const Tensor view(numbers_.data(), {4, 5});
  const Tensor rows = view.slice(0, 1, 3), columns = view.slice(-1, 2, 5);
  EXPECT_THAT(rows.shape(), ElementsAre(2, 5));
  EXPECT_EQ(rows(0, 0), 5.0F);
  EXPECT_TRUE(rows.is_contiguous());
  EXPECT_THAT(columns.shape(), ElementsAre(4, 3));
  EXPECT_EQ(columns(3, 2), 19.0F);
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_EQ(view.slice(0, 2, 2).size(0), 0);
}

TEST_F(TensorViewTest, unsqueeze_inserts_a_dimension_of_size_1) {
  const Tensor view(numbers_.data(), {3, 4});
  EXPECT_THAT(view.unsqueeze(0).shape(), ElementsAre(1, 3, 4));
  EXPECT_THAT(view.unsqueeze(1).shape(), ElementsAre(3, 1, 4));
  EXPECT_THAT(view.unsqueeze(2).shape(), ElementsAre(3, 4, 1));
  EXPECT_THAT(view.unsqueeze(-1).shape(), ElementsAre(3, 4, 1));
  EXPECT_EQ(view.unsqueeze(1)(2, 0, 3), 11.0F);
  EXPECT_TRUE(view.unsqueeze(1).is_contiguous());
}

TEST_F(TensorViewTest, unsqueeze_stops_at_the_largest_rank) {
  const Tensor view(numbers_.data(), {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(
      error_of([&] { (void)view.unsqueeze(0); }),
      "invalid_argument: unsqueeze: got a view of the maximum rank, needs a view of smaller rank");
}

TEST_F(TensorViewTest, split_heads_sees_the_model_dimension_as_heads) {
  const Tensor view(numbers_.data(), {2, 3, 8});
  const Tensor heads = view.split_heads(4);
  EXPECT_THAT(heads.shape(), ElementsAre(2, 4, 3, 2));
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < 3; ++i) {
      for (int c = 0; c < 8; ++c) EXPECT_EQ(heads(b, c / 2, i, c % 2), view(b, i, c));
    }
  }
}

TEST_F(TensorViewTest, split_heads_follows_strides) {
  const std::array<std::int64_t, 3> shape{2, 3, 4}, strides{1, 2, 6};
  const Tensor view(numbers_.data(), shape, strides);
  const Tensor heads = view.split_heads(2);
  for (int c = 0; c < 4; ++c) EXPECT_EQ(heads(1, c / 2, 2, c % 2), view(1, 2, c));
}

TEST_F(TensorViewTest, split_heads_needs_a_divisor) {
  const auto error = [](const std::string& got, int num_heads) {
    return "shape_mismatch: split_heads: got " + got +
           ", needs shape (B, N, H·D) with H = " + std::to_string(num_heads);
  };
  const Tensor view(numbers_.data(), {2, 3, 8}), flat(numbers_.data(), {3, 8});
  EXPECT_EQ(error_of([&] { (void)view.split_heads(3); }), error("width 8", 3));
  EXPECT_EQ(error_of([&] { (void)view.split_heads(0); }), error("width 8", 0));
  EXPECT_EQ(error_of([&] { (void)view.split_heads(-2); }), error("width 8", -2));
  EXPECT_EQ(error_of([&] { (void)flat.split_heads(2); }), error("rank 2", 2));
}

TEST_F(TensorViewTest, shapes_out_of_range_are_errors) {
  EXPECT_EQ(error_of([&] { Tensor(numbers_.data(), {1, 1, 1, 1, 1, 1, 1}); }),
            "shape_mismatch: shape: got rank 7, needs at most 6");
  EXPECT_EQ(error_of([&] { Tensor(numbers_.data(), {2, -1}); }),
            "invalid_argument: shape: got size -1 in dimension 1, needs 0 or more");
  const std::array<std::int64_t, 2> shape{3, 2};
  const std::array<std::int64_t, 1> strides{1};
  EXPECT_EQ(error_of([&] { Tensor(numbers_.data(), shape, strides); }),
            "shape_mismatch: strides: got 1 strides, needs 2, one for each size");
}

TEST_F(TensorViewTest, elements_of_a_span_are_counted) {
  std::vector<float> numbers(6);
  const Tensor view(numbers, {2, 3});
  EXPECT_EQ(view.data(), numbers.data());
  EXPECT_THAT(view.strides(), ElementsAre(3, 1));
  const std::vector<float>& constant = numbers;
  EXPECT_EQ(attn::ConstTensor(constant, {6}).data(), numbers.data());
  EXPECT_EQ(attn::ConstTensor(numbers, {3, 2}).size(1), 2);
  const std::array<std::int32_t, 2> lengths{4, 5};
  EXPECT_EQ(attn::ConstLengths(lengths, {2})(1), 5);
  EXPECT_EQ(Tensor(std::span<float>(), {0, 4}).size(1), 4);

  EXPECT_EQ(error_of([&] { Tensor(numbers, {2, 2}); }),
            "shape_mismatch: elements: got 6, needs 4 for shape (2, 2)");
  EXPECT_EQ(error_of([&] { Tensor(numbers, {7}); }),
            "shape_mismatch: elements: got 6, needs 7 for shape (7)");
  EXPECT_THAT(error_of([&] { Tensor(numbers, {INT64_MAX, 4}); }),
              ::testing::StartsWith("size_overflow: shape: "));
}

#ifdef __cpp_lib_mdspan
TEST_F(TensorViewTest, a_std_mdspan_is_viewed_with_its_strides) {
  std::vector<float> numbers(24);
  const std::mdspan rows(numbers.data(), 4, 6);
  const Tensor view = rows;
  EXPECT_EQ(view.data(), numbers.data());
  EXPECT_THAT(view.shape(), ElementsAre(4, 6));
  EXPECT_THAT(view.strides(), ElementsAre(6, 1));
  const std::mdspan<const float, std::extents<int, 2, std::dynamic_extent, 4>, std::layout_left>
      columns(numbers.data(), 3);
  const attn::ConstTensor turned = columns;
  EXPECT_THAT(turned.shape(), ElementsAre(2, 3, 4));
  EXPECT_THAT(turned.strides(), ElementsAre(1, 2, 6));
  static_assert(!std::is_constructible_v<Tensor, decltype(columns)>);
}
#endif

TEST_F(TensorViewTest, a_shape_beyond_the_address_space_can_be_described) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const Tensor view(numbers_.data(), {kHuge, kHuge, kHuge});
  EXPECT_THAT(view.shape(), ElementsAre(kHuge, kHuge, kHuge));
  EXPECT_EQ(view.stride(-1), 1);
  EXPECT_EQ(view.stride(-2), kHuge);
  EXPECT_FALSE(view.is_contiguous());
}

TEST_F(TensorViewTest, sizes_of_zero_and_one_do_not_break_contiguity) {
  const std::array<std::int64_t, 3> shape{1, 3, 1}, strides{77, 1, 99};
  EXPECT_TRUE(Tensor(numbers_.data(), shape, strides).is_contiguous());
  EXPECT_TRUE(Tensor(numbers_.data(), {2, 0, 3}).is_contiguous());
  EXPECT_TRUE(Tensor(numbers_.data(), {}).is_contiguous());
}

}  // namespace
