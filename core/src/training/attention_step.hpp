#pragma once

#include <cstdint>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/training/attention.hpp"
#include "row_runs.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn::training {

/// Queries, keys or values: either a whole variable, or heads in some columns of a variable of
/// shape (B, N, width).
struct HeadsOperand {
  Node* node = nullptr;
  std::int64_t heads = 0;  ///< number of heads, or 0 for the whole variable
  std::int64_t first_column = 0;
  std::int64_t columns = 0;

  /// Views the heads in `whole`, which is the node's value or gradient. Returns all of `whole` if
  /// `heads` is 0.
  template <class T>
  TensorView<T> view(const TensorView<T>& whole) const {
    if (heads == 0) return whole;
    return whole.slice(-1, first_column, first_column + columns).split_heads(heads);
  }
};

/// Nodes of the tensors that act on scores; null for tensors without a gradient.
struct AttentionNodes {
  HeadsOperand query, key, value;
  Node* bias = nullptr;
  Node* alibi_slopes = nullptr;
  Node* t5_table = nullptr;
  Node* relative_keys = nullptr;
  Node* relative_values = nullptr;
  Node* sinks = nullptr;
  // Intermediates to display; the last four are (B, H, N, D).
  Node* scores = nullptr;
  Node* weights = nullptr;
  Node* displayed_query = nullptr;
  Node* displayed_key = nullptr;
  Node* displayed_value = nullptr;
  Node* displayed_output = nullptr;
};

/// For each term that is a variable, sets the option of the same name. Throws kInvalidArgument.
void use_terms(const AttentionVariables& terms, AttentionOptions& options, AttentionNodes& nodes);

/// Returns a row-major copy on the tape. A tensor with null data is returned unchanged: either it
/// is absent, or the checks will reject it.
template <class T>
TensorView<const T> keep(const TensorView<const T>& from, Recording& record) {
  if (from.data() == nullptr) return from;
  const std::int64_t count = validation::product("options", from.shape());
  const TensorView<T> to(record.take<T>(count), from.shape());
  for (std::int64_t i = 0; i < count; ++i) {
    to.data()[i] = from.rank() == 0 ? *from.data() : *element(from, i);
  }
  return to;
}

/// Copies the data that the options point to into the tape's memory, except the optional outputs.
AttentionOptions keep(const AttentionOptions& options, Recording& record);

/// Records attention. If the log-sum-exp is a variable, it is the second output.
class AttentionStep final : public Step {
 public:
  /// The output node joins `output_heads` heads as adjacent columns. If `output_heads` is 0, the
  /// output node has the shape of the attention output.
  AttentionStep(const AttentionNodes& nodes, const AttentionOptions& options,
                const ConstTensor& log_sum_exp, std::int64_t output_heads)
      : nodes_(nodes), options_(options), log_sum_exp_(log_sum_exp), output_heads_(output_heads) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override;

 private:
  AttentionNodes nodes_;
  AttentionOptions options_;
  ConstTensor log_sum_exp_;
  std::int64_t output_heads_;
};

}  // namespace attn::training
