// Compares matrix products with sums in double precision.

#include "attn/matmul.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"

namespace {

using attn::ConstTensor;
using attn::OwnedTensor;
using attn_test::error_of;
using attn_test::Random;
using Shape = std::vector<std::int64_t>;

using MatmulTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(MatmulTest);

OwnedTensor random_tensor(Random& random, const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return {shape, random.normals(count)};
}

ConstTensor matrix(const ConstTensor& tensor, std::int64_t batch, std::int64_t head) {
  if (tensor.rank() == 2) return tensor;
  if (tensor.rank() == 3) return tensor.select(0, batch);
  return tensor.select(0, batch).select(0, head);
}

/// Checks that every element is within the bound that the header states.
void expect_product(const ConstTensor& a, const ConstTensor& b, const ConstTensor& got) {
  const std::int64_t batch = a.rank() > 2 ? a.size(0) : 1, heads = a.rank() > 3 ? a.size(1) : 1;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const ConstTensor x = matrix(a, n, h), y = matrix(b, n, h), z = matrix(got, n, h);
      for (std::int64_t i = 0; i < z.size(0); ++i) {
        for (std::int64_t j = 0; j < z.size(1); ++j) {
          double sum = 0, magnitude = 0;
          for (std::int64_t k = 0; k < x.size(1); ++k) {
            const double term = double(x(i, k)) * y(k, j);
            sum += term;
            magnitude += std::abs(term);
          }
          ASSERT_NEAR(z(i, j), sum, double(x.size(1)) * 6e-8 * magnitude) << i << ", " << j;
        }
      }
    }
  }
}

TEST_P(MatmulTest, is_the_sum_of_products_of_rows_and_columns) {
  Random random;
  const struct {
    Shape a, b, output;
  } cases[] = {
      {{1, 1}, {1, 1}, {1, 1}},
      {{5, 7}, {7, 3}, {5, 3}},
      {{70, 33}, {33, 41}, {70, 41}},
      {{2, 5, 7}, {2, 7, 17}, {2, 5, 17}},
      {{2, 5, 7}, {7, 17}, {2, 5, 17}},
      {{2, 3, 9, 4}, {2, 3, 4, 6}, {2, 3, 9, 6}},
      {{2, 3, 9, 4}, {4, 6}, {2, 3, 9, 6}},
  };
  for (const auto& c : cases) {
    const OwnedTensor a = random_tensor(random, c.a), b = random_tensor(random, c.b);
    OwnedTensor first;
    for (const int threads : {1, 3}) {
      OwnedTensor got(c.output);
      attn::matmul(a, b, got, context(threads));
      expect_product(a, b, got);
      if (threads == 1) first = got;
      EXPECT_EQ(got, first);
    }
  }
}

/// A view of a matrix with rows and columns swapped.
template <class T>
attn::TensorView<T> transposed(const attn::TensorView<T>& x) {
  const std::int64_t shape[] = {x.size(1), x.size(0)}, strides[] = {x.stride(1), x.stride(0)};
  return {x.data(), shape, strides};
}

TEST_P(MatmulTest, takes_any_strides) {
  Random random;
  const OwnedTensor a = random_tensor(random, {7, 5}), b = random_tensor(random, {4, 7});
  OwnedTensor got({4, 5});
  attn::matmul(transposed(a.view()), transposed(b.view()), transposed(got.view()), context());
  expect_product(transposed(a.view()), transposed(b.view()), transposed(ConstTensor(got)));
}

TEST_P(MatmulTest, sums_over_nothing_are_zero) {
  OwnedTensor got({2, 3});
  got.fill(7);
  attn::matmul(OwnedTensor({2, 0}), OwnedTensor({0, 3}), got, context());
  EXPECT_EQ(got, OwnedTensor({2, 3}));
  OwnedTensor none({0, 3});
  attn::matmul(OwnedTensor({0, 4}), OwnedTensor({4, 3}), none, context());
}

TEST(MatmulErrorsTest, shapes_and_memory_are_checked) {
  const auto error = [](const Shape& a, const Shape& b, const Shape& output) {
    OwnedTensor to(output);
    return error_of([&] { attn::matmul(OwnedTensor(a), OwnedTensor(b), to); });
  };
  EXPECT_EQ(error({3}, {3, 1}, {1}),
            "shape_mismatch: a: got shape (3), needs (M, K), (B, M, K) or (B, H, M, K)");
  EXPECT_EQ(error({2, 3}, {4, 5}, {2, 5}),
            "shape_mismatch: b: got shape (4, 5), needs shape (3, any)");
  EXPECT_EQ(error({2, 2, 3}, {3, 3, 5}, {2, 2, 5}),
            "shape_mismatch: b: got shape (3, 3, 5), needs K = 3 rows and either no leading "
            "dimensions or the leading dimensions of a");
  EXPECT_EQ(error({2, 3}, {3, 5}, {2, 4}),
            "shape_mismatch: output: got shape (2, 4), needs (2, 5)");
  OwnedTensor to({2, 5});
  EXPECT_EQ(error_of([&] { attn::matmul({nullptr, {2, 3}}, OwnedTensor({3, 5}), to); }),
            "invalid_argument: a: got a null pointer, needs data");
}

}  // namespace
