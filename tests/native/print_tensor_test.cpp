#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "attn/tensor_view.hpp"

namespace {

using attn::OwnedTensor;

template <class T>
std::string printed(const T& tensor) {
  std::ostringstream stream;
  stream << tensor;
  return stream.str();
}

OwnedTensor counted(std::initializer_list<std::int64_t> shape) {
  OwnedTensor tensor(shape);
  std::iota(tensor.values().begin(), tensor.values().end(), 0.0F);
  return tensor;
}

// PyTorch prints the same texts for the tensors in this file, except that it adds "tensor(" and
// indents the rows to match.

TEST(PrintTensorTest, rows_are_aligned) {
  EXPECT_EQ(printed(OwnedTensor({2, 2}, {0.5F, -1.25F, 2, 13})),
            "[[ 0.5000, -1.2500],\n"
            " [ 2.0000, 13.0000]]");
}

TEST(PrintTensorTest, whole_numbers_have_no_digits_after_the_point) {
  EXPECT_EQ(printed(OwnedTensor({3}, {1, -2, 10})), "[ 1., -2., 10.]");
  EXPECT_EQ(printed(OwnedTensor({2}, {0, 0})), "[0., 0.]");
}

TEST(PrintTensorTest, unusual_magnitudes_have_exponents) {
  EXPECT_EQ(printed(OwnedTensor({2}, {1e-6F, 1})), "[1.0000e-06, 1.0000e+00]");
  EXPECT_EQ(printed(OwnedTensor({2}, {0.5F, 3e9F})), "[5.0000e-01, 3.0000e+09]");
  EXPECT_EQ(printed(OwnedTensor({1}, {3e9F})), "[3.0000e+09]");
}

TEST(PrintTensorTest, numbers_that_are_not_finite_have_names) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(printed(OwnedTensor({4}, {std::nanf(""), infinity, -infinity, 0.5F})),
            "[   nan,    inf,   -inf, 0.5000]");
}

TEST(PrintTensorTest, matrices_are_separated_by_an_empty_line) {
  EXPECT_EQ(printed(counted({2, 2, 2})),
            "[[[0., 1.],\n"
            "  [2., 3.]],\n"
            "\n"
            " [[4., 5.],\n"
            "  [6., 7.]]]");
}

TEST(PrintTensorTest, large_tensors_are_abridged) {
  EXPECT_EQ(printed(counted({1001})), "[   0.,    1.,    2., ...,  998.,  999., 1000.]");
  EXPECT_EQ(printed(counted({500, 2})).size(), std::string("[[998., 999.],\n").size() * 500 - 1);
  EXPECT_EQ(printed(counted({501, 2})),
            "[[   0.,    1.],\n"
            " [   2.,    3.],\n"
            " [   4.,    5.],\n"
            " ...,\n"
            " [ 996.,  997.],\n"
            " [ 998.,  999.],\n"
            " [1000., 1001.]]");
}

TEST(PrintTensorTest, scalars_none_and_tensors_without_elements) {
  EXPECT_EQ(printed(OwnedTensor(std::span<const std::int64_t>(), {2.5F})), "2.5000");
  EXPECT_EQ(printed(OwnedTensor()), "none");
  EXPECT_EQ(printed(attn::Tensor()), "none");
  EXPECT_EQ(printed(OwnedTensor({0, 4})), "[] of shape (0, 4)");
}

TEST(PrintTensorTest, views_are_printed_by_their_strides) {
  const OwnedTensor tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(printed(tensor.view().slice(1, 1, 3)), "[[2., 3.],\n [5., 6.]]");
  EXPECT_EQ(printed(tensor.view().select(1, 0)), "[1., 4.]");
  const std::vector<std::int32_t> lengths{3, -10};
  EXPECT_EQ(printed(attn::ConstLengths(lengths, {2})), "[  3, -10]");
  std::vector<std::uint8_t> mask{0, 1};
  EXPECT_EQ(printed(attn::TensorView<std::uint8_t>(mask, {2})), "[0, 1]");
  const std::vector<double> numbers{0.25, 1e10};
  EXPECT_EQ(printed(attn::TensorView<const double>(numbers, {2})), "[2.5000e-01, 1.0000e+10]");
}

}  // namespace
