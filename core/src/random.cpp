#include "attn/random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "elementwise.hpp"
#include "positions/sine_series.hpp"
#include "random_words.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

// The functions below use only additions, multiplications, divisions and square roots, which IEEE
// 754 rounds the same way everywhere. The logarithm and sine of the C library differ between
// systems.

/// Converts w to double by assembling the bits, which compilers can vectorise.
double to_double(std::uint32_t w) noexcept {
  return std::bit_cast<double>(std::uint64_t{0x4330000000000000} | w) - 0x1p52;
}

/// cos(2πz) for |z| ≤ 1/2, within 7e-12.
double cosine_of_turns(double z) noexcept {
  const double w = 0.25 - std::fabs(z);
  double sum = kSineSeries.back();
  for (std::size_t k = kSineSeries.size() - 1; k-- > 0;) sum = sum * (w * w) + kSineSeries[k];
  return sum * w;
}

/// The coefficients c_k = 2/(2k + 1) of ln m = Σ_k c_k·s^(2k+1) with s = (m − 1)/(m + 1). For m
/// between √½ and √2, the first omitted term is at most 1.2e-14.
constexpr auto kLogarithmSeries = [] {
  std::array<double, 8> c{};
  for (int k = 0; k < 8; ++k) c[k] = 2.0 / (2 * k + 1);
  return c;
}();

/// ln x for a positive x that is not subnormal.
double logarithm(double x) noexcept {
  constexpr auto kSqrtHalf = std::bit_cast<std::uint64_t>(0.70710678118654752);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t exponent = (bits - kSqrtHalf + (std::uint64_t{1024} << 52)) >> 52;
  const double m = std::bit_cast<double>(bits - ((exponent - 1024) << 52));
  const double s = (m - 1) / (m + 1);
  double sum = kLogarithmSeries.back();
  for (std::size_t k = kLogarithmSeries.size() - 1; k-- > 0;) {
    sum = sum * (s * s) + kLogarithmSeries[k];
  }
  return s * sum + (to_double(static_cast<std::uint32_t>(exponent)) - 1024) * std::numbers::ln2;
}

/// The Box-Muller transform: turns each pair of words into two normally distributed values.
void box_muller(const std::uint32_t* words, std::int64_t num_pairs, double* values) noexcept {
  for (std::int64_t i = 0; i < num_pairs; ++i) {
    const double radius = std::sqrt(-2 * logarithm((to_double(words[2 * i]) + 0.5) * 0x1p-32));
    const double turns = to_double(words[2 * i + 1]) * 0x1p-32;
    const double from_sine = turns - 0.25;
    values[2 * i] = radius * cosine_of_turns(turns > 0.5 ? turns - 1 : turns);
    values[2 * i + 1] = radius * cosine_of_turns(from_sine > 0.5 ? from_sine - 1 : from_sine);
  }
}

void require_finite(const char* name, float value) {
  if (!std::isfinite(value)) validation::fail_value(name, value, {"a finite number"});
}

/// Fills output with the values that make(n, words, values) computes from n random words at a time.
template <class F>
void fill(const Tensor& output, const RandomStream& random, Context& context, F&& make) {
  validation::require_data("output", output);
  const Tensor out = output.rank() == 0 ? output.unsqueeze(0) : output;
  validation::product("output", out.shape());
  const std::int64_t stride = out.stride(-1);
  runtime::Execution run(context);
  const auto fill_run = [&](std::int64_t first, std::int64_t size) noexcept {
    float* const to = element(out, first);
    for_random_words(run.kernels(), random, first, size,
                     [&](std::int64_t i, std::int64_t n, std::int64_t skip,
                         const std::uint32_t* words) noexcept {
                       double values[kRandomWords];
                       make((skip + n + 3) / 4 * 4, words, values);
                       for (std::int64_t k = 0; k < n; ++k) {
                         to[(i + k) * stride] = static_cast<float>(values[skip + k]);
                       }
                     });
  };
  for_all_row_runs(out.shape(), run, fill_run);
}

/// Combines two 64-bit counters into one counter of the generator, low words first.
std::array<std::uint32_t, 4> counter_of(std::uint64_t low, std::uint64_t high) noexcept {
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<std::uint32_t, 4> RandomStream::words(std::uint64_t block) const noexcept {
  return philox4x32(counter_of(block, stream),
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

void fill_uniform(const Tensor& output, const RandomStream& random, float low, float high,
                  Context& context) {
  require_finite("low", low);
  require_finite("high", high);
  if (low > high) validation::fail_value("low", low, {"at most high, ", high});
  const double scale = (static_cast<double>(high) - static_cast<double>(low)) * 0x1p-24;
  fill(output, random, context,
       [&](std::int64_t n, const std::uint32_t* words, double* values) noexcept {
         for (std::int64_t k = 0; k < n; ++k) values[k] = low + scale * to_double(words[k] >> 8);
       });
}

void fill_normal(const Tensor& output, const RandomStream& random, float mean, float deviation,
                 Context& context) {
  require_finite("mean", mean);
  require_finite("deviation", deviation);
  if (deviation < 0) validation::fail_value("deviation", deviation, {"0 or more"});
  fill(output, random, context,
       [&](std::int64_t n, const std::uint32_t* words, double* values) noexcept {
         box_muller(words, n / 2, values);
         for (std::int64_t k = 0; k < n; ++k) values[k] = mean + deviation * values[k];
       });
}

}  // namespace attn
