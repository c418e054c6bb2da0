#include "validation.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace {

std::string written(double number) { return attn::validation::join({number}); }

std::string as_printf(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

TEST(ValidationTest, numbers_in_messages_are_written_as_by_printf) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  for (const double number :
       {0.0,          -0.0,    1.0,        -2.5,        0.1,         0.3,         100.0,
        0.0001,       0.00001, 99999.9999, 123456789.0, 999999999.0, 999999999.5, 1e9,
        1234567890.0, 1e-300,  1e300,      kLargest,    5e-324,      HUGE_VAL,    -HUGE_VAL}) {
    EXPECT_EQ(written(number), as_printf(number));
  }
  EXPECT_EQ(written(NAN), "nan");
}

TEST(ValidationTest, nine_digits_of_any_number_are_right) {
  std::uint64_t bits = 1;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 6364136223846793005U + 1442695040888963407U;
    const auto number = std::bit_cast<double>(bits);
    if (std::isnan(number)) continue;
    const double read = std::strtod(written(number).c_str(), nullptr);
    EXPECT_LE(std::abs(read - number), 5.001e-9 * std::abs(number)) << as_printf(number);
  }
}

}  // namespace
