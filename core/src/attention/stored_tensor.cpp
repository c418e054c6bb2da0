#include "attention/stored_tensor.hpp"

#include "strided_rows.hpp"

namespace attn {

void widen(const StoredTensor& from, const Tensor& to,
           const kernels::KernelTable& kernels) noexcept {
  for (std::int64_t b = 0; b < from.size(0); ++b) {
    for (std::int64_t h = 0; h < from.size(1); ++h) {
      kernels::WidenArgs args;
      args.rows = from.size(2);
      args.cols = args.padded_cols = from.size(3);
      args.from = from.rows_at(b, h, 0);
      args.from_col = from.stride(3);
      args.to = rows_at(to, b, h);
      kernels.widen(args);
    }
  }
}

}  // namespace attn
