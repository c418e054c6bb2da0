#include "attn/positions/sinusoidal_encoding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/sinusoidal_encoding.hpp"

namespace {

using attn::SinusoidalEncodingOptions;
using attn::SinusoidalLayout;
using attn::Tensor;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The error bound that the header states for positions up to `position`. Some rows are computed
/// by rotating an exact row, whose position differs from theirs by at most `reach`.
double promised_error(double position, double base = 10000, double reach = 0) {
  return 3.1e-8 + 4.5e-16 * (position + reach) * std::max(1.0, 1 / base);
}

std::vector<double> positions_of(std::int64_t rows, double start, double step) {
  std::vector<double> positions;
  for (std::int64_t i = 0; i < rows; ++i) {
    positions.push_back(start + static_cast<double>(i) * step);
  }
  return positions;
}

class SinusoidalEncodingTest : public attn_test::EveryInstructionSet {
 protected:
  std::vector<float> encode(std::int64_t rows, std::int64_t width,
                            const SinusoidalEncodingOptions& options = {}, int threads = 1) {
    std::vector<float> output(static_cast<std::size_t>(rows * width), 7.0F);
    attn::sinusoidal_encoding({output.data(), {rows, width}}, options, context(threads));
    return output;
  }

  std::vector<float> encode_at(const std::vector<double>& positions, std::int64_t width,
                               const attn::SinusoidalPositionsOptions& options = {}) {
    const auto rows = static_cast<std::int64_t>(positions.size());
    std::vector<float> output(static_cast<std::size_t>(rows * width), 7.0F);
    attn::sinusoidal_encoding_at(positions, {output.data(), {rows, width}}, options, context(1));
    return output;
  }

