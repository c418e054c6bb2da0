#include "attn/training/losses.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "attention/staged_outputs.hpp"
#include "elementwise.hpp"
#include "kernels/training/training_table.hpp"
#include "rows.hpp"
#include "strided_rows.hpp"
#include "training/recording.hpp"

namespace attn {
namespace {

using kernels::index;
using training::BackwardPass;
using training::Node;
using training::Recording;
using training::Step;
using training::training_kernels;

constexpr std::span<const std::int64_t> kScalar{};

void check_gradient(const Tensor& gradient, const ConstTensor& values) {
  validation::require_same_shape("gradient", gradient, values);
  validation::require_data("gradient", gradient);
}

void check_options(const CrossEntropyOptions& options) {
  validation::require_probability("label_smoothing", options.label_smoothing);
}

/// Targets in the form that the kernel expects.
struct Targets {
  index* rows = nullptr;
  index count = 0;  ///< number of targets that are not ignored
};

Targets read_targets(const ConstTensor& logits, const IdView& ids,
                     const CrossEntropyOptions& options, runtime::Execution& run) {
  require_rows("logits", logits, "classes", -1);
  const std::int64_t classes = logits.size(-1);
  if (classes == 0) validation::fail_shape("logits", logits.shape(), {"at least one class"});
  const std::int64_t length = logits.size(-2);
  const std::int64_t rows = validation::product("logits", {batch_of(logits), length});
  const bool in_a_row = ids.rank() == 1;
  if (in_a_row && ids.size(0) != rows) {
    validation::fail(ErrorCode::kShapeMismatch, "targets", {ids.size(0)},
                     {rows, ", one for each row of ", validation::Name("logits")});
  }
  if (!in_a_row) {
    validation::require_same_shape("targets", ids.shape(), logits.shape().first(logits.rank() - 1));
  }
  validation::require_data("targets", ids);
  Targets targets;
  targets.rows = run.take<index>(rows, "targets");
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::array<std::int64_t, 2> at{row / length, row % length};
    const std::int64_t id = in_a_row ? ids(row) : ids(at[0], at[1]);
    const bool counts = id != options.ignore_index;
    if (counts && (id < 0 || id >= classes)) {
      const std::span<const std::int64_t> indices = std::span(at).last(logits.rank() - 1);
      validation::fail(
          ErrorCode::kInvalidArgument, "targets", {id, " at ", indices},
          {"an index below ", classes, " (the number of classes in ", validation::Name("logits"),
           ") or ", validation::Name("ignore_index"), " (", options.ignore_index, ")"});
    }
    targets.rows[row] = counts ? id : -1;
    targets.count += counts;
  }
  if (targets.count == 0 && options.reduction == LossReduction::kMean) {
    validation::fail_value("targets", "no target to average over", {"at least one"});
  }
  return targets;
}

/// The loss of checked logits. Writes the gradient of the logits, row-major, to `gradient` unless
/// `gradient` is null.
double run_cross_entropy(const ConstTensor& logits, const Targets& targets,
                         const CrossEntropyOptions& options, float* gradient,
                         runtime::Execution& run) {
  const kernels::TrainingTable& kernels = training_kernels(run);
  const ConstTensor x = with_batch(logits);
  const index length = x.size(1);
  const index cols = x.size(2);
  const index rows = x.size(0) * length;
  const double divisor =
      options.reduction == LossReduction::kMean ? static_cast<double>(targets.count) : 1;
  const index scratch_size = kernels::round_up(cols, run.kernels().vector_width);
  float* scratch =
      run.floats(validation::product("logits", {scratch_size, run.num_threads()}), "logits");
  double* losses = run.take<double>(rows, "losses");
  const index per_task = std::max<index>(1, kElementsPerTask / cols);
  run.parallel_for(kernels::ceil_divide(rows, per_task), [&](index task, int worker) noexcept {
    const index begin = task * per_task;
    for_row_runs(length, begin, std::min(begin + per_task, rows), [&](index row, index count) {
      kernels::CrossEntropyArgs args;
      args.rows = count;
      args.cols = cols;
      args.x = rows_at(x, row / length, row % length, 0);
      args.targets = targets.rows + row;
      args.smoothing = options.label_smoothing;
      args.factor = 1 / divisor;
      args.gradient = gradient ? gradient + row * cols : nullptr;
      args.losses = losses + row;
      kernels.cross_entropy(args, scratch + worker * scratch_size);
    });
  });
  double sum = 0;
  for (index i = 0; i < rows; ++i) sum += losses[i];
  return sum / divisor;
}

class CrossEntropyStep final : public Step {
 public:
  /// `gradient` is the derivative of the loss with respect to the logits.
  CrossEntropyStep(Node* logits, const Tensor& gradient) : logits_(logits), gradient_(gradient) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const float factor = *output_gradient.data();
    if (factor != 1) {
      const kernels::TrainingTable& kernels = pass.kernels();
      for_all_row_runs(gradient_.shape(), pass.run, [&](index first, index count) noexcept {
        float* values = gradient_.data() + first;
        kernels.scaled_difference(count, factor, values, nullptr, values);
      });
    }
    pass.move_to(logits_, gradient_);
  }

