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
  std::int64_t padding = 0;  ///< number of zeros before and after the sequence
  /// Pads with as many zeros as are needed to keep the length. If their number is odd, the extra
  /// zero goes at the end. This is PyTorch's padding='same'. Requires stride 1 and padding 0.
  bool same = false;
  std::int64_t dilation = 1;  ///< spacing of the tokens that one output reads
  bool bias = true;
};

/// A convolution along a sequence (torch.nn.Conv1d). Inputs are (B, N, channels), as for attention,
/// whereas PyTorch's are (B, channels, N):
///
///   y[t, o] = b[o] + Σ_c Σ_κ weight[o, c, κ] · x[t·stride + κ·dilation − padding, c]
///
/// x is zero outside the sequence. The length of the output is ⌊(N + 2·padding − dilation·(k − 1) −
/// 1) / stride⌋ + 1.
///
/// Parameters, with PyTorch's names and layouts, all initially zero: "weight" (out_channels,
/// in_channels, k) and, with bias, "bias" (out_channels).
class ATTN_API Conv1d : public Module {
 public:
  /// Throws kInvalidArgument for a size below 1 (below 0 for `padding`). May also throw
  /// kSizeOverflow or std::bad_alloc.
  explicit Conv1d(const Conv1dOptions& options);

  const Conv1dOptions& options() const noexcept { return options_; }

  /// The length of the output for a sequence of `length` tokens. Throws kInvalidArgument if the
  /// output would be empty.
  std::int64_t output_length(std::int64_t length) const;

  /// `x` is (B, N, in_channels) and `output` (B, output_length(N), out_channels). Both may omit B.
  /// They may have any strides and must not overlap. Windows are read in place, without an im2col
  /// copy. Only padding, dilation or gaps between tokens require a copy of `x`.
  ///
  /// Each output is within (in_channels·k + 1) · 6e-8 · (Σ|x·w| + |b|) of the exact value. Throws
  /// kShapeMismatch, kInvalidArgument, kSizeOverflow or std::bad_alloc. If it throws, `output` is
  /// unchanged.
  void forward(const ConstTensor& x, const Tensor& output,
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. The gradients are:
  ///
  ///   dx[i, c] = Σ_o,t,κ weight[o, c, κ] · dy[t, o]   over t·stride + κ·dilation − padding = i
  ///   dweight[o, c, κ] = Σ_t dy[t, o] · x[t·stride + κ·dilation − padding, c]
  ///   dbias[o] = Σ_t dy[t, o]
  ///
  /// To first order, dx is within (out_channels + k)·6e-8 · Σ|terms| of the exact value, and the
  /// error of a sum over B·N outputs is at most (1.6e-5 + 1e-9·B·N) · Σ|terms|. The backward pass
  /// needs additional memory for in_channels floats per token of the output.
  Variable forward(const Variable& x) const;

 private:
  Conv1dOptions options_;
  std::int64_t padding_before_, padding_after_;
  Tensor bias_;
  std::shared_ptr<PackedMatrix> weight_;
};

}  // namespace attn
