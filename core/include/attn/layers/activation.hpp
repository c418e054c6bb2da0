#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The activation functions, e.g. between the two layers of a feed-forward network.
enum class Activation : int {
  kRelu,      ///< max(x, 0): torch.nn.ReLU
  kGelu,      ///< x·Φ(x) = x·(1 + erf(x/√2))/2: torch.nn.GELU (Hendrycks & Gimpel 2016)
  kGeluTanh,  ///< x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2: torch.nn.GELU(approximate="tanh")
  kSilu,      ///< x/(1 + exp(−x)): torch.nn.SiLU, Swish
  kTanh,      ///< torch.nn.Tanh
  kSigmoid,   ///< 1/(1 + exp(−x)): torch.nn.Sigmoid
};

/// Computes output = f(x) element by element. `x` may have any shape and strides; `output` has the
/// same shape. `output` may be `x` itself; otherwise the two must not overlap.
///
/// Error: ReLU is exact. For x ≥ −1, GELU is within 5e-7·|f(x)| of the exact value, and its tanh
/// approximation is within 1e-6·|f(x)|. For smaller x, where f tends to 0, both are within (1e-6 +
/// 3e-7·x²)·|f(x)|, and results below 2e-38·|x| may be 0. For any x, neither is off by more than
/// 5e-7·|x|. tanh is within 3e-7·|f(x)|. Sigmoid and SiLU are within 5e-7·|f(x)| for x ≥ 0 and
/// within (5e-7 + 7e-8·|x|)·|f(x)| for x < 0. Below −88, both are 0.
///
/// NaN gives NaN. With ReLU, GELU and SiLU, ∞ gives ∞. −∞ gives 0 with ReLU and NaN with GELU and
/// SiLU, as in PyTorch.
///
/// Throws kShapeMismatch if the shapes differ, and kInvalidArgument for a null data pointer.
ATTN_API void apply_activation(const ConstTensor& x, const Tensor& output, Activation activation,
                               Context& context = Context::default_context());

}  // namespace attn
