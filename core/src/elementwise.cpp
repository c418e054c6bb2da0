#include "elementwise.hpp"

namespace attn {

void copy(const ConstTensor& from, const Tensor& to, runtime::Execution& run) noexcept {
  if (from.rank() == 0) {
    *to.data() = *from.data();
    return;
  }
  const std::int64_t in_step = from.stride(-1);
  const std::int64_t out_step = to.stride(-1);
  for_all_row_runs(from, run, [&](std::int64_t first, std::int64_t count) noexcept {
    const float* in = element(from, first);
    float* out = element(to, first);
    for (std::int64_t i = 0; i < count; ++i) out[i * out_step] = in[i * in_step];
  });
}

void add(const ConstTensor& a, const ConstTensor& b, const Tensor& out,
         runtime::Execution& run) noexcept {
  if (a.rank() == 0) {
    *out.data() = *a.data() + *b.data();
    return;
  }
  for_all_row_runs(a, run, [&](std::int64_t first, std::int64_t count) noexcept {
    kernels::ElementwiseArgs args;
    args.rows = 1;
    args.cols = count;
    args.a = element(a, first);
    args.a_col = a.stride(-1);
    args.b = element(b, first);
    args.b_col = b.stride(-1);
    args.out = element(out, first);
    args.out_col = out.stride(-1);
    run.kernels().add(args);
  });
}

}  // namespace attn
