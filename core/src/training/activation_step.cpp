#include <algorithm>

#include "attn/training/functions.hpp"
#include "elementwise.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace training {
namespace {

using ActivationGradient = void (*)(const kernels::ActivationGradientArgs&) noexcept;

ActivationGradient kernel_of(Activation activation,
                             const kernels::TrainingTable& kernels) noexcept {
  switch (activation) {
    case Activation::kRelu:
      return kernels.relu_gradient;
    case Activation::kGelu:
      return kernels.gelu_gradient;
    case Activation::kGeluTanh:
      return kernels.gelu_tanh_gradient;
    case Activation::kSilu:
      return kernels.silu_gradient;
    case Activation::kTanh:
      return kernels.tanh_gradient;
    case Activation::kSigmoid:
      return kernels.sigmoid_gradient;
  }
  return nullptr;
}

class ActivationStep final : public Step {
 public:
  ActivationStep(Activation activation, Node* x) : activation_(activation), x_(x) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, [&](const Tensor& dx) {
      const auto kernel = kernel_of(activation_, pass.kernels());
      const std::int64_t count = validation::product("x", dx.shape());
      pass.run.parallel_for((count + kElementsPerTask - 1) / kElementsPerTask,
                            [&](std::int64_t task, int) noexcept {
                              const std::int64_t first = task * kElementsPerTask;
                              kernels::ActivationGradientArgs args;
                              args.count = std::min(kElementsPerTask, count - first);
                              args.x = x_->value.data() + first;
                              args.output_gradient = output_gradient.data() + first;
                              args.gradient = dx.data() + first;
                              kernel(args);
                            });
    });
  }

 private:
  Activation activation_;
  Node* x_;
};

}  // namespace
}  // namespace training

Variable apply_activation(const Variable& x, Activation activation) {
  training::Recording record("apply_activation", nullptr, {&x});
  const Tensor y = record.memory(x.shape());
  apply_activation(x.value(), y, activation, record.context());
  return record.finish(y, training::ActivationStep(activation, record.node(x)));
}

}  // namespace attn
