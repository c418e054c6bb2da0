#include "attn/layers/conv1d.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;

/// Returns a + b·c. Throws kSizeOverflow.
std::int64_t sum_of_product(const char* name, std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t result = validation::product(name, {b, c});
  if (__builtin_add_overflow(a, result, &result)) {
    validation::fail(ErrorCode::kSizeOverflow, name, {a, " + ", b, "·", c},
                     {"a sum that fits into the address space"});
  }
  return result;
}

}  // namespace

Conv1d::Conv1d(const Conv1dOptions& options) : options_(options) {
  const Conv1dOptions& o = options_;
  validation::require_at_least("in_channels", o.in_channels, 1);
  validation::require_at_least("out_channels", o.out_channels, 1);
  validation::require_at_least("kernel_size", o.kernel_size, 1);
  validation::require_at_least("stride", o.stride, 1);
  validation::require_at_least("padding", o.padding, 0);
  validation::require_at_least("dilation", o.dilation, 1);
  if (o.same && o.stride != 1) {
    validation::fail_value("stride", o.stride, {"1 with \"same\" padding"});
  }
  if (o.same && o.padding != 0) {
    validation::fail_value("padding", o.padding, {"0 with \"same\" padding"});
  }
  const std::int64_t reach = validation::product("dilation", {o.dilation, o.kernel_size - 1});
  padding_before_ = o.same ? reach / 2 : o.padding;
  padding_after_ = o.same ? reach - reach / 2 : o.padding;
  sum_of_product("padding", reach, 2, o.padding);
  const std::int64_t window = validation::product("kernel_size", {o.in_channels, o.kernel_size});
  const Tensor weight = add_parameter("weight", {o.out_channels, o.in_channels, o.kernel_size},
                                      Initialization::xavier_uniform());
  weight_ = std::make_shared<PackedMatrix>(o.out_channels, window);
  when_changed([packed = weight_, weight](Context& context) {
    // Packs the columns in the memory order of a window: token by token, with all channels of a
    // token together.
    for (std::int64_t k = 0; k < weight.size(2); ++k) {
      packed->pack(weight.select(2, k), context, k * weight.size(1));
    }
  });
  if (o.bias) bias_ = add_parameter("bias", {o.out_channels});
}

std::int64_t Conv1d::output_length(std::int64_t length) const {
  const std::int64_t reach = options_.dilation * (options_.kernel_size - 1);
  const std::int64_t padded =
      sum_of_product("x", length, 1, padding_before_ + padding_after_) - reach;
  if (length < 0 || padded < 1) {
    const std::int64_t padding = padding_before_ + padding_after_;
    validation::fail(ErrorCode::kInvalidArgument, "x", {"length ", length},
                     {"at least ", std::max<std::int64_t>(reach + 1 - padding, 0),
                      " for one window of ", reach + 1, " with padding ", padding});
  }
  return (padded - 1) / options_.stride + 1;
}

void Conv1d::forward(const ConstTensor& x, const Tensor& output, Context& context) const {
  const Conv1dOptions& o = options_;
  const index channels = o.in_channels;
  require_rows("x", x, "in_channels", channels);
  const index length = x.size(-2);
  const index outputs = output_length(length);
  require_rows_like("output", output, x, outputs, o.out_channels);
  const ConstTensor in = with_batch(x);
  const Tensor out = with_batch(output);
  const index batch = in.size(0);

  runtime::Execution run(context);
  // A window must be contiguous in memory. A dilation separates the tokens of a window, so tokens
  // are rearranged: token t is stored in phase t mod dilation, at index t / dilation.
  const index dilation = o.kernel_size == 1 ? 1 : o.dilation;
  const bool in_place = padding_before_ == 0 && padding_after_ == 0 && dilation == 1 &&
                        in.stride(2) == 1 && (o.kernel_size == 1 || in.stride(1) == channels);
  ConstTensor phases;  // (B, dilation, tokens of a phase, channels)
  if (in_place) {
    const std::array shape{batch, index{1}, length, channels};
    const std::array strides{in.stride(0), index{0}, in.stride(1), index{1}};
    phases = ConstTensor(in.data(), shape, strides);
  } else {
    const index padded = length + padding_before_ + padding_after_;
    const index tokens = (padded - 1) / dilation + 1;
    const std::array shape{batch, dilation, tokens, channels};
    const Tensor copy(run.floats(validation::product("x", shape), "convolution"), shape);
    const index rows = batch * dilation * tokens;
    constexpr index kRowsPerTask = 64;
    run.parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, [&](index task, int) noexcept {
      const index end = std::min(rows, (task + 1) * kRowsPerTask);
      for (index row = task * kRowsPerTask; row < end; ++row) {
        const index b = row / (dilation * tokens);
        const index phase = row / tokens % dilation;
        const index t = row % tokens * dilation + phase - padding_before_;
        float* target = copy.data() + row * channels;
        if (t < 0 || t >= length) {
          std::fill_n(target, channels, 0.0F);
        } else {
          for (index c = 0; c < channels; ++c) target[c] = in(b, t, c);
        }
      }
    });
    phases = copy;
  }

  float* scratch = weight_->take_scratch(run);
  // Outputs that are `period` apart have windows that begin in the same phase.
  const index common = std::gcd(dilation, o.stride);
  const index period = dilation / common;
  for (index first = 0; first < std::min(period, outputs); ++first) {
    const index start = first * o.stride;
    const index count = (outputs - first - 1) / period + 1;
    const index row = phases.stride(2);
    const std::array window_shape{batch, count, weight_->cols()};
    const std::array window_strides{phases.stride(0), o.stride / common * row, index{1}};
    const ConstTensor windows(phases.pointer(index{0}, start % dilation, start / dilation),
                              window_shape, window_strides);
    const std::array out_shape{batch, count, o.out_channels};
    const std::array out_strides{out.stride(0), period * out.stride(1), out.stride(2)};
    const Tensor target(out.pointer(index{0}, first), out_shape, out_strides);
    weight_->multiply(windows, bias_.data(), target, run, scratch);
  }
}

}  // namespace attn