  void expect_exact(std::int64_t rows, std::int64_t width,
                    const SinusoidalEncodingOptions& options = {}) {
    SCOPED_TRACE("rows " + std::to_string(rows) + ", width " + std::to_string(width) + ", start " +
                 std::to_string(options.start) + ", step " + std::to_string(options.step) +
                 ", base " + std::to_string(options.base));
    const std::vector<double> positions = positions_of(rows, options.start, options.step);
    const double farthest = std::max(std::abs(positions.front()), std::abs(positions.back()));
    EXPECT_TRUE(is_within(
        encode(rows, width, options),
        reference::sinusoidal_encoding(
            {positions, width, options.base, options.layout == SinusoidalLayout::kConcatenated}),
        promised_error(farthest, options.base, 64 * std::abs(options.step))));
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(SinusoidalEncodingTest);

// ---- Values

TEST_P(SinusoidalEncodingTest, d2l_example_has_exact_columns_6_to_9) {
  const std::vector<float> p = encode(60, 32);
  // sin and cos of i / 10000^(6/32) and i / 10000^(8/32), computed with 30 digits.
  const struct {
    std::size_t row;
    double columns[4];
  } exact[] = {
      {0, {0.0, 1.0, 0.0, 1.0}},
      {1, {0.17689218624615004, 0.98423023447009459, 0.099833416646828152, 0.99500416527802577}},
      {10, {0.97855249253736669, -0.205997619765149998, 0.84147098480789651, 0.54030230586813972}},
      {59, {-0.87579024652420538, -0.48269187282682891, -0.37387666483023636, 0.92747843074403574}},
  };
  for (const auto& row : exact) {
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(p[row.row * 32 + 6 + c], row.columns[c], 3.1e-8) << row.row << ", " << 6 + c;
    }
  }
  EXPECT_TRUE(is_within(p, reference::sinusoidal_encoding({positions_of(60, 0, 1), 32}),
                        promised_error(60)));
}

TEST_P(SinusoidalEncodingTest, position_0_is_exactly_0_and_1) {
  const std::vector<float> p = encode(1, 21);
  for (std::size_t c = 0; c < p.size(); ++c) EXPECT_EQ(p[c], c % 2 == 0 ? 0.0F : 1.0F) << c;
}

TEST_P(SinusoidalEncodingTest, every_width_is_exact) {
  for (std::int64_t width = 1; width <= 70; ++width) expect_exact(7, width);
  for (const std::int64_t width : {127, 128, 129, 512}) expect_exact(3, width, {.start = 4000});
}

TEST_P(SinusoidalEncodingTest, every_length_is_exact) {
  for (const std::int64_t rows : {1, 2, 3, 63, 64, 65, 127, 128, 129, 200}) {
    expect_exact(rows, 6, {.start = 61});
  }
}

TEST_P(SinusoidalEncodingTest, odd_widths_end_in_a_sine_without_a_cosine) {
  EXPECT_TRUE(is_within(encode(2, 1),
                        reference::Array({2, 1}, std::vector<double>{0, std::sin(1.0)}), 3.1e-8));
  const double slow = std::pow(10000.0, -4.0 / 5);
  EXPECT_NEAR(encode(2, 5)[9], std::sin(slow), 3.1e-8);
}

TEST_P(SinusoidalEncodingTest, concatenated_layout_has_the_same_numbers_in_other_columns) {
  for (const std::int64_t width : {1, 2, 7, 32, 33}) {
    const std::vector<float> interleaved = encode(70, width, {.start = 5});
    const std::vector<float> concatenated =
        encode(70, width, {.start = 5, .layout = SinusoidalLayout::kConcatenated});
    for (std::int64_t i = 0; i < 70; ++i) {
      for (std::int64_t c = 0; c < width; ++c) {
        const auto [cosine, j] = reference::sinusoidal_column(c, width, true);
        EXPECT_EQ(concatenated[i * width + c], interleaved[i * width + 2 * j + (cosine ? 1 : 0)]);
      }
    }
  }
}

TEST_P(SinusoidalEncodingTest, far_positions_stay_within_1_2e_7) {
  for (const double start : {0x1p24 - 99, -0x1p24, 1e6, 12345678.0}) {
    SCOPED_TRACE(start);
    expect_exact(100, 64, {.start = start});
    EXPECT_TRUE(is_within(encode(100, 64, {.start = start}),
                          reference::sinusoidal_encoding({positions_of(100, start, 1), 64}),
                          1.2e-7));
  }
}

TEST_P(SinusoidalEncodingTest, every_table_of_the_promised_range_is_within_1_2e_7) {
  Random random;
  for (int round = 0; round < 60; ++round) {
    const double size = std::exp2(random.uniform(0, 23.9F));
    const SinusoidalEncodingOptions options{
        .base = std::exp2(random.uniform(0, 24)),
        .start = (random.chance(0.5) ? -1 : 1) * (random.chance(0.5) ? std::floor(size) : size),
        .step = random.chance(0.3) ? 1.0 : random.uniform(-100, 100),
        .layout =
            random.chance(0.5) ? SinusoidalLayout::kInterleaved : SinusoidalLayout::kConcatenated};
    const std::int64_t rows = random.integer(1, 70);
    const std::int64_t width = random.integer(1, 40);
    SCOPED_TRACE(::testing::Message() << "start " << options.start << ", step " << options.step
                                      << ", base " << options.base << ", width " << width);
    const std::vector<double> positions = positions_of(rows, options.start, options.step);
    const reference::Array exact = reference::sinusoidal_encoding(
        {positions, width, options.base, options.layout == SinusoidalLayout::kConcatenated});
    EXPECT_TRUE(is_within(encode(rows, width, options), exact, 1.2e-7));
    EXPECT_TRUE(
        is_within(encode_at(positions, width, {.base = options.base, .layout = options.layout}),
                  exact, promised_error(0x1p24)));
  }
}

TEST_P(SinusoidalEncodingTest, positions_beyond_2_to_24_stay_within_their_stated_bound) {
  for (const double start : {0x1p31, -0x1p31, 0x1p40, 1e15}) {
    expect_exact(10, 16, {.start = start});
  }
}

TEST_P(SinusoidalEncodingTest, the_last_position_allowed_gives_finite_values) {
  for (const float value : encode(1, 9, {.start = 0x1p53})) EXPECT_LE(std::abs(value), 1.0F);
  for (const float value : encode(1, 9, {.base = 1e-100, .start = 0x1p53})) {
    EXPECT_LE(std::abs(value), 1.0F);
  }
}

TEST_P(SinusoidalEncodingTest, steps_may_be_fractional_negative_large_or_zero) {
  for (const double step :
       {0.5, 0.1, -1.0, -0.25, 3.0, 1000.5, 131072.0, 131073.0, 1e6, -1e6, 0.0}) {
    expect_exact(16, 12, {.start = 3, .step = step});
  }
  expect_exact(200, 8, {.start = -100.75, .step = 0.37});
  expect_exact(150, 8, {.start = 1e4, .step = -131072});
}

TEST_P(SinusoidalEncodingTest, a_step_far_smaller_than_the_start_is_exact) {
  expect_exact(100, 8, {.start = 1e6, .step = 1e-9});
  expect_exact(100, 8, {.start = 1e6, .step = 1e-300});
}

TEST_P(SinusoidalEncodingTest, random_tables_are_exact) {
  Random random;
  for (int i = 0; i < 40; ++i) {
    expect_exact(random.integer(1, 150), random.integer(1, 90),
                 {.base = std::pow(10.0, random.uniform(0, 8)),
                  .start = std::floor(random.uniform(-1e7F, 1e7F)),
                  .step = random.chance(0.5) ? 1.0 : random.uniform(-2, 2),
                  .layout = random.chance(0.5) ? SinusoidalLayout::kInterleaved
                                               : SinusoidalLayout::kConcatenated});
  }
}

TEST_P(SinusoidalEncodingTest, bases_may_be_extreme) {
  for (const double base : {1.0, 2.0, 500000.0, 1e300}) expect_exact(70, 6, {.base = base});
  for (const double base : {0.5, 0.01}) expect_exact(70, 6, {.base = base});
}

// ---- Bits

TEST_P(SinusoidalEncodingTest, rows_have_the_same_bits_wherever_their_table_starts) {
  for (const std::int64_t width : {3, 64, 100}) {
    const std::vector<float> all = encode(1300, width);
    for (const std::int64_t start : {1, 63, 64, 65, 100, 1000}) {
      const std::vector<float> part = encode(300, width, {.start = static_cast<double>(start)});
      EXPECT_TRUE(
          same_bits(part, {all.begin() + start * width, all.begin() + (start + 300) * width}))
          << "start " << start;
    }
  }
}

TEST_P(SinusoidalEncodingTest, rows_at_negative_positions_have_the_same_bits_too) {
  const std::vector<float> all = encode(200, 10, {.start = -130});
  EXPECT_TRUE(same_bits(encode(70, 10), {all.begin() + 130 * 10, all.end()}));
  EXPECT_TRUE(
      same_bits(encode(1, 10, {.start = -1}), {all.begin() + 129 * 10, all.begin() + 130 * 10}));
}

TEST_P(SinusoidalEncodingTest, rows_with_fractional_starts_and_steps_have_the_same_bits) {
  const std::vector<float> quarters = encode(200, 10, {.start = -0.25});
  EXPECT_TRUE(same_bits(encode(199, 10, {.start = 0.75}), {quarters.begin() + 10, quarters.end()}));
  const std::vector<float> halves = encode(200, 10, {.start = 0, .step = 0.5});
  EXPECT_TRUE(same_bits(encode(100, 10, {.start = 50, .step = 0.5}),
                        {halves.begin() + 100 * 10, halves.end()}));
  const std::vector<float> downwards = encode(200, 10, {.start = 150, .step = -1});
  EXPECT_TRUE(same_bits(encode(100, 10, {.start = 50, .step = -1}),
                        {downwards.begin() + 100 * 10, downwards.end()}));
}

TEST_P(SinusoidalEncodingTest, a_small_start_keeps_its_digits_before_long_steps_back) {
  const double start = 4.4622995460485981e-05;
  const std::vector<float> table = encode(2, 2, {.start = start, .step = -875186553});
  EXPECT_NEAR(table[0], std::sin(start), 3.1e-8);
}

TEST_P(SinusoidalEncodingTest, any_number_of_threads_gives_the_same_bits) {
  const SinusoidalEncodingOptions options{.start = 17};
  const std::vector<float> one = encode(700, 48, options, 1);
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(one, encode(700, 48, options, threads))) << threads;
  }
}