 private:
  Node* logits_;
  Tensor gradient_;
};

}  // namespace

Variable cross_entropy(const Variable& logits, const IdView& targets,
                       const CrossEntropyOptions& options) {
  Recording record("cross_entropy", nullptr, {&logits});
  check_options(options);
  runtime::Execution run(record.context());
  const Targets read = read_targets(logits.value(), targets, options, run);
  const Tensor gradient =
      record.needs_gradient() ? record.memory(logits.value().shape()) : Tensor();
  const Tensor loss = record.memory(kScalar);
  *loss.data() =
      static_cast<float>(run_cross_entropy(logits.value(), read, options, gradient.data(), run));
  return record.finish(loss, CrossEntropyStep(record.node(logits), gradient));
}

float cross_entropy(const ConstTensor& logits, const IdView& targets,
                    const CrossEntropyOptions& options, Context& context) {
  check_options(options);
  runtime::Execution run(context);
  const Targets read = read_targets(logits, targets, options, run);
  return static_cast<float>(run_cross_entropy(logits, read, options, nullptr, run));
}

float cross_entropy_with_gradient(const ConstTensor& logits, const IdView& targets,
                                  const Tensor& gradient, const CrossEntropyOptions& options,
                                  Context& context) {
  check_options(options);
  runtime::Execution run(context);
  const Targets read = read_targets(logits, targets, options, run);
  check_gradient(gradient, logits);
  const Tensor memory = staged("gradient", gradient, run);
  const double loss = run_cross_entropy(logits, read, options, memory.data(), run);
  publish(memory, gradient, run);
  return static_cast<float>(loss);
}

namespace {

/// The number by which the sum over all elements is divided.
double squared_error_divisor(const ConstTensor& prediction, LossReduction reduction) {
  if (reduction == LossReduction::kSum) return 1;
  const index size = validation::product("prediction", prediction.shape());
  if (size == 0) {
    validation::fail_shape("prediction", prediction.shape(), {"at least one element for a mean"});
  }
  return static_cast<double>(size);
}

/// Σ (a − b)²
double sum_of_squared_errors(const float* a, const float* b, index size, runtime::Execution& run) {
  const kernels::TrainingTable& kernels = training_kernels(run);
  const index tasks = kernels::ceil_divide(size, kElementsPerTask);
  double* sums = run.take<double>(tasks, "losses");
  run.parallel_for(tasks, [&](index task, int) noexcept {
    const index first = task * kElementsPerTask;
    sums[task] =
        kernels.sum_of_squares(std::min(kElementsPerTask, size - first), a + first, b + first);
  });
  double sum = 0;
  for (index i = 0; i < tasks; ++i) sum += sums[i];
  return sum;
}

/// to = 2 · factor · (a − b)
void squared_error_gradient(const float* a, const float* b, index size, double factor, float* to,
                            runtime::Execution& run) noexcept {
  const kernels::TrainingTable& kernels = training_kernels(run);
  run.parallel_for(kernels::ceil_divide(size, kElementsPerTask), [&](index task, int) noexcept {
    const index first = task * kElementsPerTask;
    kernels.scaled_difference(std::min(kElementsPerTask, size - first),
                              static_cast<float>(2 * factor), a + first, b + first, to + first);
  });
}

class SquaredErrorStep final : public Step {
 public:
  SquaredErrorStep(Node* prediction, Node* target, const ConstTensor& prediction_values,
                   const ConstTensor& target_values, double divisor)
      : prediction_(prediction),
        target_(target),
        prediction_values_(prediction_values),
        target_values_(target_values),
        divisor_(divisor) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const double factor = static_cast<double>(*output_gradient.data()) / divisor_;
    const auto add_to = [&](Node* node, const ConstTensor& a, const ConstTensor& b) {
      pass.add_to(node, [&](const Tensor& to) {
        squared_error_gradient(a.data(), b.data(), validation::product("gradients", to.shape()),
                               factor, to.data(), pass.run);
      });
    };
    add_to(prediction_, prediction_values_, target_values_);
    add_to(target_, target_values_, prediction_values_);
  }

