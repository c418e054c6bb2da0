#include "training/attention_step.hpp"

#include <array>

#include "attention/attention_options.hpp"
#include "attention/check_attention.hpp"
#include "training/attention_backward.hpp"
#include "validation.hpp"

namespace attn {
namespace training {
namespace {

/// The gradients that one call writes to. Several of them may belong to the same node.
class Gradients {
 public:
  Gradients(BackwardPass& pass, runtime::Execution& scratch) : pass_(pass), scratch_(scratch) {}

  /// Returns memory for an addition to the gradient of a node, or none if the gradient is not
  /// wanted.
  Tensor open(Node* node) {
    if (!BackwardPass::needs_gradient(node)) return {};
    Addition& addition = additions_[count_++];
    addition = pass_.begin(*node, scratch_);
    return addition.memory;
  }

  /// Returns memory for the gradient of an operand's node. If the operand and `other` are columns
  /// of the same node, returns `others`, the memory for the gradient of `other`.
  Tensor open(const HeadsOperand& operand, const HeadsOperand& other, const Tensor& others) {
    const bool beside = operand.heads > 0 && operand.node == other.node;
    const Tensor memory = beside ? others : open(operand.node);
    return memory;
  }

  void finish() {
    for (int i = 0; i < count_; ++i) pass_.end(additions_[i], scratch_);
  }

 private:
  using Addition = BackwardPass::Addition;
  BackwardPass& pass_;
  runtime::Execution& scratch_;
  std::array<Addition, 11> additions_;  // for all nodes of AttentionNodes except the last four
  int count_ = 0;
};

}  // namespace

void use_terms(const AttentionVariables& terms, AttentionOptions& options, AttentionNodes& nodes) {
  const auto replace = [](const Variable& term, ConstTensor& option) {
    if (!term.is_none()) option = term.value();
    return Recording::node(term);
  };
  nodes.bias = replace(terms.bias, options.bias);
  nodes.alibi_slopes = replace(terms.alibi_slopes, options.alibi_slopes);
  nodes.relative_keys = replace(terms.relative_keys, options.relative_keys);
  nodes.relative_values = replace(terms.relative_values, options.relative_values);
  nodes.sinks = replace(terms.sinks, options.sinks);
  if (terms.t5_table.is_none()) return;
  if (!options.t5_bias) {
    validation::fail_value("t5_table", "a table", {"the option t5_bias as well"});
  }
  nodes.t5_table = replace(terms.t5_table, options.t5_bias->table);
}

namespace {

LengthsView keep(const LengthsView& from, Recording& record) {
  // The checks report other ranks and null data as errors.
  if (from.data() == nullptr || from.rank() < 1 || from.rank() > 2) return from;
  const std::int64_t count = validation::product("options", from.shape());
  auto* const to = record.take<std::int64_t>(count);
  const std::int64_t rows = from.rank() == 2 ? from.size(1) : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = from.rank() == 2 ? from(i / rows, i % rows) : from(i);
  }
  return TensorView<const std::int64_t>(to, from.shape());
}

}  // namespace

AttentionOptions keep(const AttentionOptions& options, Recording& record) {
  AttentionOptions result = options;
  for (const auto output : kFurtherOutputs) result.*output = {};
  result.relative_keys = keep(options.relative_keys, record);
  result.relative_values = keep(options.relative_values, record);
  result.alibi_slopes = keep(options.alibi_slopes, record);
  if (result.t5_bias) result.t5_bias->table = keep(options.t5_bias->table, record);
  result.bias = keep(options.bias, record);
  result.mask = keep(options.mask, record);
  result.valid_lens = keep(options.valid_lens, record);
  result.key_lens = keep(options.key_lens, record);
  result.cu_seqlens = keep(options.cu_seqlens, record);
  result.cu_seqlens_k = keep(options.cu_seqlens_k, record);
  result.sinks = keep(options.sinks, record);
  return result;
}

void AttentionStep::backward(BackwardPass& pass, const ConstTensor& output_gradient) {
  const auto heads_of = [&](const ConstTensor& whole) {
    return output_heads_ == 0 ? whole : whole.split_heads(output_heads_);
  };
  const AttentionNodes& n = nodes_;
  runtime::Execution scratch(pass.context());
  Gradients gradients(pass, scratch);
  const Tensor query = gradients.open(n.query.node);
  const Tensor key = gradients.open(n.key, n.query, query);
  const Tensor value = n.value.node == n.key.node ? gradients.open(n.value, n.key, key)
                                                  : gradients.open(n.value, n.query, query);
  const auto view = [](const HeadsOperand& operand, const Tensor& memory) {
    return memory.is_none() ? memory : operand.view(memory);
  };
  const AttentionGradients to{.query = view(n.query, query),
                              .key = view(n.key, key),
                              .value = view(n.value, value),
                              .scores = gradients.open(n.scores),
                              .weights = gradients.open(n.weights),
                              .bias = gradients.open(n.bias),
                              .alibi_slopes = gradients.open(n.alibi_slopes),
                              .t5_table = gradients.open(n.t5_table),
                              .relative_keys = gradients.open(n.relative_keys),
                              .relative_values = gradients.open(n.relative_values),
                              .sinks = gradients.open(n.sinks)};
  attention_backward(n.query.view(n.query.node->value), n.key.view(n.key.node->value),
                     n.value.view(n.value.node->value), heads_of(output->value), log_sum_exp_,
                     heads_of(output_gradient),
                     second_output ? second_output->gradient : ConstTensor(), to, options_,
                     pass.context());
  const auto add_gradient = [&](Node* node, const ConstTensor& gradient) {
    if (node && !gradient.is_none()) pass.add_to(node, gradient);
  };
  add_gradient(n.displayed_query, to.query);
  add_gradient(n.displayed_key, to.key);
  add_gradient(n.displayed_value, to.value);
  add_gradient(n.displayed_output, heads_of(output_gradient));
  gradients.finish();
}

}  // namespace training

