#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "function_ref.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

/// Two checked partial results of attention, processed in blocks of rows.
namespace attn {

inline void check_merge(const ConstTensor& output_a, const ConstTensor& log_sum_exp_a,
                        const ConstTensor& output_b, const ConstTensor& log_sum_exp_b) {
  if (output_a.rank() < 2 || output_a.rank() > 4) {
    validation::fail_shape("output_a", output_a.shape(), {"(N, Dv), (B, N, Dv) or (B, H, N, Dv)"});
  }
  validation::require_data("output_a", output_a);
  validation::require_same_shape("output_b", output_b, output_a);
  validation::require_data("output_b", output_b);
  for (const auto& [name, log_sum_exp] :
       {std::pair("log_sum_exp_a", &log_sum_exp_a), std::pair("log_sum_exp_b", &log_sum_exp_b)}) {
    const auto shape = output_a.shape();
    validation::require_same_shape(name, log_sum_exp->shape(), shape.first(shape.size() - 1));
    validation::require_data(name, *log_sum_exp);
  }
}

/// The number of rows in a block.
inline constexpr std::int64_t kMergedRows = 64;

struct MergedRows {
  std::int64_t batch, head, first, count;
};

/// Calls body(rows, args) for each block of rows, on all threads. `args` describes the inputs of
/// the block; `body` must set the output.
inline void for_merged_rows(
    const ConstTensor& output_a, const ConstTensor& log_sum_exp_a, const ConstTensor& output_b,
    const ConstTensor& log_sum_exp_b, runtime::Execution& run,
    FunctionRef<void(const MergedRows& rows, kernels::MergeArgs args)> body) {
  const ConstTensor a = with_heads(output_a), b = with_heads(output_b);
  const ConstTensor sums_a = with_heads(log_sum_exp_a.unsqueeze(-1));
  const ConstTensor sums_b = with_heads(log_sum_exp_b.unsqueeze(-1));
  const std::int64_t heads = a.size(1), length = a.size(2);
  const std::int64_t blocks = (length + kMergedRows - 1) / kMergedRows;
  run.parallel_for(a.size(0) * heads * blocks, [&](std::int64_t task, int) noexcept {
    const std::int64_t first = task % blocks * kMergedRows;
    const MergedRows rows{task / blocks / heads, task / blocks % heads, first,
                          std::min(kMergedRows, length - first)};
    kernels::MergeArgs args;
    args.rows = rows.count;
    args.cols = a.size(3);
    args.a = rows_at(a, rows.batch, rows.head, first);
    args.log_sum_exp_a = sums_a.pointer(rows.batch, rows.head, first);
    args.log_sum_exp_a_row = sums_a.stride(2);
    args.b = rows_at(b, rows.batch, rows.head, first);
    args.log_sum_exp_b = sums_b.pointer(rows.batch, rows.head, first);
    args.log_sum_exp_b_row = sums_b.stride(2);
    body(rows, args);
  });
}

}  // namespace attn
