#include "attn/random.hpp"

#include <cmath>
#include <numbers>

#include "philox.hpp"
#include "random_words.hpp"
#include "row_runs.hpp"
#include "runtime/execution.hpp"
#include "sine_series.hpp"
#include "validation.hpp"

namespace attn {
namespace {

// The functions below use additions, multiplications, divisions and square roots alone, which IEEE
// 754 rounds the same way everywhere; the system's logarithm and sine differ between systems.

/// sin(2πw) for |w| ≤ 1/4, within 5e-16.
double sine_of_turns(double w) noexcept {
  double sum = kSineSeries.back();
  for (std::size_t k = kSineSeries.size() - 1; k-- > 0;) sum = sum * (w * w) + kSineSeries[k];
  return sum * w;
}

/// ln x for a normal x > 0, within 4e-16 relative.
double logarithm(double x) noexcept {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact, in [1/2, 1)
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  // ln m = 2·artanh(s) with |s| < 0.172: the first term left out is 2·s^23/23 = 2e-19.
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * (s * s) + 1.0 / k;
  return 2 * s * sum + exponent * std::numbers::ln2;
}

struct NormalPair {
  double first;
  double second;
};

NormalPair box_muller(std::uint32_t w0, std::uint32_t w1) noexcept {
  const double radius = std::sqrt(-2 * logarithm((w0 + 0.5) * 0x1p-32));
  double turns = w1 * 0x1p-32;
  const double cosine = sine_of_turns(0.25 - std::fabs(turns > 0.5 ? turns - 1 : turns));
  turns -= 0.25;
  const double sine = sine_of_turns(0.25 - std::fabs(turns > 0.5 ? turns - 1 : turns));
  return {radius * cosine, radius * sine};
}

void require_finite(const char* name, float value) {
  if (!std::isfinite(value)) validation::fail_value(name, value, "a finite number");
}

/// Calls body(run's first element, its stride, index of the element, count) for runs of elements.
template <class F>
void fill(const Tensor& output, Context& context, F&& body) {
  validation::require_data("output", output);
  const Tensor out = output.rank() == 0 ? output.unsqueeze(0) : output;
  const std::int64_t count = validation::product("output", out.shape());
  runtime::Execution run(context);
  run.parallel_for((count + kElementsPerTask - 1) / kElementsPerTask,
                   [&](std::int64_t task, int) noexcept {
                     const std::int64_t begin = task * kElementsPerTask;
                     for_row_runs(out.size(-1), begin, std::min(begin + kElementsPerTask, count),
                                  [&](std::int64_t first, std::int64_t n) noexcept {
                                    body(element(out, first), out.stride(-1), first, n);
                                  });
                   });
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  return philox_block(counter, key);
}

std::array<std::uint32_t, 4> RandomStream::words(std::uint64_t block) const noexcept {
  return philox_block(block, stream, seed);
}

void fill_uniform(const Tensor& output, const RandomStream& random, float low, float high,
                  Context& context) {
  require_finite("low", low);
  require_finite("high", high);
  if (low > high) validation::fail_value("low", low, "a number not above high");
  const double scale = (static_cast<double>(high) - static_cast<double>(low)) * 0x1p-24;
  fill(output, context,
       [&](float* out, std::int64_t stride, std::int64_t first, std::int64_t count) noexcept {
         for_random_words(random, first, count, [&](std::int64_t i, std::uint32_t word) noexcept {
           out[i * stride] = static_cast<float>(low + scale * (word >> 8));
         });
       });
}

void fill_normal(const Tensor& output, const RandomStream& random, float mean, float deviation,
                 Context& context) {
  require_finite("mean", mean);
  require_finite("deviation", deviation);
  if (deviation < 0) validation::fail_value("deviation", deviation, "0 or more");
  fill(output, context,
       [&](float* out, std::int64_t stride, std::int64_t first, std::int64_t count) noexcept {
         for_random_blocks(
             random, first, count, [&](std::int64_t i, const PhiloxCounter& w) noexcept {
               const NormalPair a = box_muller(w[0], w[1]);
               const NormalPair b = box_muller(w[2], w[3]);
               const double values[4] = {a.first, a.second, b.first, b.second};
               for (std::int64_t k = std::max<std::int64_t>(0, -i);
                    k < std::min<std::int64_t>(4, count - i); ++k) {
                 out[(i + k) * stride] = static_cast<float>(mean + deviation * values[k]);
               }
             });
       });
}

}  // namespace attn
