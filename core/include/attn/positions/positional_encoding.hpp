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

  /// Computes output[b, i] = dropout(x[b, i] + P[start + i]) for x (B, N, E) or (N, E) and output
  /// of the same shape. Both may have any strides. output may be x itself, otherwise they must not
  /// overlap. P has the same bits as sinusoidal_encoding(), the sum is one float addition, and
  /// dropout is apply_dropout on the sum.
  ///
  /// `start` is the position of the first token; with a key/value cache, pass the past length.
  ///
  /// Error: sinusoidal_encoding and the addition together are within 3.2e-8 + 6e-8·|x + P| up to
  /// position 10^6, divided by 1 − probability if dropout acts.
  ///
  /// Throws kShapeMismatch, std::bad_alloc, and kInvalidArgument for an E of 0, null data,
  /// positions beyond ±2^53 or a dropout probability outside [0, 1]; output is then untouched.
  void forward(const ConstTensor& x, const Tensor& output, double start = 0,
               const Dropout& dropout = {}, Context& context = Context::default_context()) const;

  /// Like forward() for tensors, recorded on the tape of x. The gradient is passed through.
  Variable forward(const Variable& x, double start = 0, const Dropout& dropout = {}) const;

 private:
  PositionalEncodingOptions options_;
};

}  // namespace attn
