#pragma once

#include <cstdint>
#include <memory>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/layers/module.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class PackedMatrix;
class Variable;

struct Conv1dOptions {
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t kernel_size = 1;  ///< k
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< zeros before and after the sequence
  /// As many zeros as keep the length, an odd one at the end: PyTorch's padding='same'. Asks for
  /// stride 1 and padding 0.
  bool same = false;
  std::int64_t dilation = 1;  ///< distance between the tokens that one output sees
  bool bias = true;
};

/// A convolution along a sequence (torch.nn.Conv1d, whose inputs are (B, channels, N) where these
/// are (B, N, channels), as for attention):
///
///   y[t, o] = b[o] + Σ_c Σ_κ weight[o, c, κ] · x[t·stride + κ·dilation − padding, c]
///
/// with zeros for what lies outside. The length of the output is
/// ⌊(N + 2·padding − dilation·(k − 1) − 1) / stride⌋ + 1.
///
/// Parameters, with PyTorch's names and layouts, zeros at first: "weight" (out_channels,
/// in_channels, k) and, with bias, "bias" (out_channels).
class ATTN_API Conv1d : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1 (padding: 0), kSizeOverflow, std::bad_alloc.
  explicit Conv1d(const Conv1dOptions& options);

  const Conv1dOptions& options() const noexcept { return options_; }

  /// What comes of a sequence of `length` tokens. Throws kInvalidArgument when not even one output
  /// does.
  std::int64_t output_length(std::int64_t length) const;

  /// x (B, N, in_channels), output (B, output_length(N), out_channels), or both without B. Any
  /// strides; no overlap. Windows are read where they lie; only padding, a dilation and gaps
  /// between tokens cost a copy of x, and nothing ever one of the windows.
  ///
  /// Each output is within (in_channels·k + 1) · 6e-8 · (Σ|x·w| + |b|) of the exact value.
  /// Throws kShapeMismatch, kInvalidArgument, kSizeOverflow, std::bad_alloc; the output is then
  /// untouched.
  void forward(const ConstTensor& x, const Tensor& output,
               Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of x:
  ///
  ///   dx[i, c] = Σ_o,t,κ weight[o, c, κ] · dy[t, o]   over t·stride + κ·dilation − padding = i
  ///   dweight[o, c, κ] = Σ_t dy[t, o] · x[t·stride + κ·dilation − padding, c]
  ///   dbias[o] = Σ_t dy[t, o]
  ///
  /// To first order dx is within (out_channels + k)·6e-8 · Σ|terms| of the exact value, and sums
  /// over B·N outputs within (1.6e-5 + 1e-9·B·N) of their terms' magnitudes. Memory beside them is
  /// that of one token for each output.
  Variable forward(const Variable& x) const;

 private:
  Conv1dOptions options_;
  std::int64_t padding_before_, padding_after_;
  Tensor bias_;
  std::shared_ptr<PackedMatrix> weight_;
};

}  // namespace attn
