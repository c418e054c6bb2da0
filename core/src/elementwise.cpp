#include "elementwise.hpp"

#include <algorithm>

namespace attn {

void for_all_row_runs(std::span<const std::int64_t> shape, runtime::Execution& run,
                      FunctionRef<void(std::int64_t first, std::int64_t count)> body) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size == 0) return;
    count *= size;
  }
  run.parallel_for(
      (count + kElementsPerTask - 1) / kElementsPerTask, [&](std::int64_t task, int) noexcept {
        const std::int64_t begin = task * kElementsPerTask;
        for_row_runs(shape.back(), begin, std::min(begin + kElementsPerTask, count), body);
      });
}

void copy(const ConstTensor& from, const Tensor& to, runtime::Execution& run) noexcept {
  if (from.rank() > 1 && from.is_contiguous() && to.is_contiguous()) {
    return copy(flat(from), flat(to), run);
  }
  if (from.rank() == 0) {
    *to.data() = *from.data();
    return;
  }
  const std::int64_t in_step = from.stride(-1);
  const std::int64_t out_step = to.stride(-1);
  for_all_row_runs(from.shape(), run, [&](std::int64_t first, std::int64_t count) noexcept {
    const float* in = element(from, first);
    float* out = element(to, first);
    if (in_step == 1 && out_step == 1) {
      std::copy_n(in, count, out);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i * out_step] = in[i * in_step];
    }
  });
}

void widen(const ConstAnyTensor& from, const Tensor& to, runtime::Execution& run) noexcept {
  if (from.rank() == 0) return widen(from.unsqueeze(0), to.unsqueeze(0), run);
  from.visit([&](const auto& typed) {
    for_all_row_runs(typed.shape(), run, [&](std::int64_t first, std::int64_t count) noexcept {
      kernels::WidenArgs args;
      args.rows = 1;
      args.cols = count;
      args.padded_cols = count;
      args.from.type = from.type();
      args.from.data = element(typed, first);
      args.from_col = from.stride(-1);
      args.to = {element(to, first), 0, to.stride(-1)};
      run.kernels().widen(args);
    });
  });
}

void narrow(const ConstTensor& from, const AnyTensor& to, runtime::Execution& run) noexcept {
  if (from.rank() == 0) return narrow(from.unsqueeze(0), to.unsqueeze(0), run);
  to.visit([&](const auto& typed) {
    for_all_row_runs(typed.shape(), run, [&](std::int64_t first, std::int64_t count) noexcept {
      kernels::NarrowArgs args;
      args.rows = 1;
      args.cols = count;
      args.from = {element(from, first), 0, from.stride(-1)};
      args.type = to.type();
      args.to = element(typed, first);
      args.to_col = to.stride(-1);
      run.kernels().narrow(args);
    });
  });
}

void add(const ConstTensor& a, const ConstTensor& b, const Tensor& out,
         runtime::Execution& run) noexcept {
  if (a.rank() > 1 && a.is_contiguous() && b.is_contiguous() && out.is_contiguous()) {
    return add(flat(a), flat(b), flat(out), run);
  }
  if (a.rank() == 0) {
    *out.data() = *a.data() + *b.data();
    return;
  }
  for_all_row_runs(a.shape(), run, [&](std::int64_t first, std::int64_t count) noexcept {
    kernels::ElementwiseArgs args;
    args.rows = 1;
    args.cols = count;
    args.a = {element(a, first), 0, a.stride(-1)};
    args.b = {element(b, first), 0, b.stride(-1)};
    args.out = {element(out, first), 0, out.stride(-1)};
    run.kernels().add(args);
  });
}

}  // namespace attn
