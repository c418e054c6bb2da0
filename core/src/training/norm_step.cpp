#include <algorithm>

#include "attn/layers/layer_norm.hpp"
#include "attn/layers/rms_norm.hpp"
#include "layers/norm.hpp"
#include "training/recording.hpp"
#include "training/row_sums.hpp"

namespace attn {
namespace training {
namespace {

/// Number of rows per task. Each task sums the gradients of weight and bias over its rows
/// separately.
std::int64_t rows_per_task(std::int64_t width) {
  return std::clamp<std::int64_t>(32768 / width, 8, 64);
}

class NormStep final : public Step {
 public:
  NormStep(const kernels::NormArgs& args, Node* x, Node* weight, Node* bias)
      : layer_args_(args), x_(x), weight_(weight), bias_(bias) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const std::int64_t width = layer_args_.cols;
    const std::int64_t rows = validation::product("x", x_->value.shape()) / width;
    const std::int64_t padded = kernels::round_up(width, pass.run.kernels().vector_width);
    runtime::Execution scratch(pass.context());
    float* weights = scratch.floats(padded, "norm");
    std::fill_n(weights, padded, 0.0F);
    for (std::int64_t c = 0; c < width; ++c) {
      weights[c] = layer_args_.weight ? layer_args_.weight[c] + layer_args_.weight_offset : 1.0F;
    }
    const std::int64_t task_rows = rows_per_task(width);
    const std::int64_t tasks = kernels::ceil_divide(rows, task_rows);
    const auto sums = [&](const Node* node) {
      return BackwardPass::needs_gradient(node)
                 ? scratch.floats(validation::product("x", {tasks, padded}), "norm")
                 : nullptr;
    };
    float* weight_sums = sums(weight_);
    float* bias_sums = sums(bias_);

    const auto compute_gradients = [&](float* dx) {
      const kernels::TrainingTable& kernels = pass.kernels();
      const double elements = 8 * static_cast<double>(rows) * static_cast<double>(width);
      scratch.parallel_for(tasks, elements, [&](std::int64_t task, int) noexcept {
        const std::int64_t first = task * task_rows;
        kernels::NormGradientArgs args;
        args.rows = std::min(task_rows, rows - first);
        args.cols = width;
        args.centred = layer_args_.centred;
        args.x = x_->value.data() + first * width;
        args.statistics = layer_args_.statistics + first;
        args.weight = weights;
        args.output_gradient = output_gradient.data() + first * width;
        if (dx) args.gradient = dx + first * width;
        if (weight_sums) args.weight_gradient = weight_sums + task * padded;
        if (bias_sums) args.bias_gradient = bias_sums + task * padded;
        kernels.norm_gradient(args);
      });
    };
    if (BackwardPass::needs_gradient(x_)) {
      pass.add_to(x_, [&](const Tensor& dx) { compute_gradients(dx.data()); });
    } else {
      compute_gradients(nullptr);
    }
    const auto add_sums = [&](Node* node, float* task_sums) {
      pass.add_to(node, [&](const Tensor& to) {
        sum_rows(
            ConstTensor(task_sums, std::array{tasks, width}, std::array{padded, std::int64_t{1}}),
            to, pass);
      });
    };
    add_sums(weight_, weight_sums);
    add_sums(bias_, bias_sums);
  }

 private:
  kernels::NormArgs layer_args_;
  Node* x_;
  Node* weight_;
  Node* bias_;
};

Variable norm(const char* name, const Module& layer, kernels::NormArgs args,
              const ConstTensor& weight, const ConstTensor& bias, const Variable& x) {
  Recording record(name, &layer, {&x});
  const ConstTensor& values = x.value();
  const Tensor y = record.memory(values.shape());
  args.statistics = record.take<kernels::RowStatistics>(
      values.rank() == 0 ? 1 : validation::product("x", values.shape().first(values.rank() - 1)));
  normalize(layer, args, values, nullptr, y, record.context(), nullptr);
  // These are separate statements, because their order on the tape decides the order of sums over
  // all parameters.
  Node* const weights = record.parameter(layer, weight);
  Node* const biases = record.parameter(layer, bias);
  return record.finish(y, NormStep(args, record.node(x), weights, biases));
}

Variable sum(const Variable& x, const Variable& y) {
  if (!y.is_none() && !x.is_none()) validation::require_same_shape("y", y.value(), x.value());
  return x + y;
}

}  // namespace
}  // namespace training

Variable LayerNorm::forward(const Variable& x) const {
  return training::norm("LayerNorm", *this, make_args(), weight_, bias_, x);
}

Variable LayerNorm::forward_sum(const Variable& x, const Variable& y) const {
  return forward(training::sum(x, y));
}

Variable RmsNorm::forward(const Variable& x) const {
  return training::norm("RmsNorm", *this, make_args(), weight_, {}, x);
}

Variable RmsNorm::forward_sum(const Variable& x, const Variable& y) const {
  return forward(training::sum(x, y));
}

}  // namespace attn
