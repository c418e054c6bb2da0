#pragma once

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/tensor_view.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Replaces an output by scratch memory, so that a call that fails later writes nothing to it. An
/// empty output stays empty. Throws kInvalidArgument for null data.
Tensor staged(const char* name, const Tensor& output, runtime::Execution& run);

/// Replaces the output tensors in attention's options in the same way.
AttentionOptions staged(const AttentionOptions& options, runtime::Execution& run);

/// Copies the staged values to the outputs.
void publish(const Tensor& from, const Tensor& output, runtime::Execution& run) noexcept;
void publish(const AttentionOptions& from, const AttentionOptions& options,
             runtime::Execution& run) noexcept;

}  // namespace attn
