// Multi-head attention on a tape. All projections of one variable are adjacent columns of one
// tensor: (B, N, (H + 2·Hkv)·D) if query, key and value are the same. One product then gives the
// gradient of that variable, and attention writes all three gradients into one tensor. Normalised
// queries and keys have their own tensors, in which the rows of heads follow each other without
// gaps.

#include <algorithm>
#include <array>

#include "attention/attention_options.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/training/functions.hpp"
#include "layers/module_access.hpp"
#include "layers/multi_head_attention_impl.hpp"
#include "rows.hpp"
#include "training/attention_step.hpp"
#include "training/linear_step.hpp"
#include "training/recording.hpp"

namespace attn {
namespace {

using training::HeadsOperand;
using training::Node;
using training::Recording;

/// Heads to rotate, stored as columns of a (B, N, width) tensor.
struct RotatedHeads {
  const RotaryEmbedding* rotary = nullptr;
  HeadsOperand heads = {};
  RowPlaces where = {};

  void rotate(const Tensor& whole, bool inverse, Context& context) const {
    rotate_heads(*rotary, heads.view(whole), where, inverse, context);
  }
};

/// Rotates queries, keys or both in a projected tensor; its other columns stay unchanged.
class RotationStep final : public training::Step {
 public:
  RotationStep(Node* projected, const std::array<RotatedHeads, 2>& rotated)
      : projected_(projected), rotated_(rotated) {}

  void backward(training::BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_to(projected_, [&](const Tensor& gradient) {
      copy(output_gradient, gradient, pass.run);
      for (const RotatedHeads& heads : rotated_) {
        if (heads.rotary) heads.rotate(gradient, true, pass.context());
      }
    });
  }

