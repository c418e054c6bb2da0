#include "attn/layers/conv1d.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "layers/module_initialization.hpp"
#include "layers/packed_matrix.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;

/// a + b·c; throws kSizeOverflow.
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
    validation::fail_value("stride", o.stride, {"1 where padding is \"same\""});
  }
  if (o.same && o.padding != 0) {
    validation::fail_value("padding", o.padding, {"0 where it is \"same\" already"});
  }
  const std::int64_t reach = validation::product("dilation", {o.dilation, o.kernel_size - 1});
  padding_before_ = o.same ? reach / 2 : o.padding;
  padding_behind_ = o.same ? reach - reach / 2 : o.padding;
  sum_of_product("padding", reach, 2, o.padding);
  const std::int64_t window = validation::product("kernel_size", {o.in_channels, o.kernel_size});
  parameters_.add("weight", std::array{o.out_channels, o.in_channels, o.kernel_size});
  if (o.bias) parameters_.add("bias", std::array{o.out_channels});
  packed_ = std::make_unique<PackedMatrix>(o.out_channels, window);
}

Conv1d::~Conv1d() = default;
Conv1d::Conv1d(Conv1d&&) noexcept = default;
Conv1d& Conv1d::operator=(Conv1d&&) noexcept = default;

std::int64_t Conv1d::output_length(std::int64_t length) const {
  const std::int64_t reach = options_.dilation * (options_.kernel_size - 1);
  const std::int64_t padded =
      sum_of_product("x", length, 1, padding_before_ + padding_behind_) - reach;
  if (length < 0 || padded < 1) {
    const std::int64_t padding = padding_before_ + padding_behind_;
    validation::fail(ErrorCode::kInvalidArgument, "x", {"length ", length},
                     {"at least ", std::max<std::int64_t>(reach + 1 - padding, 0),
                      " for one window of ", reach + 1, " with ", padding, " of padding"});
  }
  return (padded - 1) / options_.stride + 1;
}

std::vector<std::string> Conv1d::parameter_names() const { return parameters_.names(); }

ConstTensor Conv1d::parameter(std::string_view name) const { return parameters_.get(name); }

void Conv1d::set_parameter(std::string_view name, const ConstTensor& values) {
  parameters_.set(name, values);
  if (name != "weight") return;
  // As a matrix whose columns lie as windows do in memory: token by token, each with its channels.
  const ConstTensor weight = parameters_.get(name);
  for (std::int64_t k = 0; k < options_.kernel_size; ++k) {
    packed_->pack(weight.select(2, k), k * options_.in_channels);
  }
}

void Conv1d::initialize_xavier(const RandomStream& random, Context& context) {
  initialize_parameters(*this, random, context);
}

void Conv1d::forward(const ConstTensor& x, const Tensor& output, Context& context) const {
  const Conv1dOptions& o = options_;
  const index channels = o.in_channels;
  if (x.rank() != 2 && x.rank() != 3) {
    validation::fail_rows("x", x.shape(), "in_channels");
  }
  const bool batched = x.rank() == 3;
  if (batched) {
    validation::require_shape("x", x, {-1, -1, channels});
  } else {
    validation::require_shape("x", x, {-1, channels});
  }
  const index length = x.size(-2);
  const index outputs = output_length(length);
  if (batched) {
    validation::require_shape("output", output, {x.size(0), outputs, o.out_channels});
  } else {
    validation::require_shape("output", output, {outputs, o.out_channels});
  }
  validation::require_data("x", x);
  validation::require_data("output", output);
  const ConstTensor in = batched ? x : x.unsqueeze(0);
  const Tensor out = batched ? output : output.unsqueeze(0);
  const index batch = in.size(0);

  runtime::Execution run(context);
  // The tokens of one window are neighbours in memory when they are neighbours in the sequence.
  // With a dilation they are made to be: token t is stored in phase t mod dilation, as number
  // t / dilation of it.
  const index dilation = o.kernel_size == 1 ? 1 : o.dilation;
  const bool in_place = padding_before_ == 0 && padding_behind_ == 0 && dilation == 1 &&
                        in.stride(2) == 1 && (o.kernel_size == 1 || in.stride(1) == channels);
  ConstTensor phases;  // (B, dilation, tokens of a phase, channels)
  if (in_place) {
    const std::array shape{batch, index{1}, length, channels};
    const std::array strides{in.stride(0), index{0}, in.stride(1), index{1}};
    phases = ConstTensor(in.data(), shape, strides);
  } else {
    const index padded = length + padding_before_ + padding_behind_;
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

  float* scratch = packed_->take_scratch(run);
  const float* bias = o.bias ? parameters_.get("bias").data() : nullptr;
  // Outputs whose windows begin in the same phase: every period-th one.
  const index common = std::gcd(dilation, o.stride);
  const index period = dilation / common;
  for (index first = 0; first < std::min(period, outputs); ++first) {
    const index start = first * o.stride;
    const index count = (outputs - first - 1) / period + 1;
    const index row = phases.stride(2);
    const std::array window_shape{batch, count, packed_->cols()};
    const std::array window_strides{phases.stride(0), o.stride / common * row, index{1}};
    const ConstTensor windows(phases.pointer(index{0}, start % dilation, start / dilation),
                              window_shape, window_strides);
    const std::array out_shape{batch, count, o.out_channels};
    const std::array out_strides{out.stride(0), period * out.stride(1), out.stride(2)};
    const Tensor target(out.pointer(index{0}, first), out_shape, out_strides);
    packed_->multiply(windows, bias, target, run, scratch);
  }
}

}  // namespace attn
