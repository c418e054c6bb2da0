#pragma once

#include "training/recording.hpp"

namespace attn::training {

/// y = x · Wᵀ + b for all rows of x, in a batch or without. x and y are row-major along their rows.
class LinearStep final : public Step {
 public:
  /// `weight` (out, in) are some rows of the parameter `weights`, and so are those of `biases`,
  /// from `first_row` on. None is no node.
  LinearStep(Node* x, Node* weights, Node* biases, const ConstTensor& weight,
             std::int64_t first_row = 0)
      : x_(x), weights_(weights), biases_(biases), weight_(weight), first_row_(first_row) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override;

 private:
  Node* x_;
  Node* weights_;
  Node* biases_;
  ConstTensor weight_;
  std::int64_t first_row_;
};

}  // namespace attn::training
