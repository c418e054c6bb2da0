#include "attn/positions/learned_positional_encoding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "attn/random.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

namespace {

using attn::Dropout;
using attn::LearnedPositionalEncoding;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using ::testing::ElementsAre;
using ::testing::StartsWith;

class LearnedPositionalEncodingTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> encode(const LearnedPositionalEncoding& layer, const std::vector<float>& x,
                            std::int64_t batch, std::int64_t start = 0, const Dropout& dropout = {},
                            int threads = 2) {
    std::vector<float> output(x.size(), 7.0F);
    const std::int64_t width = layer.d_model();
    const std::int64_t length = static_cast<std::int64_t>(x.size()) / batch / width;
    layer.forward({x.data(), {batch, length, width}}, {output.data(), {batch, length, width}},
                  start, dropout, context(threads));
    return output;
  }

  LearnedPositionalEncoding random_layer(std::int64_t max_length, std::int64_t d_model) {
    LearnedPositionalEncoding layer(max_length, d_model);
    layer.initialize_normal(5, 1, context());
    return layer;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(LearnedPositionalEncodingTest);

TEST_P(LearnedPositionalEncodingTest, adds_the_row_of_each_position) {
  Random random;
  for (const std::int64_t width : {1, 7, 16, 33}) {
    const LearnedPositionalEncoding layer = random_layer(150, width);
    const attn::ConstTensor table = layer.parameter("weight");
    for (const std::int64_t length : {1, 64, 65, 130}) {
      const std::vector<float> x = random.normals(3 * length * width);
      const std::vector<float> output = encode(layer, x, 3, 20);
      for (std::int64_t i = 0; i < 3 * length; ++i) {
        for (std::int64_t c = 0; c < width; ++c) {
          EXPECT_EQ(output[i * width + c], x[i * width + c] + table(20 + i % length, c));
        }
      }
    }
  }
}

TEST_P(LearnedPositionalEncodingTest, weights_are_set_and_read_by_name) {
  Random random;
  LearnedPositionalEncoding layer(5, 3);
  EXPECT_THAT(layer.parameter_names(), ElementsAre("weight"));
  const std::vector<float> zeros(5 * 3);
  EXPECT_TRUE(same_bits(zeros, encode(layer, zeros, 1)));
  const std::vector<float> values = random.normals(5 * 3);
  const FloatTensor strided({5, 3}, values, Layout::kTransposed);
  layer.set_parameter("weight", strided.view());
  EXPECT_TRUE(same_bits(values, encode(layer, zeros, 1)));
  attn::Module& module = layer;
  EXPECT_EQ(module.parameter("weight")(4, 2), values[14]);
}

TEST_P(LearnedPositionalEncodingTest, initial_weights_match_fill_normal) {
  LearnedPositionalEncoding layer(40, 9);
  layer.initialize_normal(77, 0.5F, context());
  std::vector<float> drawn(40 * 9);
  attn::fill_normal({drawn.data(), {40, 9}}, {.seed = 77}, 0, 0.5F, context());
  EXPECT_TRUE(same_bits(drawn, encode(layer, std::vector<float>(40 * 9), 1)));
}

TEST_P(LearnedPositionalEncodingTest, continues_after_a_cache_up_to_the_last_position) {
  Random random;
  const LearnedPositionalEncoding layer = random_layer(100, 24);
  const std::vector<float> x = random.normals(100 * 24);
  const std::vector<float> all = encode(layer, x, 1);
  EXPECT_TRUE(same_bits({all.begin() + 99 * 24, all.end()},
                        encode(layer, {x.begin() + 99 * 24, x.end()}, 1, 99)));
}

TEST_P(LearnedPositionalEncodingTest, drops_out_after_adding) {
  Random random;
  const LearnedPositionalEncoding layer = random_layer(70, 24);
  const std::vector<float> x = random.normals(2 * 70 * 24);
  const Dropout dropout{.probability = 0.4F, .training = true, .random = {8, 9}};
  std::vector<float> expected = encode(layer, x, 2);
  const auto count = static_cast<std::int64_t>(x.size());
  attn::apply_dropout({expected.data(), {count}}, {expected.data(), {count}}, dropout, context());
  EXPECT_TRUE(same_bits(expected, encode(layer, x, 2, 0, dropout)));
}

TEST_P(LearnedPositionalEncodingTest, any_strides_work_and_the_output_may_be_the_input) {
  Random random;
  const LearnedPositionalEncoding layer = random_layer(80, 24);
  const std::vector<float> x = random.normals(2 * 70 * 24);
  const std::vector<float> expected = encode(layer, x, 2, 3, {}, 1);
  EXPECT_TRUE(same_bits(expected, encode(layer, x, 2, 3, {}, 3)));
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    FloatTensor input({2, 70, 24}, x, layout);
    auto output = FloatTensor::filled({2, 70, 24}, 7.0F, layout);
    layer.forward(input.view(), output.view(), 3, {}, context());
    EXPECT_TRUE(same_bits(expected, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
    layer.forward(input.view(), input.view(), 3, {}, context());
    EXPECT_TRUE(same_bits(expected, input.values()));
  }
  std::vector<float> one(70 * 24);
  layer.forward({x.data(), {70, 24}}, {one.data(), {70, 24}}, 3, {}, context());
  EXPECT_TRUE(same_bits(one, {expected.begin(), expected.begin() + 70 * 24}));
}

TEST_P(LearnedPositionalEncodingTest, empty_inputs_are_accepted) {
  const LearnedPositionalEncoding layer(4, 3);
  layer.forward({nullptr, {0, 3}}, {nullptr, {0, 3}}, 4, {}, context());
  layer.forward({nullptr, {0, 4, 3}}, {nullptr, {0, 4, 3}}, 0, {}, context());
}

TEST_P(LearnedPositionalEncodingTest, a_steady_loop_of_calls_allocates_nothing) {
  std::vector<float> x(2 * 70 * 24);
  const LearnedPositionalEncoding layer(70, 24);
  attn_test::expect_no_allocations(
      [&] { layer.forward({x.data(), {2, 70, 24}}, {x.data(), {2, 70, 24}}, 0, {}, context()); });
}

TEST(LearnedPositionalEncodingErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(64, 7.0F);
  float* p = memory.data();
  LearnedPositionalEncoding layer(4, 3);
  const auto call = [&](std::int64_t length, std::int64_t start, const Dropout& dropout = {}) {
    return error_of(
        [&] { layer.forward({p, {length, 3}}, {p + 32, {length, 3}}, start, dropout); });
  };
  EXPECT_EQ(error_of([] { LearnedPositionalEncoding(0, 3); }),
            "invalid_argument: max_length: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { LearnedPositionalEncoding(3, 0); }),
            "invalid_argument: d_model: got 0, needs 1 or more");
  EXPECT_THAT(error_of([] { LearnedPositionalEncoding(std::int64_t{1} << 40, 1 << 30); }),
              StartsWith("size_overflow: weight: "));
  EXPECT_EQ(call(5, 0),
            "invalid_argument: x: got length 5 starting at position 0, needs to fit within "
            "max_length (4)");
  EXPECT_EQ(call(2, 3),
            "invalid_argument: x: got length 2 starting at position 3, needs to fit within "
            "max_length (4)");
  EXPECT_THAT(call(1, INT64_MAX),
              StartsWith("invalid_argument: x: got length 1 starting at position 9"));
  EXPECT_EQ(call(1, -1), "invalid_argument: start: got -1, needs 0 or more");
  EXPECT_THAT(call(1, 0, {.probability = 2}), StartsWith("invalid_argument: dropout: got 2"));
  EXPECT_THAT(error_of([&] { layer.forward({p, {3}}, {p, {3}}); }),
              StartsWith("shape_mismatch: x: got shape (3), needs rank 2"));
  EXPECT_EQ(error_of([&] { layer.forward({p, {2, 4}}, {p, {2, 4}}); }),
            "shape_mismatch: x: got shape (2, 4), needs shape (any, 3)");
  EXPECT_EQ(error_of([&] { layer.forward({p, {2, 3}}, {p, {1, 3}}); }),
            "shape_mismatch: output: got shape (1, 3), needs shape (2, 3)");
  EXPECT_EQ(error_of([&] { layer.forward({nullptr, {2, 3}}, {p, {2, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { layer.forward({p, {2, 3}}, {nullptr, {2, 3}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(error_of([&] { layer.parameter("wpe"); }),
              StartsWith("not_found: name: got \"wpe\""));
  EXPECT_THAT(error_of([&] { layer.set_parameter("weight", {p, {3, 4}}); }),
              StartsWith("shape_mismatch: weight: got shape (3, 4)"));
  EXPECT_THAT(error_of([&] { layer.initialize_normal(1, -1); }),
              StartsWith("invalid_argument: deviation: got -1"));
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
