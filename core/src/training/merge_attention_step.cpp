#include <algorithm>
#include <array>

#include "attention/merge_rows.hpp"
#include "attn/attention/merge_attention.hpp"
#include "attn/training/attention.hpp"
#include "training/recording.hpp"

namespace attn {
namespace training {
namespace {

/// With the weights w_a and w_b of the two parts, and e = dO·(output_a − output_b):
///
///   d output_a = w_a · dO      d lse_a = w_a · ( w_b · e + d lse)
///   d output_b = w_b · dO      d lse_b = w_b · (−w_a · e + d lse)
class MergeStep final : public Step {
 public:
  struct Part {
    Node* output;
    Node* log_sum_exp;
  };

  MergeStep(const Part& a, const Part& b, Node* log_sum_exp) : parts_{a, b} {
    second_output = log_sum_exp;
  }

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    runtime::Execution scratch(pass.context());
    std::array<BackwardPass::Addition, 4> additions;
    std::size_t count = 0;
    const auto open = [&](Node* node) -> float* {
      if (!BackwardPass::needs_gradient(node)) return nullptr;
      // Both parts may be the same variable, so the gradient of each part is added separately.
      additions[count] = pass.begin(*node, scratch);
      return additions[count++].memory.data();
    };
    std::array<float*, 2> to{}, to_sums{};
    for (std::size_t i = 0; i < 2; ++i) {
      to[i] = open(parts_[i].output);
      to_sums[i] = open(parts_[i].log_sum_exp);
    }
    const ConstTensor& a = parts_[0].output->value;
    const float* sums_gradient = second_output->gradient.data();
    const std::int64_t heads = with_heads(a).size(1), length = a.size(-2), cols = a.size(-1);
    const kernels::TrainingTable& kernels = pass.kernels();
    for_merged_rows(
        a, parts_[0].log_sum_exp->value, parts_[1].output->value, parts_[1].log_sum_exp->value,
        pass.run, [&](const MergedRows& rows, kernels::MergeArgs args) noexcept {
          std::array<float, 2 * kMergedRows> weights;
          args.weights = weights.data();
          pass.run.kernels().merge(args);
          const std::int64_t first = (rows.batch * heads + rows.head) * length + rows.first;
          std::array<std::array<float, kMergedRows>, 2> dots;
          kernels::RowDotsArgs dot;
          dot.rows = rows.count;
          dot.cols = cols;
          dot.b = {output_gradient.data() + first * cols, cols};
          for (std::size_t i = 0; i < 2; ++i) {
            dot.a = i == 0 ? args.a : args.b;
            dot.sums = dots[i].data();
            kernels.row_dots(dot);
          }
          for (std::int64_t r = 0; r < rows.count; ++r) {
            const auto row = static_cast<std::size_t>(r);
            const float* dy = output_gradient.data() + (first + r) * cols;
            const float further = sums_gradient ? sums_gradient[first + r] : 0.0F;
            for (std::size_t i = 0; i < 2; ++i) {
              const float weight = weights[2 * row + i], other = weights[2 * row + 1 - i];
              // The gradient is selected, not multiplied by the weight, because a part with weight
              // 0 may contain infinities or NaN.
              if (to[i]) {
                float* dx = to[i] + (first + r) * cols;
                if (weight == 0.0F) {
                  std::fill_n(dx, cols, 0.0F);
                } else {
                  kernels.scaled_difference(cols, weight, dy, nullptr, dx);
                }
              }
              if (to_sums[i]) {
                const float e = other == 0.0F ? 0.0F : other * (dots[i][row] - dots[1 - i][row]);
                to_sums[i][first + r] = weight == 0.0F ? 0.0F : weight * (e + further);
              }
            }
          }
        });
    while (count > 0) BackwardPass::end(additions[--count], scratch);
  }

 private:
  std::array<Part, 2> parts_;
};

}  // namespace
}  // namespace training

AttentionPart merge_attention(const AttentionPart& a, const AttentionPart& b) {
  using training::Recording;
  Recording record("merge_attention", nullptr,
                   {&a.output, &a.log_sum_exp, &b.output, &b.log_sum_exp});
  check_merge(a.output.value(), a.log_sum_exp.value(), b.output.value(), b.log_sum_exp.value());
  const Tensor output = record.memory(a.output.shape());
  const Tensor log_sum_exp = record.memory(a.log_sum_exp.shape());
  merge_attention(a.output.value(), a.log_sum_exp.value(), b.output.value(), b.log_sum_exp.value(),
                  output, log_sum_exp, record.context());
  const Variable sums = record.input(log_sum_exp, record.needs_gradient());
  return {
      record.finish(output, training::MergeStep({record.node(a.output), record.node(a.log_sum_exp)},
                                                {record.node(b.output), record.node(b.log_sum_exp)},
                                                record.node(sums))),
      sums};
}

}  // namespace attn
