#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/check_attention.hpp"
#include "kernels/kernel_table.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Heads of keys or values in the form that the kernels read, in place or copied.
struct HeadRows {
  kernels::StoredRows first;
  kernels::index element_bytes;
  kernels::index batch, head;              ///< strides, in elements
  kernels::index scale_batch, scale_head;  ///< strides of the scales of int8 rows

  /// The rows of head h of batch entry b, starting at row `row`.
  kernels::StoredRows at(kernels::index b, kernels::index h, kernels::index row) const noexcept {
    kernels::StoredRows rows = first;
    rows.data = static_cast<const std::byte*>(first.data) +
                (b * batch + h * head + row * first.row) * element_bytes;
    if (rows.scales) rows.scales += b * scale_batch + h * scale_head + row * first.scale_row;
    return rows;
  }
};

/// Tables with the range of keys that each query may attend to: [begin[i], end[i]) for query i.
struct KeyRanges {
  std::int32_t* begin;
  std::int32_t* end;
};

/// Summaries of the masks and biases of all heads. `first` is AttentionHead::mask_summary of the
/// first head. Heads and batch entries that share a mask share its summary.
struct MaskSummary {
  kernels::Strided<const std::uint8_t> first;
  kernels::index batch = 0, head = 0;  ///< strides
};

/// A call of attention in the form that the kernels read: its tensors, and tables computed from its
/// options. The tables are in scratch memory. If the call does not need a table, the pointer to the
/// table is null. Both the forward and the backward pass use a plan to iterate over heads.
class AttentionPlan {
 public:
  /// The kind of product that a call with several queries uses.
  enum class Products {
    kFloat32,
    kBf16Pairs,  ///< products of bfloat16 pairs; query, key and value must have contiguous columns,
                 ///< and are read as they are stored
  };

  /// Makes all tables. Copies keys if their columns are not contiguous. Copies values if their
  /// columns are not contiguous or, with float32 products, if they do not have exactly `value_cols`
  /// columns. Copies are float32. With several queries and float32 products, all inputs and outputs
  /// of the kernels are float32. A single query reads keys and values as they are stored, unless
  /// they were copied. The problem must outlive the plan. Throws the same errors as
  /// Execution::take.
  AttentionPlan(const AttentionProblem& problem, kernels::index value_cols, runtime::Execution& run,
                Products products = Products::kFloat32);

  const AttentionProblem& problem() const noexcept { return problem_; }

  const kernels::AttentionHead& first_head() const noexcept { return first_head_; }
  /// Describes head h of entry e for the kernels. An entry is a batch entry or a packed sequence.
  kernels::AttentionHead head(kernels::index e, kernels::index h) const noexcept;
  /// Describes head h of entry e for the kernels that multiply pairs of bfloat16 numbers.
  kernels::Bf16AttentionHead bf16_head(kernels::index e, kernels::index h) const noexcept;
  /// Makes `head` describe head h of entry e. Before the call, `head` must describe some head of
  /// this plan.
  void set_head(kernels::index e, kernels::index h, kernels::AttentionHead& head) const noexcept;

  /// Rounds the result to the output's type if that type is not float32.
  void publish_output(runtime::Execution& run) const noexcept;

  /// The keys that query i of entry e may attend to, counted from the entry's first key.
  kernels::index key_begin(kernels::index e, kernels::index i) const noexcept {
    return key_ranges_.begin[problem_.first_table_row(e) + i];
  }
  kernels::index key_end(kernels::index e, kernels::index i) const noexcept {
    return key_ranges_.end[problem_.first_table_row(e) + i];
  }

 private:
  const AttentionProblem& problem_;
  kernels::index value_cols_;
  KeyRanges key_ranges_;  ///< (tables, Nq), or (Nq) for packed sequences
  MaskSummary mask_summary_;
  ConstTensor query_;           ///< (B, Hq, Nq, D); none with kBf16Pairs
  Tensor output_;               ///< (B, Hq, Nq, Dv)
  HeadRows keys_, values_;      ///< (B, Hkv, Nk, D), (B, Hkv, Nk, value columns)
  const float* distance_bias_;  ///< (tables, Hq, Nq + Nk), indexed by j − i + Nq − 1; a packed
                                ///< sequence has its own Nq and Nk
  const std::int64_t*
      dropout_rows_;  ///< (entries): AttentionHead::dropout_row of each entry's head 0, or null
  const float* relative_keys_;    ///< (Hq, packed (2k+1 × D))
  const float* relative_values_;  ///< (Hq, 2k+1, value columns)
  kernels::AttentionHead first_head_;
};

}  // namespace attn