TEST_P(SinusoidalEncodingTest, any_alignment_gives_the_same_bits) {
  const std::vector<float> aligned = encode(70, 160);
  for (std::int64_t shift = 0; shift < 16; ++shift) {
    std::vector<float> memory(70 * 160 + 16);
    attn::sinusoidal_encoding({memory.data() + shift, {70, 160}}, {}, context(1));
    EXPECT_TRUE(same_bits(aligned, {memory.begin() + shift, memory.begin() + shift + 70 * 160}));
  }
}

TEST_P(SinusoidalEncodingTest, any_strides_give_the_same_bits_and_leave_gaps_alone) {
  for (const std::int64_t width : {5, 32, 131}) {
    const std::vector<float> contiguous = encode(90, width, {.start = 3});
    for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
      auto output = FloatTensor::filled({90, width}, 7.0F, layout);
      attn::sinusoidal_encoding(output.view(), {.start = 3}, context());
      EXPECT_TRUE(same_bits(contiguous, output.values()));
      EXPECT_TRUE(output.gaps_are_untouched());
    }
  }
}

// ---- Explicit positions

TEST_P(SinusoidalEncodingTest, explicit_positions_are_exact) {
  Random random;
  std::vector<double> positions{0, 1, -1, 0.5, 1e-12, 0x1p24, -0x1p24 + 0.125, 3.75};
  for (int i = 0; i < 100; ++i) positions.push_back(random.uniform(-1e6F, 1e6F));
  for (const std::int64_t width : {1, 2, 9, 40}) {
    for (const bool concatenated : {false, true}) {
      EXPECT_TRUE(is_within(encode_at(positions, width,
                                      {.layout = concatenated ? SinusoidalLayout::kConcatenated
                                                              : SinusoidalLayout::kInterleaved}),
                            reference::sinusoidal_encoding({positions, width, 10000, concatenated}),
                            promised_error(0x1p24)));
    }
  }
}

