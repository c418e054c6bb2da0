#include "training/row_sums.hpp"

#include <algorithm>

namespace attn::training {

void sum_rows(const ConstTensor& x, const Tensor& sums, BackwardPass& pass) {
  const kernels::TrainingTable& kernels = pass.kernels();
  constexpr std::int64_t kColumns = 64;
  const std::int64_t cols = x.size(1);
  const double elements = static_cast<double>(x.size(0)) * static_cast<double>(cols);
  pass.run.parallel_for(kernels::ceil_divide(cols, kColumns), elements,
                        [&](std::int64_t task, int) noexcept {
                          kernels::ColumnSumsArgs args;
                          args.rows = x.size(0);
                          args.cols = std::min(kColumns, cols - task * kColumns);
                          args.x = x.pointer(0, task * kColumns);
                          args.x_row = x.stride(0);
                          args.sums = sums.pointer(task * kColumns);
                          kernels.column_sums(args);
                        });
}

}  // namespace attn::training
