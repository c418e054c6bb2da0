#include "attn/owned_tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"

namespace {

using attn::ConstTensor;
using attn::OwnedTensor;
using attn::Tensor;
using attn_test::error_of;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(OwnedTensorTest, begins_with_zeros) {
  const OwnedTensor x({2, 3});
  EXPECT_THAT(x.shape(), ElementsAre(2, 3));
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_EQ(x.values().size(), 6U);
  EXPECT_THAT(x.values(), Each(0.0F));
}

TEST(OwnedTensorTest, takes_values_row_major) {
  const OwnedTensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x(0, 2), 3.0F);
  EXPECT_EQ(x(1, 0), 4.0F);
  EXPECT_TRUE(x.view().is_contiguous());
}

TEST(OwnedTensorTest, is_an_input_and_an_output) {
  const OwnedTensor q({1, 2}, {1, 2}), k({1, 2}, {3, 4}), v({1, 2}, {5, 6});
  OwnedTensor output({1, 2});
  attn::scaled_dot_product_attention(q, k, v, output);
  EXPECT_EQ(output, v);
  static_assert(std::is_convertible_v<OwnedTensor&, Tensor>);
  static_assert(!std::is_convertible_v<const OwnedTensor&, Tensor>);
  static_assert(!std::is_convertible_v<OwnedTensor, Tensor>);
}

TEST(OwnedTensorTest, a_copy_has_separate_elements) {
  OwnedTensor x({2}, {1, 2});
  OwnedTensor y = x;
  y(0) = 7;
  EXPECT_THAT(x.values(), ElementsAre(1, 2));
  EXPECT_NE(x, y);
  x = y;
  EXPECT_EQ(x, y);
  EXPECT_NE(OwnedTensor({2, 1}), OwnedTensor({1, 2}));
}

TEST(OwnedTensorTest, a_tensor_without_elements_or_moved_from_is_none) {
  OwnedTensor x({2}, {1, 2});
  const OwnedTensor y = std::move(x);
  EXPECT_THAT(y.values(), ElementsAre(1, 2));
  EXPECT_TRUE(x.view().is_none());
  EXPECT_TRUE(OwnedTensor().view().is_none());
  EXPECT_FALSE(OwnedTensor({0, 4}).view().is_none());
}

TEST(OwnedTensorTest, fill_sets_every_element) {
  OwnedTensor x({3, 2});
  x.fill(0.5F);
  EXPECT_THAT(x.values(), Each(0.5F));
}

TEST(OwnedTensorTest, errors_name_the_argument) {
  EXPECT_EQ(error_of([] { OwnedTensor({2, -1}); }),
            "invalid_argument: shape: got size -1 in dimension 1, needs 0 or more");
  EXPECT_EQ(error_of([] { OwnedTensor({1, 1, 1, 1, 1, 1, 1}); }),
            "shape_mismatch: shape: got rank 7, needs at most 6");
  EXPECT_THAT(error_of([] { OwnedTensor({INT64_MAX, 2}); }),
              ::testing::StartsWith("size_overflow: shape: "));
  EXPECT_EQ(error_of([] { OwnedTensor({2, 2}, {1, 2, 3}); }),
            "shape_mismatch: elements: got 3, needs 4 for shape (2, 2)");
}

TEST(OwnedTensorTest, running_out_of_memory_is_bad_alloc) {
  EXPECT_EQ(attn_test::out_of_memory_failures([] { const OwnedTensor x({2, 3}); }), 2);
}

}  // namespace
