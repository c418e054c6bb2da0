// Computes positional encodings at any position and with any width, step, base and scaling rule.
// The result must be an Error, or be within the headers' bounds of a reference in extended
// precision.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/error.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "attn/positions/t5_bias.hpp"
#include "attn/teaching/shift_matrix.hpp"
#include "choices.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "reference/attention.hpp"
#include "reference/rotary_embedding.hpp"
#include "reference/sinusoidal_encoding.hpp"

namespace {

using attn_fuzz::Choices;
using attn_test::FloatTensor;
using attn_test::Layout;

constexpr double kLargestPosition = 0x1p53;

/// Chooses a double: a small integer, a binary fraction, an integer of 32 bits, or arbitrary bits.
double choose_number(Choices& choices) {
  switch (choices.integer(0, 4)) {
    case 0:
      return static_cast<double>(choices.integer(-100, 30000));
    case 1:
      return choices.bits<std::int32_t>() * 0x1p-10;
    case 2:
      return std::ldexp(static_cast<double>(choices.bits<std::int32_t>()),
                        static_cast<int>(choices.integer(-60, 25)));
    case 3:
      return static_cast<double>(choices.bits<std::int32_t>());
    default:
      return choices.bits<double>();
  }
}

double choose_base(Choices& choices) {
  const double base = choices.one_in(3) ? std::abs(choose_number(choices)) : 10000;
  // With much larger bases, base^(−2j) underflows in the reference, whose frequency is then NaN.
  return std::isfinite(base) ? std::min(base, 1e12) : base;
}

/// The error bound of each value, as stated in sinusoidal_encoding.hpp.
reference::Array bounds(const std::vector<double>& positions, std::int64_t width, double base,
                        double step) {
  reference::Array error({static_cast<std::int64_t>(positions.size()), width});
  const double further = std::abs(step) <= 0x1p17 ? 64 * std::abs(step) : 0;
  for (std::size_t i = 0; i < error.values.size(); ++i) {
    const double p = std::abs(positions[i / static_cast<std::size_t>(width)]) + further;
    error.values[i] = 3.1e-8 + 4.5e-16 * p * std::max(1.0, 1 / base);
  }
  return error;
}

bool in_domain(const std::vector<double>& positions, double base) {
  for (const double p : positions) {
    if (!(std::abs(p) <= kLargestPosition)) return false;
  }
  return base >= 1e-100 && std::isfinite(base);
}

void table(Choices& choices) {
  attn::SinusoidalEncodingOptions options;
  options.base = choose_base(choices);
  options.start = choose_number(choices);
  options.step = choices.one_in(2) ? 1 : choose_number(choices);
  const bool concatenated = choices.one_in(2);
  if (concatenated) options.layout = attn::SinusoidalLayout::kConcatenated;
  const std::int64_t rows = choices.integer(0, 200), width = choices.integer(1, 20);
  std::vector<double> positions;
  for (std::int64_t i = 0; i < rows; ++i) {
    positions.push_back(std::fma(static_cast<double>(i), options.step, options.start));
  }
  FloatTensor output =
      FloatTensor::filled({rows, width}, -7, static_cast<Layout>(choices.integer(0, 4)));
  try {
    attn::sinusoidal_encoding(output.view(), options);
  } catch (const attn::Error& error) {
    EXPECT_EQ(error.code(), attn::ErrorCode::kInvalidArgument) << error.what();
    EXPECT_EQ(output.values(), std::vector<float>(static_cast<std::size_t>(output.count()), -7));
    const bool step_fits = std::abs(options.step) <= kLargestPosition;
    EXPECT_FALSE(rows > 0 && step_fits && in_domain(positions, options.base)) << error.what();
    return;
  }
  EXPECT_TRUE(output.gaps_are_untouched());
  if (rows == 0) return;
  ASSERT_TRUE(in_domain(positions, options.base));
  const auto exact = reference::sinusoidal_encoding({positions, width, options.base, concatenated});
  EXPECT_TRUE(attn_test::is_within(output.values(), exact,
                                   bounds(positions, width, options.base, options.step)))
      << "start " << options.start << ", step " << options.step << ", base " << options.base;
}

void at_positions(Choices& choices) {
  std::vector<double> positions;
  const std::int64_t rows = choices.integer(0, 6), width = choices.integer(1, 20);
  for (std::int64_t i = 0; i < rows; ++i) positions.push_back(choose_number(choices));
  const double base = choose_base(choices);
  FloatTensor output =
      FloatTensor::filled({rows, width}, -7, static_cast<Layout>(choices.integer(0, 4)));
  try {
    attn::sinusoidal_encoding_at(positions, output.view(), {.base = base});
  } catch (const attn::Error& error) {
    EXPECT_EQ(output.values(), std::vector<float>(static_cast<std::size_t>(output.count()), -7));
    EXPECT_FALSE(rows > 0 && in_domain(positions, base)) << error.what();
    return;
  }
  EXPECT_TRUE(output.gaps_are_untouched());
  if (rows == 0) return;
  ASSERT_TRUE(in_domain(positions, base));
  const auto exact = reference::sinusoidal_encoding({positions, width, base, false});
  EXPECT_TRUE(attn_test::is_within(output.values(), exact, bounds(positions, width, base, 0)));
}

void shift(Choices& choices) {
  const std::int64_t pairs = choices.integer(1, 10);
  const double delta = choose_number(choices), base = choose_base(choices);
  FloatTensor output = FloatTensor::filled({2 * pairs, 2 * pairs}, -7);
  try {
    attn::shift_matrix(output.view(), delta, {.base = base});
  } catch (const attn::Error& error) {
    EXPECT_FALSE(in_domain({delta}, base)) << error.what();
    return;
  }
  ASSERT_TRUE(in_domain({delta}, base));
  // The entries of the matrix are the entries of the encoding of position δ.
  const auto row = reference::sinusoidal_encoding({{delta}, 2 * pairs, base, false});
  reference::Array exact({2 * pairs, 2 * pairs});
  for (std::int64_t j = 0; j < pairs; ++j) {
    const double sine = row.values[static_cast<std::size_t>(2 * j)];
    const double cosine = row.values[static_cast<std::size_t>(2 * j + 1)];
    exact.at({2 * j, 2 * j}) = exact.at({2 * j + 1, 2 * j + 1}) = cosine;
    exact.at({2 * j, 2 * j + 1}) = sine;
    exact.at({2 * j + 1, 2 * j}) = -sine;
  }
  EXPECT_TRUE(attn_test::is_within(output.values(), exact,
                                   3.1e-8 + 4.5e-16 * std::abs(delta) * std::max(1.0, 1 / base)))
      << "delta " << delta << ", base " << base;
}

/// Tests rotary embeddings without scaling and with linear, dynamic NTK, YaRN and Llama 3 scaling.
/// Parameters are arbitrary. Rotated pairs must keep their length, and no value may be NaN.
void rotary(Choices& choices) {
  attn::RotaryEmbeddingOptions options;
  options.rotary_dim = choices.integer(-1, 20);
  options.base = choose_base(choices);
  switch (choices.integer(0, 4)) {
    case 1:
      options.scaling = attn::LinearRotaryScaling{choose_number(choices)};
      break;
    case 2:
      options.scaling =
          attn::DynamicNtkRotaryScaling{choose_number(choices), choices.bits<std::int64_t>()};
      break;
    case 3: {
      attn::YarnRotaryScaling yarn;
      yarn.factor = choose_number(choices);
      yarn.original_max_position_embeddings = choices.bits<std::int64_t>();
      yarn.attention_factor = 1;
      yarn.beta_fast = choose_number(choices);
      yarn.beta_slow = choose_number(choices);
      yarn.truncate = choices.one_in(2);
      options.scaling = yarn;
      break;
    }
    case 4: {
      attn::Llama3RotaryScaling llama;
      llama.factor = choose_number(choices);
      llama.low_freq_factor = choose_number(choices);
      llama.high_freq_factor = choose_number(choices);
      options.scaling = llama;
      break;
    }
    default:
      break;
  }
  attn::RotaryPositions positions;
  positions.start = choose_number(choices);
  if (choices.one_in(3)) positions.sequence_length = choose_number(choices);
  const std::int64_t rows = choices.integer(0, 4);
  FloatTensor cos =
      FloatTensor::filled({rows, std::max<std::int64_t>(options.rotary_dim / 2, 0)}, -7);
  FloatTensor sin = FloatTensor::filled(cos.shape(), -7);
  try {
    const attn::RotaryEmbedding embedding(options);
    embedding.tables(cos.view(), sin.view(), positions);
  } catch (const attn::Error&) {
    EXPECT_EQ(cos.values(), std::vector<float>(static_cast<std::size_t>(cos.count()), -7));
    EXPECT_EQ(sin.values(), std::vector<float>(static_cast<std::size_t>(sin.count()), -7));
    return;
  }
  const std::vector<float> c = cos.values(), s = sin.values();
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double radius = std::hypot(static_cast<double>(c[i]), static_cast<double>(s[i]));
    EXPECT_NEAR(radius, 1, 2e-7) << "scaling rule " << options.scaling.index();
  }
}