TEST_P(SinusoidalEncodingTest, an_explicit_position_has_the_same_bits_among_any_other_positions) {
  const std::vector<float> alone = encode_at({12.5}, 33);
  const std::vector<float> among = encode_at({5, 12.5, -7, 12.5}, 33);
  EXPECT_TRUE(same_bits(alone, {among.begin() + 33, among.begin() + 66}));
  EXPECT_TRUE(same_bits(alone, {among.begin() + 99, among.end()}));
}

TEST_P(SinusoidalEncodingTest, explicit_positions_fill_strided_outputs) {
  const std::vector<double> positions = positions_of(100, 3, 0.7);
  const std::vector<float> contiguous = encode_at(positions, 13);
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    auto output = FloatTensor::filled({100, 13}, 7.0F, layout);
    attn::sinusoidal_encoding_at(positions, output.view(), {}, context());
    EXPECT_TRUE(same_bits(contiguous, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
  }
}

// ---- In float32, for comparison

TEST_P(SinusoidalEncodingTest, float32_code_rounds_every_step) {
  for (const auto& [width, start, step, base, layout] :
       {std::tuple{32, 0.0, 1.0, 10000.0, SinusoidalLayout::kInterleaved},
        std::tuple{7, 1e6, 999.0, 500.0, SinusoidalLayout::kConcatenated},
        std::tuple{64, -0x1p24, 0.1, 1e4, SinusoidalLayout::kInterleaved},
        std::tuple{1, 0x1p53, -0x1p40, 2.5, SinusoidalLayout::kInterleaved}}) {
    SCOPED_TRACE("width " + std::to_string(width));
    constexpr std::int64_t kRows = 50;
    const reference::SinusoidalEncoding p{positions_of(kRows, start, step), width, base,
                                          layout == SinusoidalLayout::kConcatenated};
    auto encoding = FloatTensor::filled({kRows, width}, 7.0F, Layout::kSpread);
    auto error = FloatTensor::filled({kRows, width}, 7.0F, Layout::kTransposed);
    attn::sinusoidal_encoding_in_float32(encoding.view(), error.view(), {base, start, step, layout},
                                         context());
    // The encoding and its reference are both rounded to float, so their last bits may differ if a
    // sine is close to the midpoint of two floats.
    EXPECT_TRUE(is_within(encoding.values(), reference::sinusoidal_encoding_in_float32(p), 6e-8));
    EXPECT_TRUE(encoding.gaps_are_untouched());
    EXPECT_TRUE(error.gaps_are_untouched());

    const reference::Array exact = reference::sinusoidal_encoding(p);
    reference::Array difference(exact.shape), bounds(exact.shape);
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
      difference.values[i] = encoding.values()[i] - exact.values[i];
      bounds.values[i] = 6e-8 * std::abs(difference.values[i]) +
                         4.5e-16 * std::abs(p.positions[i / static_cast<std::size_t>(width)]);
    }
    EXPECT_TRUE(is_within(error.values(), difference, bounds));
  }
}

