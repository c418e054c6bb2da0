#include "training/activation_step.hpp"

#include "attn/training/functions.hpp"
#include "elementwise.hpp"
#include "layers/activate.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace training {
namespace {

/// y = f(x), or f(x) ∘ factor.
class ActivationStep final : public Step {
 public:
  ActivationStep(Activation activation, Node* x, Node* factor)
      : activation_(activation), x_(x), factor_(factor) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    runtime::Execution scratch(pass.context());
    const auto begin = [&](Node* node) {
      return BackwardPass::needs_gradient(node) ? pass.begin(*node, scratch)
                                                : BackwardPass::Addition();
    };
    const BackwardPass::Addition x_addition = begin(x_), factor_addition = begin(factor_);
    const kernels::ActivationGradientKernel kernel =
        pass.kernels().activation_gradient(activation_);
    const std::int64_t count = validation::product("x", output_gradient.shape());
    const auto at = [](auto* from, std::int64_t first) { return from ? from + first : nullptr; };
    const auto go_back = [&](std::int64_t first, std::int64_t size) noexcept {
      kernels::ActivationGradientArgs args;
      args.count = size;
      args.x = x_->value.data() + first;
      if (factor_) args.factor = factor_->value.data() + first;
      args.output_gradient = output_gradient.data() + first;
      args.gradient = at(x_addition.memory.data(), first);
      args.factor_gradient = at(factor_addition.memory.data(), first);
      kernel(args);
    };
    for_all_row_runs({&count, 1}, scratch, go_back);
    for (const BackwardPass::Addition& addition : {x_addition, factor_addition}) {
      if (addition.node) BackwardPass::end(addition, scratch);
    }
  }

 private:
  Activation activation_;
  Node* x_;
  Node* factor_;  ///< or null
};

}  // namespace

Variable activate(const char* name, const Variable& x, const Variable& factor,
                  Activation activation) {
  Recording record(name, nullptr, {&x, &factor});
  const Tensor y = record.memory(x.shape());
  activate(x.value(), factor.is_none() ? ConstTensor() : factor.value(), y, activation,
           record.context());
  return record.finish(y, ActivationStep(activation, record.node(x), record.node(factor)));
}

}  // namespace training

Variable apply_activation(const Variable& x, Activation activation) {
  return training::activate("apply_activation", x, {}, activation);
}

}  // namespace attn
