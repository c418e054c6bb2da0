#include "attn/attention/merge_attention.hpp"

#include <algorithm>
#include <cstdint>

#include "attention/merge_rows.hpp"
#include "runtime/execution.hpp"
#include "strided_rows.hpp"

namespace attn {

void merge_attention(const ConstTensor& output_a, const ConstTensor& log_sum_exp_a,
                     const ConstTensor& output_b, const ConstTensor& log_sum_exp_b,
                     const Tensor& output, const Tensor& log_sum_exp, Context& context) {
  check_merge(output_a, log_sum_exp_a, output_b, log_sum_exp_b);
  validation::require_same_shape("output", output, output_a);
  validation::require_data("output", output);
  if (!log_sum_exp.is_none()) {
    validation::require_same_shape("log_sum_exp", log_sum_exp, log_sum_exp_a);
    validation::require_data("log_sum_exp", log_sum_exp);
  }
  runtime::Execution run(context);
  const Tensor to = with_heads(output);
  const Tensor sums = log_sum_exp.is_none() ? log_sum_exp : with_heads(log_sum_exp.unsqueeze(-1));
  for_merged_rows(output_a, log_sum_exp_a, output_b, log_sum_exp_b, run,
                  [&](const MergedRows& rows, kernels::MergeArgs args) noexcept {
                    args.out = rows_at(to, rows.batch, rows.head, rows.first);
                    if (!sums.is_none()) {
                      args.log_sum_exp = sums.pointer(rows.batch, rows.head, rows.first);
                      args.log_sum_exp_row = sums.stride(2);
                    }
                    run.kernels().merge(args);
                  });
}

}  // namespace attn
