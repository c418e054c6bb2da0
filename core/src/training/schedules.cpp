#include "attn/training/schedules.hpp"

#include <algorithm>
#include <cmath>

#include "positions/sine_series.hpp"
#include "validation.hpp"

namespace attn {
namespace {

void check(std::int64_t step, const char* name, double rate) {
  validation::require_at_least("step", step, 1);
  validation::require_finite_at_least_zero(name, rate);
}

/// cos(π·t) for t in [0, 1], computed with products and sums only, because cos() gives different
/// last bits in different libraries.
double cosine_of_half_turns(double t) noexcept {
  const double w = 0.25 - t / 2;
  const double square = w * w;
  double sum = 0;
  for (auto c = kSineSeries.rbegin(); c != kSineSeries.rend(); ++c) sum = sum * square + *c;
  return sum * w;
}

double warmed_up(std::int64_t step, double peak, std::int64_t warmup_steps) noexcept {
  if (step >= warmup_steps) return peak;
  return peak * (static_cast<double>(step) / static_cast<double>(warmup_steps));
}

}  // namespace

double constant_learning_rate(std::int64_t step, double peak, std::int64_t warmup_steps) {
  check(step, "peak", peak);
  validation::require_at_least("warmup_steps", warmup_steps, 0);
  return warmed_up(step, peak, warmup_steps);
}

double cosine_learning_rate(std::int64_t step, double peak, std::int64_t warmup_steps,
                            std::int64_t total_steps, double last) {
  check(step, "peak", peak);
  check(step, "last", last);
  validation::require_at_least("warmup_steps", warmup_steps, 0);
  validation::require_at_least("total_steps", total_steps, warmup_steps);
  if (step <= warmup_steps) return warmed_up(step, peak, warmup_steps);
  if (step >= total_steps) return last;
  const double progress =
      static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
  return last + (peak - last) * (1 + cosine_of_half_turns(progress)) / 2;
}

double inverse_sqrt_learning_rate(std::int64_t step, std::int64_t d_model,
                                  std::int64_t warmup_steps, double factor) {
  check(step, "factor", factor);
  validation::require_at_least("d_model", d_model, 1);
  validation::require_at_least("warmup_steps", warmup_steps, 1);
  const auto steps = static_cast<double>(step);
  const auto warmup = static_cast<double>(warmup_steps);
  return factor / std::sqrt(static_cast<double>(d_model)) *
         std::min(1 / std::sqrt(steps), steps / (warmup * std::sqrt(warmup)));
}

}  // namespace attn
