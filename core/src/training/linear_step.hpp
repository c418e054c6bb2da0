#pragma once

#include "training/recording.hpp"

namespace attn::training {

/// y = x · Wᵀ + b for all rows of x, with or without a batch. y is some columns of the output, W
/// and b are some rows of a parameter.
struct LinearParts {
  Node* x = nullptr;
  Node* weights = nullptr;
  Node* biases = nullptr;         ///< or null
  ConstTensor weight = {};        ///< (out, in)
  std::int64_t first_row = 0;     ///< of `weight` among the parameter's rows
  std::int64_t first_bias = 0;    ///< of b among the elements of `biases`
  std::int64_t first_column = 0;  ///< of y among the output's columns
};

class LinearStep final : public Step {
 public:
  explicit LinearStep(const LinearParts& parts) : parts_(parts) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override;

 private:
  LinearParts parts_;
};

}  // namespace attn::training
