#pragma once

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/dropout.hpp"
#include "attn/positions/sinusoidal_encoding.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;

struct PositionalEncodingOptions {
  double base = 10000;
  SinusoidalLayout layout = SinusoidalLayout::kInterleaved;
};

/// Adds the sinusoidal encoding P to its input, then applies dropout (D2L 11.6,
/// `PositionalEncoding`). There is no maximum length, and odd widths work. The layer has no
/// parameters.
class ATTN_API PositionalEncoding {
 public:
  /// Throws kInvalidArgument for a base that is not in [1e-100, ∞).
  explicit PositionalEncoding(const PositionalEncodingOptions& options = {});

  const PositionalEncodingOptions& options() const noexcept { return options_; }

  /// Computes output[b, i] = dropout(x[b, i] + P[start + i]) for `x` (B, N, E) or (N, E) and
  /// `output` of the same shape. Both may have any strides. `output` may be `x` itself; otherwise
  /// the two must not overlap. P is bit-identical to sinusoidal_encoding(). The sum is one float
  /// addition, and apply_dropout is then applied to the sum.
  ///
  /// `start` is the position of the first token; with a key/value cache, pass the past length.
  ///
  /// Error: up to position 10^6, x + P is within 3.2e-8 + 6e-8·|x + P| of the exact sum. In
  /// training, dropout divides this bound by 1 − probability.
  ///
  /// Throws kInvalidArgument for E = 0, a null data pointer, positions beyond ±2^53 or a dropout
  /// probability outside [0, 1]. May also throw kShapeMismatch or std::bad_alloc. If it throws,
  /// `output` is unchanged.
  void forward(const ConstTensor& x, const Tensor& output, double start = 0,
               const Dropout& dropout = {}, Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. `x` receives the
  /// gradient of the sum unchanged.
  Variable forward(const Variable& x, double start = 0, const Dropout& dropout = {}) const;

 private:
  PositionalEncodingOptions options_;
};

}  // namespace attn
