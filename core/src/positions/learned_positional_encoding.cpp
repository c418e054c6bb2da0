#include "attn/positions/learned_positional_encoding.hpp"

#include <algorithm>

#include "attn/random.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Number of rows per task.
constexpr std::int64_t kLearnedRowsPerTask = 64;

}  // namespace

LearnedPositionalEncoding::LearnedPositionalEncoding(std::int64_t max_length, std::int64_t d_model)
    : max_length_(max_length), d_model_(d_model) {
  validation::require_at_least("max_length", max_length, 1);
  validation::require_at_least("d_model", d_model, 1);
  weight_ = add_parameter("weight", {max_length, d_model}, Initialization::normal(0.02F));
}

void LearnedPositionalEncoding::initialize_normal(std::uint64_t seed, float deviation,
                                                  Context& context) {
  update_parameters(
      [&](const Parameter& weight) {
        fill_normal(weight.values, {.seed = seed}, 0, deviation, context);
      },
      context);
}

void LearnedPositionalEncoding::forward(const ConstTensor& x, const Tensor& output,
                                        std::int64_t start, const Dropout& dropout,
                                        Context& context) const {
  require_rows("x", x, "d_model", d_model_);
  require_rows_like("output", output, x, x.size(-2), d_model_);
  const ConstTensor from = with_batch(x);
  const Tensor to = with_batch(output);
  const std::int64_t rows = from.size(1);
  validation::require_probability("dropout", dropout.probability);
  validation::require_at_least("start", start, 0);
  if (rows > max_length_ || start > max_length_ - rows) {
    validation::fail(ErrorCode::kInvalidArgument, "x",
                     {"length ", rows, " starting at position ", start},
                     {"to fit within ", validation::Name("max_length"), " (", max_length_, ")"});
  }

  {
    runtime::Execution run(context);
    const float* table = weight_.data() + start * d_model_;
    const std::int64_t blocks = (rows + kLearnedRowsPerTask - 1) / kLearnedRowsPerTask;
    run.parallel_for(from.size(0) * blocks, [&](std::int64_t task, int) noexcept {
      const std::int64_t b = task / blocks;
      const std::int64_t row = task % blocks * kLearnedRowsPerTask;
      kernels::ElementwiseArgs args;
      args.rows = std::min(kLearnedRowsPerTask, rows - row);
      args.cols = d_model_;
      args.a = rows_at(from, b, row);
      args.b = {table + row * d_model_, d_model_};
      args.out = rows_at(to, b, row);
      run.kernels().add(args);
    });
  }
  if (dropout.training) apply_dropout(output, output, dropout, context);
}

}  // namespace attn
