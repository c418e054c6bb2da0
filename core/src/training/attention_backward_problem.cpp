#include "training/attention_backward_problem.hpp"

#include <array>
#include <span>
#include <utility>

#include "attention/attention_options.hpp"
#include "validation.hpp"

namespace attn::training {
namespace {

template <class T>
void check_gradient(const char* name, const Tensor& gradient, const TensorView<T>& of) {
  if (gradient.is_none()) return;
  if (of.is_none()) {
    validation::fail_shape(name, gradient.shape(), {"none; the call does not use this option"});
  }
  validation::require_same_shape(name, gradient, of);
  validation::require_data(name, gradient);
}

/// Returns a view of `gradient` that is broadcast to the shape of `broadcast`.
Tensor broadcast_like(const char* name, const Tensor& gradient, const ConstTensor& broadcast) {
  if (gradient.is_none()) return gradient;
  const auto strides =
      validation::broadcast_strides(name, gradient.shape(), gradient.strides(), broadcast.shape());
  return Tensor(gradient.data(), broadcast.shape(),
                std::span(strides).first(broadcast.shape().size()));
}

}  // namespace

BackwardProblem check_backward(const ConstTensor& query, const ConstTensor& key,
                               const ConstTensor& value, const ConstTensor& output,
                               const ConstTensor& log_sum_exp, const ConstTensor& output_gradient,
                               const AttentionGradients& gradients,
                               const AttentionOptions& options) {
  AttentionOptions inputs = options;
  for (const auto further : kFurtherOutputs) inputs.*further = {};
  BackwardProblem p{check_attention_inputs(query, key, value, inputs), {}, {}, {}, {}, gradients};
  check_attention_output("output", output, query.rank(), p);
  check_attention_output("output_gradient", output_gradient, query.rank(), p);
  validation::require_shape("log_sum_exp", log_sum_exp, {p.batch, p.query_heads, p.num_queries});
  validation::require_data("log_sum_exp", log_sum_exp);
  p.forward_output = with_heads(output);
  p.output_gradient = with_heads(output_gradient);
  p.log_sum_exp = log_sum_exp;

  AttentionGradients& g = p.gradients;
  check_gradient("gradients.query", g.query, query);
  check_gradient("gradients.key", g.key, key);
  check_gradient("gradients.value", g.value, value);
  check_gradient("gradients.bias", g.bias, options.bias);
  check_gradient("gradients.alibi_slopes", g.alibi_slopes, options.alibi_slopes);
  check_gradient("gradients.t5_table", g.t5_table,
                 options.t5_bias ? options.t5_bias->table : ConstTensor());
  check_gradient("gradients.relative_keys", g.relative_keys, options.relative_keys);
  check_gradient("gradients.relative_values", g.relative_values, options.relative_values);
  check_gradient("gradients.sinks", g.sinks, options.sinks);
  for (const auto& [name, gradient] :
       {std::pair("gradients.scores", &g.scores), std::pair("gradients.weights", &g.weights)}) {
    if (gradient->is_none()) continue;
    if (p.is_packed()) {
      validation::fail_value(name, "a tensor",
                             {"none, because ", validation::Name("cu_seqlens"), " is set"});
    }
    validation::require_shape(name, *gradient, {p.batch, p.query_heads, p.num_queries, p.num_keys});
    validation::require_data(name, *gradient);
  }
  g.query = with_heads(g.query);
  g.key = with_heads(g.key);
  g.value = with_heads(g.value);
  g.bias = broadcast_like("gradients.bias", g.bias, p.options.bias);
  g.relative_keys =
      broadcast_like("gradients.relative_keys", g.relative_keys, p.options.relative_keys);
  g.relative_values =
      broadcast_like("gradients.relative_values", g.relative_values, p.options.relative_values);
  return p;
}

}  // namespace attn::training