void t5(Choices& choices) {
  const std::int64_t buckets = choices.integer(-3, 400),
                     max_distance = choices.bits<std::int64_t>();
  const auto distance =
      choices.one_in(2) ? choices.integer(-2000, 2000) : choices.bits<std::int64_t>();
  const bool bidirectional = choices.one_in(2);
  std::int64_t got = 0;
  try {
    got = attn::t5_bucket(distance, buckets, max_distance, bidirectional);
  } catch (const attn::Error& error) {
    EXPECT_EQ(error.code(), attn::ErrorCode::kInvalidArgument);
    return;
  }
  EXPECT_GE(got, 0);
  EXPECT_LT(got, buckets);
  // The reference compares distances with bucket boundaries in double precision, so it is reliable
  // only if the distances are below 1e9.
  if (std::abs(static_cast<double>(distance)) < 1e9 && max_distance < 1'000'000'000) {
    EXPECT_EQ(got, reference::t5_bucket(distance, buckets, max_distance, bidirectional))
        << distance << " of " << buckets << ", " << max_distance;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A failed expectation ends the program, and libFuzzer reports that.
  GTEST_FLAG_SET(throw_on_failure, true);
  Choices choices({data, size});
  switch (choices.integer(0, 4)) {
    case 0:
      table(choices);
      break;
    case 1:
      at_positions(choices);
      break;
    case 2:
      shift(choices);
      break;
    case 3:
      rotary(choices);
      break;
    default:
      t5(choices);
      break;
  }
  return 0;
}
