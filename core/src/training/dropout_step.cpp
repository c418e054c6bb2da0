#include "attn/training/functions.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace {

class DropoutStep final : public training::Step {
 public:
  DropoutStep(const Dropout& dropout, training::Node* x) : dropout_(dropout), x_(x) {}

  void backward(training::BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, [&](const Tensor& dx) {
      apply_dropout(output_gradient, dx, dropout_, pass.context());
    });
  }

 private:
  Dropout dropout_;
  training::Node* x_;
};

}  // namespace

Variable apply_dropout(const Variable& x, const Dropout& dropout) {
  training::Recording record("apply_dropout", nullptr, {&x});
  validation::require_probability("dropout", dropout.probability);
  if (!dropout.training || dropout.probability == 0) return x;
  const Tensor y = record.memory(x.shape());
  apply_dropout(x.value(), y, dropout, record.context());
  return record.finish(y, DropoutStep(dropout, record.node(x)));
}

}  // namespace attn