Variable scaled_dot_product_attention(const Variable& query, const Variable& key,
                                      const Variable& value, const AttentionOptions& options,
                                      const AttentionVariables& terms,
                                      const AttentionIntermediates& intermediates) {
  using training::Recording;
  Recording record("scaled_dot_product_attention", nullptr,
                   {&query, &key, &value, &terms.bias, &terms.alibi_slopes, &terms.t5_table,
                    &terms.relative_keys, &terms.relative_values, &terms.sinks});
  for (const auto further : kFurtherOutputs) {
    if (!(options.*further).is_none()) {
      validation::fail_value("options", "an output tensor",
                             {"no output tensors; use AttentionIntermediates instead"});
    }
  }
  training::AttentionNodes nodes{
      .query = {record.node(query)}, .key = {record.node(key)}, .value = {record.node(value)}};
  AttentionOptions kept = training::keep(options, record);
  training::use_terms(terms, kept, nodes);
  const AttentionProblem sizes =
      check_attention_inputs(query.value(), key.value(), value.value(), kept);

  std::array<std::int64_t, Tensor::kMaxRank> shape{};
  std::ranges::copy(query.shape(), shape.begin());
  const auto rank = static_cast<std::size_t>(query.rank());
  shape[rank - 1] = sizes.value_dim;
  const Tensor output = record.memory(std::span(shape).first(rank));
  const Tensor log_sum_exp = record.memory({sizes.batch, sizes.query_heads, sizes.num_queries});
  AttentionOptions outputs = kept;
  outputs.log_sum_exp = log_sum_exp;
  const auto add_displayed = [&](Variable* variable, Tensor& to) -> training::Node* {
    if (!variable) return nullptr;
    to = record.memory({sizes.batch, sizes.query_heads, sizes.num_queries, sizes.num_keys});
    *variable = record.make_displayed(to);
    return record.node(*variable);
  };
  nodes.scores = add_displayed(intermediates.scores, outputs.biased_scores);
  nodes.weights = add_displayed(intermediates.weights, outputs.weights);
  scaled_dot_product_attention(query.value(), key.value(), value.value(), output, outputs,
                               record.context());
  training::AttentionStep step(nodes, kept, log_sum_exp, 0);
  if (intermediates.log_sum_exp) {
    *intermediates.log_sum_exp = record.input(log_sum_exp, record.needs_gradient());
    step.second_output = record.node(*intermediates.log_sum_exp);
  }
  return record.finish(output, step);
}

}  // namespace attn