 private:
  Node* prediction_;
  Node* target_;
  ConstTensor prediction_values_;
  ConstTensor target_values_;
  double divisor_;
};

/// Records the squared error of two row-major tensors that stay on the tape.
Variable record_squared_error(Recording& record, Node* prediction, Node* target,
                              const ConstTensor& a, const ConstTensor& b, LossReduction reduction) {
  const double divisor = squared_error_divisor(a, reduction);
  const index size = validation::product("prediction", a.shape());
  runtime::Execution run(record.context());
  const Tensor loss = record.memory(kScalar);
  *loss.data() = static_cast<float>(sum_of_squared_errors(a.data(), b.data(), size, run) / divisor);
  return record.finish(loss, SquaredErrorStep(prediction, target, a, b, divisor));
}

}  // namespace

Variable mse_loss(const Variable& prediction, const Variable& target, LossReduction reduction) {
  Recording record("mse_loss", nullptr, {&prediction, &target});
  validation::require_same_shape("target", target.value(), prediction.value());
  return record_squared_error(record, record.node(prediction), record.node(target),
                              prediction.value(), target.value(), reduction);
}

Variable mse_loss(const Variable& prediction, const ConstTensor& target, LossReduction reduction) {
  Recording record("mse_loss", nullptr, {&prediction});
  validation::require_same_shape("target", target, prediction.value());
  validation::require_data("target", target);
  const Tensor kept = record.memory(target.shape());
  runtime::Execution run(record.context());
  copy(target, kept, run);
  return record_squared_error(record, record.node(prediction), nullptr, prediction.value(), kept,
                              reduction);
}

namespace {

/// Returns the loss. Writes the gradient of the prediction, row-major, to `gradient` unless
/// `gradient` is empty.
float squared_error(const ConstTensor& prediction, const ConstTensor& target,
                    const Tensor& gradient, LossReduction reduction, runtime::Execution& run) {
  const index size = validation::product("prediction", prediction.shape());
  const double divisor = squared_error_divisor(prediction, reduction);
  const auto row_major = [&](const ConstTensor& values) {
    float* memory = run.floats(size, "losses");
    copy(values, Tensor(memory, values.shape()), run);
    return memory;
  };
  const float* a = row_major(prediction);
  const float* b = row_major(target);
  const double sum = sum_of_squared_errors(a, b, size, run);
  if (!gradient.is_none()) {
    squared_error_gradient(a, b, size, 1 / divisor, gradient.data(), run);
  }
  return static_cast<float>(sum / divisor);
}

void check_prediction(const ConstTensor& prediction, const ConstTensor& target) {
  validation::require_data("prediction", prediction);
  validation::require_same_shape("target", target, prediction);
  validation::require_data("target", target);
}

}  // namespace

float mse_loss(const ConstTensor& prediction, const ConstTensor& target, LossReduction reduction,
               Context& context) {
  check_prediction(prediction, target);
  runtime::Execution run(context);
  return squared_error(prediction, target, {}, reduction, run);
}

float mse_loss_with_gradient(const ConstTensor& prediction, const ConstTensor& target,
                             const Tensor& gradient, LossReduction reduction, Context& context) {
  check_prediction(prediction, target);
  check_gradient(gradient, prediction);
  runtime::Execution run(context);
  const Tensor memory = staged("gradient", gradient, run);
  const float loss = squared_error(prediction, target, memory, reduction, run);
  publish(memory, gradient, run);
  return loss;
}

}  // namespace attn
