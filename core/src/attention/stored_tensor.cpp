#include "attention/stored_tensor.hpp"

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
      args.to = to.pointer(b, h);
      args.to_row = to.stride(2);
      args.to_col = to.stride(3);
      kernels.widen(args);
    }
  }
}

}  // namespace attn