 private:
  Node* projected_;
  std::array<RotatedHeads, 2> rotated_;
};

}  // namespace

Variable MultiHeadAttention::forward(const Variable& query, const Variable& key,
                                     const Variable& value,
                                     const MultiHeadAttentionCall& call) const {
  return forward(query, key, value, call, {});
}

Variable MultiHeadAttention::forward(const Variable& query, const Variable& key,
                                     const Variable& value, const MultiHeadAttentionCall& call,
                                     const AttentionVariables& terms) const {
  const Impl& impl = *impl_;
  const AttentionOptions& attention = call.attention;
  ModuleAccess::require_float32("out_proj.weight", impl.options.weights.type);
  Recording record("MultiHeadAttention", this,
                   {&query, &key, &value, &terms.bias, &terms.alibi_slopes, &terms.t5_table,
                    &terms.relative_keys, &terms.relative_values, &terms.sinks});
  training::require_none("cache", call.cache);
  training::require_none("intermediates", call.intermediates);
  training::require_none("interventions", call.interventions);
  record.keep(impl_);  // because the backward pass uses the layer's rotation
  for (const auto further : kFurtherOutputs) {
    if (!(attention.*further).is_none()) {
      validation::fail_value("attention", "an output tensor",
                             {"no output tensors; use Tape::watch() instead"});
    }
  }
  require_rows("query", query.value(), "d_model", impl.options.d_model);
  impl.check_keys(query.value(), key.value(), value.value());
  const std::int64_t num_keys = key.size(-2);
  training::AttentionNodes nodes;
  AttentionOptions options = attention;
  training::use_terms(terms, options, nodes);
  impl.check_options(options, query.value(), num_keys);
  const TensorView<const double> key_positions =
      impl.check_positions(call, query.value(), key.value());
  const std::int64_t batch = batch_of(query.value());
  const std::int64_t num_queries = query.size(-2);
  const std::int64_t width = impl.query_width();
  const std::int64_t heads = impl.options.num_heads;
  Context& context = record.context();
  runtime::Execution run(context);

  options = training::keep(attention, record);
  training::use_terms(terms, options, nodes);
  options = impl.with_terms(options);
  const std::array positions{training::keep(call.positions, record),
                             training::keep(key_positions, record)};

  struct Projection {
    training::Node* x;
    const PackedMatrix* packed;
    ConstTensor weight;
    std::int64_t first_bias;
    HeadsOperand heads;
  };
  std::array<Projection, 3> projections = {
      {{record.node(query), impl.query.get(), impl.query_weight, 0, {.heads = heads}},
       {record.node(key), impl.key.get(), impl.key_weight, width, {.heads = impl.kv_heads}},
       {record.node(value),
        impl.value.get(),
        impl.value_weight,
        width + impl.kv_width(),
        {.heads = impl.kv_heads}}}};
  training::Node* const biases = record.parameter(*this, impl.input_biases);
  for (std::size_t begin = 0; begin < projections.size();) {
    // Joins all projections of one variable.
    std::size_t end = begin;
    std::int64_t columns = 0;
    for (; end < projections.size() && projections[end].x == projections[begin].x; ++end) {
      if (impl.query_norm && end > begin) break;
      HeadsOperand& operand = projections[end].heads;
      operand.first_column = columns;
      operand.columns = projections[end].packed->rows();
      columns += operand.columns;
    }
    const ConstTensor x = with_batch(projections[begin].x->value);
    const Tensor y = record.memory({batch, x.size(1), columns});
    std::array<training::LinearParts, 3> parts;
    std::size_t num_parts = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Projection& p = projections[i];
      const std::int64_t first = p.heads.first_column;
      const float* bias = impl.options.bias ? impl.input_biases.pointer(p.first_bias) : nullptr;
      runtime::Execution scratch(context);
      p.packed->multiply(x, bias, y.slice(-1, first, first + p.heads.columns), run,
                         p.packed->take_scratch(scratch));
      if (impl.joined() && num_parts > 0) {
        // The weights of this projection are the next rows of the same parameter.
        ConstTensor& weight = parts[0].weight;
        weight = ConstTensor(weight.data(), {weight.size(0) + p.heads.columns, weight.size(1)});
        continue;
      }
      parts[num_parts++] = {
          .x = p.x,
          .weights = record.parameter(*this, impl.joined() ? impl.input_weights : p.weight),
          .biases = biases,
          .weight = p.weight,
          .first_row = impl.joined() ? p.first_bias : 0,
          .first_bias = p.first_bias,
          .first_column = first};
    }
    Variable projected = record.finish(y, training::LinearStep(parts[0]));
    for (std::size_t i = 1; i < num_parts; ++i) {
      record.append_step(record.node(projected), training::LinearStep(parts[i]));
    }

    if (impl.changes_projected() && begin < 2) {
      for (std::size_t i = begin; i < std::min<std::size_t>(end, 2); ++i) {
        const char* name = i == 0 ? "projected_q" : "projected_k";
        if (record.watched(name)) {
          const ConstTensor values = projections[i].heads.view(ConstTensor(y));
          const Tensor memory = record.memory(values.shape());
          copy(values, memory, run);
          training::record_intermediate(*this, name, record.make_displayed(memory, false));
        }
      }
    }
    if (impl.query_norm && begin < 2) {
      const RmsNorm& norm = begin == 0 ? *impl.query_norm : *impl.key_norm;
      const Variable rows = reshape(projected, {batch, x.size(1), -1, norm.width()});
      projected = reshape(norm.forward(rows), y.shape());
    }
    if (impl.rotary && begin < 2) {
      std::array<RotatedHeads, 2> rotated;
      for (std::size_t i = begin; i < std::min<std::size_t>(end, 2); ++i) {
        const bool is_query = i == 0;
        rotated[i] = {
            .rotary = &*impl.rotary,
            .heads = projections[i].heads,
            .where = {.positions = positions[i],
                      .first = is_query ? options.diagonal : Diagonal::top_left(),
                      .key_lens = is_query ? options.key_lens : LengthsView(),
                      .num_keys = num_keys,
                      .cu_seqlens = is_query ? options.cu_seqlens : key_sequences(options),
                      .cu_seqlens_k = key_sequences(options)}};
      }
      const Tensor turned = record.memory(y.shape());
      copy(projected.value(), turned, run);
      for (const RotatedHeads& each : rotated) {
        if (each.rotary) each.rotate(turned, false, context);
      }
      projected = record.finish(turned, RotationStep(record.node(projected), rotated));
    }
    for (std::size_t i = begin; i < end; ++i) projections[i].heads.node = record.node(projected);
    begin = end;
  }

