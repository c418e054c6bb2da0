#pragma once

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/tensor_view.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Returns scratch memory that replaces an output, so that a call writes nothing to the output if
/// it fails later. An empty output stays empty. Throws kInvalidArgument for a null data pointer.
Tensor staged(const char* name, const Tensor& output, runtime::Execution& run);

/// Replaces the output tensors in the attention options with scratch memory.
AttentionOptions staged(const AttentionOptions& options, runtime::Execution& run);

/// Copies the staged values to the outputs.
void publish(const Tensor& from, const Tensor& output, runtime::Execution& run) noexcept;
void publish(const AttentionOptions& from, const AttentionOptions& options,
             runtime::Execution& run) noexcept;

}  // namespace attn
