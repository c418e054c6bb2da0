#pragma once

#include <cstdint>

#include "attn/export.hpp"

/// Learning rates that change from step to step, for Optimizer::set_learning_rate(). Step 1 is the
/// first update. All functions return bit-identical results on every machine.
namespace attn {

/// peak · min(1, step / warmup_steps): linear warm-up, then constant. Throws kInvalidArgument for a
/// step below 1, negative warmup_steps, or a rate that is negative or not finite.
ATTN_API double constant_learning_rate(std::int64_t step, double peak,
                                       std::int64_t warmup_steps = 0);

/// Linear warm-up to `peak`, then half a cosine down to `last` (Loshchilov and Hutter 2017,
/// arXiv:1608.03983, without restarts). The rate reaches `last` at total_steps and stays there:
///
///   peak · step / warmup_steps                                   for step ≤ warmup_steps
///   last + (peak − last) · (1 + cos(π · (step − warmup_steps) / (total_steps − warmup_steps))) / 2
///
/// The result is within 1e-10 · peak of the exact value. Throws the same errors as
/// constant_learning_rate(), and kInvalidArgument for total_steps below warmup_steps.
ATTN_API double cosine_learning_rate(std::int64_t step, double peak, std::int64_t warmup_steps,
                                     std::int64_t total_steps, double last = 0);

/// factor · d_model^(−1/2) · min(step^(−1/2), step · warmup_steps^(−3/2)): Vaswani et al. 2017,
/// arXiv:1706.03762, equation 3. Throws kInvalidArgument for a step, a d_model or warmup_steps
/// below 1, or a factor that is negative or not finite.
ATTN_API double inverse_sqrt_learning_rate(std::int64_t step, std::int64_t d_model,
                                           std::int64_t warmup_steps, double factor = 1);

}  // namespace attn