  // The layer's own terms apply if the call has none.
  nodes.query = projections[0].heads;
  nodes.key = projections[1].heads;
  nodes.value = projections[2].heads;
  const auto add_layer_parameter = [&](training::Node*& node, const ConstTensor& used,
                                       const Tensor& parameter) {
    const bool is_own = !parameter.is_none() && used.data() == parameter.data();
    if (!node && is_own) node = record.parameter(*this, parameter);
  };
  add_layer_parameter(nodes.relative_keys, options.relative_keys, impl.relative_keys);
  add_layer_parameter(nodes.relative_values, options.relative_values, impl.relative_values);
  add_layer_parameter(nodes.sinks, options.sinks, impl.sinks);
  if (options.t5_bias) add_layer_parameter(nodes.t5_table, options.t5_bias->table, impl.t5_table);

  AttentionOptions outputs = options;
  const Tensor log_sum_exp = record.memory({batch, heads, num_queries});
  outputs.log_sum_exp = log_sum_exp;
  const auto watch = [&](const char* name, Tensor& output, bool has_gradient) -> training::Node* {
    if (!record.watched(name)) return nullptr;
    output = record.memory({batch, heads, num_queries, num_keys});
    const Variable displayed = record.make_displayed(output, has_gradient);
    training::record_intermediate(*this, name, displayed);
    return record.node(displayed);
  };
  watch("scaled_scores", outputs.scaled_scores, false);
  watch("capped_scores", outputs.capped_scores, false);
  nodes.scores = watch("biased_scores", outputs.biased_scores, true);
  nodes.weights = watch("weights", outputs.weights, true);

  const auto view = [](const HeadsOperand& operand) { return operand.view(operand.node->value); };
  const Tensor joined = record.memory({batch, num_queries, width});
  scaled_dot_product_attention(view(nodes.query), view(nodes.key), view(nodes.value),
                               joined.split_heads(heads), outputs, context);
  const auto record_copy = [&](const char* name, const ConstTensor& values) -> training::Node* {
    if (!record.watched(name)) return nullptr;
    const Tensor memory = record.memory(values.shape());
    copy(values, memory, run);
    const Variable displayed = record.make_displayed(memory);
    training::record_intermediate(*this, name, displayed);
    return record.node(displayed);
  };
  nodes.displayed_query = record_copy("q", view(nodes.query));
  nodes.displayed_key = record_copy("k", view(nodes.key));
  nodes.displayed_value = record_copy("v", view(nodes.value));
  nodes.displayed_output = record_copy("head_output", joined.split_heads(heads));
  if (record.watched("log_sum_exp")) {
    training::record_intermediate(*this, "log_sum_exp", record.make_displayed(log_sum_exp, false));
  }
  const Variable attended =
      record.finish(joined, training::AttentionStep(nodes, options, log_sum_exp, heads));

  const Tensor output = record.memory(query.shape());
  impl.output->multiply(joined, impl.output_bias.data(), with_batch(output), run,
                        impl.output->take_scratch(run));
  return record.finish(output,
                       training::LinearStep({.x = record.node(attended),
                                             .weights = record.parameter(*this, impl.output_weight),
                                             .biases = record.parameter(*this, impl.output_bias),
                                             .weight = impl.output_weight}));
}

}  // namespace attn
