#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/check_attention.hpp"
#include "kernels/kernel_table.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Heads of keys or values as the kernels read them: where they lie, or copied.
struct HeadRows {
  kernels::StoredRows first;
  kernels::index element_bytes;
  kernels::index batch, head;              ///< strides, in elements
  kernels::index scale_batch, scale_head;  ///< of the scales of kInt8

  kernels::StoredRows at(kernels::index b, kernels::index h) const noexcept {
    kernels::StoredRows rows = first;
    rows.data = static_cast<const std::byte*>(first.data) + (b * batch + h * head) * element_bytes;
    if (rows.scales) rows.scales += b * scale_batch + h * scale_head;
    return rows;
  }
};

/// The keys that queries may attend to: query i those in [begin[i], end[i]), for each table.
struct KeyRanges {
  std::int32_t* begin;
  std::int32_t* end;
};

/// A call of attention in the forms that the kernels read: its tensors, and tables made from its
/// terms. The tables lie in scratch memory; those that a call does not need are null. Whoever walks
/// over the heads of a call starts from a plan, in whichever direction it computes.
class AttentionPlan {
 public:
  /// What the products of several queries read.
  enum class Products {
    kFloat32,
    kBf16Pairs,  ///< query, key and value of bfloat16 as they are stored, columns side by side
  };

  /// Makes all tables. Copies keys whose columns are apart, and values that have not `value_cols`
  /// columns side by side. Copies are float32, and so is whatever several queries read and write;
  /// one query reads keys and values as they are stored. The problem must outlive the plan. Throws
  /// what Execution::take does.
  AttentionPlan(const AttentionProblem& problem, kernels::index value_cols, runtime::Execution& run,
                Products products = Products::kFloat32);

  const AttentionProblem& problem() const noexcept { return problem_; }

  const kernels::AttentionHead& first_head() const noexcept { return first_head_; }
  /// Head h of batch entry b.
  kernels::AttentionHead head(kernels::index b, kernels::index h) const noexcept;
  /// The same with products of pairs.
  kernels::Bf16AttentionHead bf16_head(kernels::index b, kernels::index h) const noexcept;
  /// Makes head h of batch entry b of any other head of this plan.
  void point_to(kernels::index b, kernels::index h, kernels::AttentionHead& head) const noexcept;

  /// Rounds the output, where it is not float32, to where it belongs.
  void publish_output(runtime::Execution& run) const noexcept;

  /// The keys that query i of batch entry b may attend to.
  kernels::index key_begin(kernels::index b, kernels::index i) const noexcept {
    return key_ranges_.begin[problem_.table_of(b) * problem_.num_queries + i];
  }
  kernels::index key_end(kernels::index b, kernels::index i) const noexcept {
    return key_ranges_.end[problem_.table_of(b) * problem_.num_queries + i];
  }

 private:
  const AttentionProblem& problem_;
  kernels::index value_cols_;
  KeyRanges key_ranges_;          ///< (tables, Nq)
  ConstTensor query_;             ///< (B, Hq, Nq, D); none for pairs
  Tensor output_;                 ///< (B, Hq, Nq, Dv)
  HeadRows keys_, values_;        ///< (B, Hkv, Nk, D), (B, Hkv, Nk, value columns)
  const float* distance_bias_;    ///< (tables, Hq, Nq + Nk): by j − i, from −(Nq − 1) on
  const float* relative_keys_;    ///< (Hq, packed (2k+1 × D))
  const float* relative_values_;  ///< (Hq, 2k+1, value columns)
  kernels::AttentionHead first_head_;
};

}  // namespace attn
