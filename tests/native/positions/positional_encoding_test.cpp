#include "attn/positions/positional_encoding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/sinusoidal_encoding.hpp"

namespace {

using attn::Dropout;
using attn::PositionalEncoding;
using attn::SinusoidalLayout;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using ::testing::StartsWith;

class PositionalEncodingTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> encode(const std::vector<float>& x, std::int64_t batch, std::int64_t length,
                            std::int64_t width, double start = 0, const Dropout& dropout = {},
                            int threads = 1) {
    std::vector<float> output(x.size(), 7.0F);
    PositionalEncoding().forward({x.data(), {batch, length, width}},
                                 {output.data(), {batch, length, width}}, start, dropout,
                                 context(threads));
    return output;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(PositionalEncodingTest);

TEST_P(PositionalEncodingTest, adds_the_encoding_to_every_sequence) {
  Random random;
  for (const std::int64_t width : {1, 7, 32, 100}) {
    const std::vector<float> x = random.normals(3 * 150 * width);
    std::vector<double> positions;
    for (int i = 0; i < 150; ++i) positions.push_back(20 + i);
    const reference::Array p = reference::sinusoidal_encoding({positions, width});
    reference::Array exact({3, 150, width});
    reference::Array error({3, 150, width});
    for (std::size_t i = 0; i < x.size(); ++i) {
      exact.values[i] = x[i] + p.values[i % p.values.size()];
      error.values[i] = 3.2e-8 + 6e-8 * (std::abs(exact.values[i]) + 3.2e-8);
    }
    EXPECT_TRUE(is_within(encode(x, 3, 150, width, 20), exact, error)) << "width " << width;
  }
}

TEST_P(PositionalEncodingTest, is_one_float_addition_of_the_table) {
  Random random;
  const std::vector<float> x = random.normals(2 * 70 * 24);
  std::vector<float> table(70 * 24);
  attn::sinusoidal_encoding({table.data(), {70, 24}}, {.start = 5}, context());
  std::vector<float> sums(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sums[i] = x[i] + table[i % table.size()];
  EXPECT_TRUE(same_bits(sums, encode(x, 2, 70, 24, 5)));
}

TEST_P(PositionalEncodingTest, takes_one_sequence_without_a_batch) {
  Random random;
  const std::vector<float> x = random.normals(70 * 24);
  std::vector<float> output(x.size());
  PositionalEncoding().forward({x.data(), {70, 24}}, {output.data(), {70, 24}}, 0, {}, context());
  EXPECT_TRUE(same_bits(output, encode(x, 1, 70, 24)));
}

TEST_P(PositionalEncodingTest, continues_after_a_cache_with_the_same_bits) {
  Random random;
  const std::vector<float> x = random.normals(100 * 24);
  const std::vector<float> all = encode(x, 1, 100, 24);
  const std::vector<float> last = encode({x.begin() + 99 * 24, x.end()}, 1, 1, 24, 99);
  EXPECT_TRUE(same_bits(last, {all.begin() + 99 * 24, all.end()}));
}

TEST_P(PositionalEncodingTest, base_and_layout_apply_to_the_encoding) {
  const std::vector<float> zeros(70 * 9);
  std::vector<float> output(zeros.size());
  std::vector<float> table(zeros.size());
  const PositionalEncoding layer({.base = 50, .layout = SinusoidalLayout::kConcatenated});
  layer.forward({zeros.data(), {70, 9}}, {output.data(), {70, 9}}, 0, {}, context());
  attn::sinusoidal_encoding({table.data(), {70, 9}},
                            {.base = 50, .layout = SinusoidalLayout::kConcatenated}, context());
  EXPECT_TRUE(same_bits(table, output));
}

TEST_P(PositionalEncodingTest, drops_out_after_adding) {
  Random random;
  const std::vector<float> x = random.normals(2 * 70 * 24);
  const Dropout dropout{.probability = 0.4F, .training = true, .random = {8, 9}};
  std::vector<float> expected = encode(x, 2, 70, 24);
  const auto count = static_cast<std::int64_t>(x.size());
  attn::apply_dropout({expected.data(), {count}}, {expected.data(), {count}}, dropout, context());
  EXPECT_TRUE(same_bits(expected, encode(x, 2, 70, 24, 0, dropout)));
}

TEST_P(PositionalEncodingTest, any_number_of_threads_gives_the_same_bits) {
  Random random;
  const std::vector<float> x = random.normals(2 * 300 * 24);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(encode(x, 2, 300, 24), encode(x, 2, 300, 24, 0, {}, threads)));
  }
}

TEST_P(PositionalEncodingTest, any_strides_work_and_the_output_may_be_the_input) {
  Random random;
  const std::vector<float> x = random.normals(2 * 70 * 24);
  const std::vector<float> expected = encode(x, 2, 70, 24, 3);
  const PositionalEncoding layer;
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    FloatTensor input({2, 70, 24}, x, layout);
    auto output = FloatTensor::filled({2, 70, 24}, 7.0F, layout);
    layer.forward(input.view(), output.view(), 3, {}, context());
    EXPECT_TRUE(same_bits(expected, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
    layer.forward(input.view(), input.view(), 3, {}, context());
    EXPECT_TRUE(same_bits(expected, input.values()));
    EXPECT_TRUE(input.gaps_are_untouched());
  }
}

TEST_P(PositionalEncodingTest, empty_inputs_are_accepted) {
  const PositionalEncoding layer;
  layer.forward({nullptr, {0, 4}}, {nullptr, {0, 4}}, 0, {}, context());
  layer.forward({nullptr, {0, 3, 4}}, {nullptr, {0, 3, 4}}, 0, {}, context());
}

TEST_P(PositionalEncodingTest, a_steady_loop_of_calls_allocates_nothing) {
  std::vector<float> x(2 * 70 * 24);
  const PositionalEncoding layer;
  attn_test::expect_no_allocations(
      [&] { layer.forward({x.data(), {2, 70, 24}}, {x.data(), {2, 70, 24}}, 0, {}, context()); });
}

TEST(PositionalEncodingErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(64, 7.0F);
  float* p = memory.data();
  const PositionalEncoding layer;
  EXPECT_THAT(error_of([] { PositionalEncoding({.base = -1}); }),
              StartsWith("invalid_argument: base: got -1"));
  EXPECT_THAT(error_of([&] { layer.forward({p, {4}}, {p, {4}}); }),
              StartsWith("shape_mismatch: x: got shape (4), needs rank 2"));
  EXPECT_EQ(error_of([&] { layer.forward({p, {2, 4}}, {p + 32, {4, 2}}); }),
            "shape_mismatch: output: got shape (4, 2), needs shape (2, 4)");
  EXPECT_THAT(error_of([&] { layer.forward({p, {2, 0}}, {p + 32, {2, 0}}); }),
              StartsWith("invalid_argument: x: got width 0"));
  EXPECT_THAT(error_of([&] { layer.forward({p, {2, 4}}, {p + 32, {2, 4}}, std::nan("")); }),
              StartsWith("invalid_argument: start: got nan"));
  EXPECT_THAT(error_of([&] {
                layer.forward({p, {2, 4}}, {p + 32, {2, 4}}, 0,
                              {.probability = 2, .training = true});
              }),
              StartsWith("invalid_argument: dropout: got 2"));
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
