#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/rms_norm.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"

namespace {

using attn::ElementType;
using attn_test::error_of;
using attn_test::Random;
using attn_test::same_bits;

constexpr std::array kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                               ElementType::kBFloat16};

/// The number of a type that is nearest to a float, and its bits.
float rounded(float value, ElementType type) {
  return type == ElementType::kFloat16    ? float{attn::Float16(value)}
         : type == ElementType::kBFloat16 ? float{attn::BFloat16(value)}
                                          : value;
}

/// Rows (N, width) of a type, with gaps between their numbers and between them.
struct Rows {
  Rows(std::int64_t count, std::int64_t row_width, ElementType element_type)
      : shape{count, row_width}, type(element_type), bytes(count * strides()[0] * 4, 0x5A) {}

  std::array<std::int64_t, 2> strides() const { return {2 * shape[1] + 3, 2}; }
  attn::AnyTensor view() {
    const auto steps = strides();
    void* const data = bytes.data();
    if (type == ElementType::kFloat16) {
      return {static_cast<attn::Float16*>(data), std::span(shape), std::span(steps)};
    }
    if (type == ElementType::kBFloat16) {
      return {static_cast<attn::BFloat16*>(data), std::span(shape), std::span(steps)};
    }
    return {static_cast<float*>(data), std::span(shape), std::span(steps)};
  }
  std::vector<float> values() {
    std::vector<float> result;
    view().visit([&](const auto& typed) {
      for (std::int64_t i = 0; i < shape[0]; ++i) {
        for (std::int64_t j = 0; j < shape[1]; ++j) result.push_back(typed(i, j));
      }
    });
    return result;
  }
  void set(const std::vector<float>& values) {
    view().visit([&](const auto& typed) {
      using T = std::remove_reference_t<decltype(typed(0, 0))>;
      for (std::int64_t i = 0; i < shape[0]; ++i) {
        for (std::int64_t j = 0; j < shape[1]; ++j) {
          typed(i, j) = T(values[static_cast<std::size_t>(i * shape[1] + j)]);
        }
      }
    });
  }

  std::array<std::int64_t, 2> shape;
  ElementType type;
  alignas(64) std::vector<unsigned char> bytes;
};

using AnyTensorLayersTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_BF16_INSTRUCTION_SET(AnyTensorLayersTest);

/// Checks forward(x, output) of every mix of types: its bits are those of the same numbers as
/// float32, rounded.
template <class Forward>
void expect_rounded(std::int64_t rows, std::int64_t in, std::int64_t out, Random& random,
                    Forward&& forward) {
  for (const ElementType x_type : kTypes) {
    for (const ElementType y_type : kTypes) {
      SCOPED_TRACE(std::string(attn::to_string(x_type)) + " to " + attn::to_string(y_type));
      Rows x(rows, in, x_type), y(rows, out, y_type);
      std::vector<float> numbers = random.normals(rows * in);
      numbers[0] *= 0x1p-22F;  // subnormal as float16
      if (rows > 2) numbers[static_cast<std::size_t>(2 * in)] = NAN;
      x.set(numbers);
      Rows floats(rows, in, ElementType::kFloat32), expected(rows, out, ElementType::kFloat32);
      floats.set(x.values());
      forward(floats.view(), expected.view());
      std::vector<float> want = expected.values();
      for (float& value : want) value = rounded(value, y_type);
      forward(x.view(), y.view());
      const std::vector<float> got = y.values();
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i])) {
          EXPECT_TRUE(std::isnan(got[i])) << i;
        } else {
          EXPECT_EQ(got[i], want[i]) << i;
        }
      }
    }
  }
}

TEST_P(AnyTensorLayersTest, linear_computes_in_float32_and_rounds_once) {
  Random random;
  for (const attn::WeightFormat weights :
       {attn::WeightFormat(), attn::WeightFormat(ElementType::kFloat16),
        attn::WeightFormat(ElementType::kBFloat16, /*rounds_inputs=*/false)}) {
    for (const auto [rows, in, out] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {3, 33, 17}, {20, 70, 65}}) {
      attn::Linear layer(in, out, true, weights);
      layer.initialize_xavier(7);
      expect_rounded(rows, in, out, random,
                     [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                       layer.forward(x, y, context());
                     });
    }
  }
}

TEST_P(AnyTensorLayersTest, linear_takes_bfloat16_as_it_is_where_inputs_are_rounded) {
  Random random;
  for (const auto [rows, in, out] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {3, 33, 17}, {20, 70, 65}, {40, 64, 64}}) {
    attn::Linear layer(in, out, true, ElementType::kBFloat16);
    layer.initialize_xavier(7);
    std::vector<attn::BFloat16> x;
    std::vector<float> numbers = random.normals(rows * in);
    for (float& number : numbers) number = x.emplace_back(number);
    std::vector<float> y(static_cast<std::size_t>(rows * out)), expected(y.size());
    layer.forward(attn::ConstAnyTensor(x.data(), {rows, in}), {y.data(), {rows, out}}, context());
    layer.forward({numbers.data(), {rows, in}}, {expected.data(), {rows, out}}, context());
    EXPECT_TRUE(same_bits(y, expected)) << rows << ", " << in << ", " << out;
  }
}

TEST_P(AnyTensorLayersTest, norms_compute_in_float32_and_round_once) {
  Random random;
  for (const auto [rows, width] : {std::array<std::int64_t, 2>{1, 1}, {3, 33}, {300, 70}}) {
    attn::LayerNorm layer(width);
    attn::RmsNorm root(width);
    const std::vector<float> weight = random.normals(width);
    layer.set_parameter("weight", {weight.data(), {width}});
    root.set_parameter("weight", {weight.data(), {width}});
    Rows addend(rows, width, ElementType::kFloat16);
    addend.set(random.normals(rows * width));
    expect_rounded(rows, width, width, random,
                   [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                     layer.forward(x, y, context());
                   });
    expect_rounded(rows, width, width, random,
                   [&](const attn::ConstAnyTensor& x, const attn::AnyTensor& y) {
                     root.forward_sum(x, addend.view(), y, context());
                   });
  }
}

TEST(AnyTensorLayersErrorTest, shapes_and_data) {
  attn::Linear linear(3, 2);
  attn::LayerNorm norm(3);
  std::vector<attn::Float16> x(12), y(12, attn::Float16(5.0F));
  EXPECT_EQ(error_of([&] {
              linear.forward(attn::ConstAnyTensor(x.data(), {4, 2}),
                             attn::AnyTensor(y.data(), {4, 2}));
            }).substr(0, 17),
            "shape_mismatch: x");
  EXPECT_EQ(error_of([&] {
              linear.forward(attn::ConstAnyTensor(static_cast<attn::Float16*>(nullptr), {4, 3}),
                             attn::AnyTensor(y.data(), {4, 2}));
            }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] {
              norm.forward(attn::ConstAnyTensor(x.data(), {4, 3}),
                           attn::AnyTensor(y.data(), {3, 3}));
            }),
            "shape_mismatch: output: got shape (3, 3), needs shape (4, 3)");
  for (const attn::Float16 value : y) EXPECT_EQ(value, 5.0F);
}

}  // namespace