TEST_P(SinusoidalEncodingTest, either_result_in_float32_may_be_left_out) {
  std::vector<float> encoding(40 * 6), error(40 * 6), alone(40 * 6);
  const Tensor none;
  attn::sinusoidal_encoding_in_float32({encoding.data(), {40, 6}}, {error.data(), {40, 6}},
                                       {.start = 1e5}, context());
  attn::sinusoidal_encoding_in_float32({alone.data(), {40, 6}}, none, {.start = 1e5}, context());
  EXPECT_TRUE(same_bits(alone, encoding));
  attn::sinusoidal_encoding_in_float32(none, {alone.data(), {40, 6}}, {.start = 1e5}, context());
  EXPECT_TRUE(same_bits(alone, error));
}

TEST(SinusoidalEncodingErrorTest, of_float32_code_name_the_argument) {
  std::vector<float> memory(64, 7.0F);
  const Tensor table(memory.data(), {4, 4});
  EXPECT_EQ(error_of([&] { attn::sinusoidal_encoding_in_float32({}, {}); }),
            "shape_mismatch: error: got shape (), needs shape (any, any)");
  EXPECT_EQ(error_of([&] { attn::sinusoidal_encoding_in_float32(table, {memory.data(), {4, 3}}); }),
            "shape_mismatch: error: got shape (4, 3), needs shape (4, 4)");
  EXPECT_EQ(error_of([&] { attn::sinusoidal_encoding_in_float32(table, {nullptr, {4, 4}}); }),
            "invalid_argument: error: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { attn::sinusoidal_encoding_in_float32({nullptr, {4, 4}}, table); }),
            "invalid_argument: encoding: got a null pointer, needs data");
  EXPECT_THAT(error_of([&] { attn::sinusoidal_encoding_in_float32(table, {}, {.base = 0}); }),
              StartsWith("invalid_argument: base: got 0"));
  EXPECT_THAT(error_of([&] { attn::sinusoidal_encoding_in_float32({}, table, {.start = 1e17}); }),
              StartsWith("invalid_argument: start: got"));
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

// ---- Edges and errors

TEST(SinusoidalEncodingErrorTest, scratch_memory_beyond_the_address_space_is_an_overflow) {
  // The output fits into the address space, but its frequencies in double precision do not.
  constexpr std::int64_t kWide = std::int64_t{1} << (sizeof(void*) == 8 ? 60 : 28);
  float memory = 7;
  EXPECT_EQ(error_of([&] { attn::sinusoidal_encoding({&memory, {1, kWide}}); }),
            std::string("size_overflow: sinusoidal columns: got ") + std::to_string(kWide + 16) +
                " elements, needs few enough elements to fit into the address space");
  EXPECT_EQ(error_of([&] { attn::sinusoidal_encoding({&memory, {1, INT64_MAX}}); }),
            "size_overflow: output: got shape (1, 9223372036854775807), needs few enough "
            "elements to be addressed");
  EXPECT_EQ(memory, 7.0F);
}

TEST_P(SinusoidalEncodingTest, inputs_without_rows_are_accepted) {
  attn::sinusoidal_encoding({nullptr, {0, 4}}, {}, context());
  attn::sinusoidal_encoding_at({}, {nullptr, {0, 4}}, {}, context());
}

TEST_P(SinusoidalEncodingTest, a_steady_loop_of_calls_allocates_nothing) {
  std::vector<float> output(100 * 32);
  attn_test::expect_no_allocations(
      [&] { attn::sinusoidal_encoding({output.data(), {100, 32}}, {}, context()); });
}

TEST(SinusoidalEncodingErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(64, 7.0F);
  const auto encode = [&](std::vector<std::int64_t> shape,
                          const SinusoidalEncodingOptions& options = {}) {
    return error_of([&] {
      attn::sinusoidal_encoding({memory.data(), std::span<const std::int64_t>(shape)}, options);
    });
  };
  EXPECT_EQ(encode({4}), "shape_mismatch: output: got shape (4), needs shape (any, any)");
  EXPECT_THAT(encode({4, 0}),
              StartsWith("invalid_argument: output: got width 0, needs at least 1"));
  for (const double base : {0.0, -1.0, 1e-101, HUGE_VAL, std::nan("")}) {
    EXPECT_THAT(encode({4, 4}, {.base = base}), StartsWith("invalid_argument: base: got")) << base;
  }
  for (const double start : {0x1p54, -0x1p54, HUGE_VAL, std::nan("")}) {
    EXPECT_THAT(encode({4, 4}, {.start = start}), StartsWith("invalid_argument: start: got"));
    EXPECT_THAT(encode({4, 4}, {.step = start}), StartsWith("invalid_argument: step: got"));
  }
  EXPECT_THAT(encode({4, 4}, {.start = 0x1p53, .step = 100}),
              StartsWith("invalid_argument: start + (length - 1) * step: got"));
  EXPECT_EQ(error_of([] { attn::sinusoidal_encoding({nullptr, {4, 4}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F)) << "a failed call must leave its output untouched";
}

TEST(SinusoidalEncodingErrorTest, explicit_positions_are_checked) {
  std::vector<float> memory(64, 7.0F);
  const auto encode = [&](const std::vector<double>& positions, double base = 10000) {
    return error_of(
        [&] { attn::sinusoidal_encoding_at(positions, {memory.data(), {4, 4}}, {.base = base}); });
  };
  EXPECT_EQ(encode({1, 2, 3}),
            "shape_mismatch: positions: got length 3, needs 4, the length of output");
  EXPECT_THAT(encode({1, 2, 3, std::nan("")}), HasSubstr("positions: got nan"));
  EXPECT_THAT(encode({1, 2, 3, -HUGE_VAL}), HasSubstr("positions: got -inf"));
  EXPECT_THAT(encode({1, 2, 3, 4}, -3), HasSubstr("base: got -3"));
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
