#include <algorithm>

#include "attn/training/functions.hpp"
#include "elementwise.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace training {
namespace {

/// Excluded elements have weight 0, so backward() needs nothing but the weights.
class MaskedSoftmaxStep final : public Step {
 public:
  explicit MaskedSoftmaxStep(Node* x) : x_(x) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(x_, [&](const Tensor& dx) {
      const std::int64_t cols = dx.size(-1);
      const std::int64_t count = validation::product("x", dx.shape());
      if (count == 0) return;
      const std::int64_t rows = count / cols;
      const std::int64_t task_rows = std::max<std::int64_t>(1, kElementsPerTask / cols);
      const kernels::TrainingTable& kernels = pass.kernels();
      pass.run.parallel_for(kernels::ceil_divide(rows, task_rows),
                            [&](std::int64_t task, int) noexcept {
                              const std::int64_t first = task * task_rows;
                              kernels::WeightGradientArgs args;
                              args.rows = std::min(task_rows, rows - first);
                              args.cols = cols;
                              args.weights = output->value.data() + first * cols;
                              args.weight_gradient = output_gradient.data() + first * cols;
                              args.gradient = dx.data() + first * cols;
                              kernels.weight_gradient(args);
                            });
    });
  }

 private:
  Node* x_;
};

}  // namespace
}  // namespace training

Variable masked_softmax(const Variable& x, const MaskedSoftmaxOptions& options) {
  training::Recording record("masked_softmax", nullptr, {&x});
  const Tensor weights = record.memory(x.shape());
  masked_softmax(x.value(), weights, options, record.context());
  return record.finish(weights, training::MaskedSoftmaxStep(record.node(x)));
}

}  // namespace attn
