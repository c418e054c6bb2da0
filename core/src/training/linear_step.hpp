#pragma once

#include "training/recording.hpp"

namespace attn::training {

/// y = x · Wᵀ + b for all rows of x, with or without a batch. y may be some columns of the output;
/// W and b may be some rows of their parameters.
struct LinearParts {
  Node* x = nullptr;
  Node* weights = nullptr;
  Node* biases = nullptr;         ///< or null
  ConstTensor weight = {};        ///< (out, in)
  std::int64_t first_row = 0;     ///< index of the first row of `weight` in its parameter
  std::int64_t first_bias = 0;    ///< index of the first element of b in `biases`
  std::int64_t first_column = 0;  ///< index of the first column of y in the output
};

class LinearStep final : public Step {
 public:
  explicit LinearStep(const LinearParts& parts) : parts_(parts) {}
  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override;

 private:
  LinearParts parts_;
};

}  // namespace attn::training
