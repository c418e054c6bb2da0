#include "reference/transformer.hpp"

#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/multi_head_attention.hpp"

namespace reference {
namespace {

Array find(const TransformerLayer& layer, const std::string& name) {
  const auto found = layer.weights.find(name);
  return found == layer.weights.end() ? Array() : found->second;
}

/// Rows [begin, end) of an array of rank 1 or 2.
Array rows(const Array& all, std::int64_t begin, std::int64_t end) {
  if (!all.given()) return {};
  Array result = all;
  const std::int64_t width = all.shape.size() == 1 ? 1 : all.size(1);
  result.shape[0] = end - begin;
  result.values.assign(all.values.begin() + begin * width, all.values.begin() + end * width);
  return result;
}

Array attend(const TransformerLayer& layer, const std::string& name, const Array& query,
             const Array& memory, const Attention& options, Array* weights) {
  MultiHeadAttention p;
  p.num_heads = layer.num_heads;
  p.num_kv_heads = layer.num_kv_heads;
  const std::int64_t e = query.size(2);
  const std::int64_t kv = e / layer.num_heads * layer.num_kv_heads;
  if (kv == e) {
    const Array all = find(layer, name + ".in_proj_weight");
    p.query_weight = rows(all, 0, e);
    p.key_weight = rows(all, e, 2 * e);
    p.value_weight = rows(all, 2 * e, 3 * e);
  } else {
    p.query_weight = find(layer, name + ".q_proj_weight");
    p.key_weight = find(layer, name + ".k_proj_weight");
    p.value_weight = find(layer, name + ".v_proj_weight");
  }
  const Array bias = find(layer, name + ".in_proj_bias");
  p.query_bias = rows(bias, 0, e);
  p.key_bias = rows(bias, e, e + kv);
  p.value_bias = rows(bias, e + kv, e + 2 * kv);
  p.output_weight = find(layer, name + ".out_proj.weight");
  p.output_bias = find(layer, name + ".out_proj.bias");
  const MultiHeadAttentionResult result = multi_head_attention(p, query, memory, memory, options);
  if (weights) *weights = result.attention.weights;
  return result.output.exact;
}

Array feed_forward(const TransformerLayer& layer, const Array& x) {
  Array hidden = linear({x, {}}, find(layer, "linear1.weight"), find(layer, "linear1.bias")).exact;
  for (double& value : hidden.values) value = layer.activation(value);
  return linear({hidden, {}}, find(layer, "linear2.weight"), find(layer, "linear2.bias")).exact;
}

Array norm(const TransformerLayer& layer, const std::string& name, const Array& x) {
  return layer_norm(x, find(layer, name + ".weight"), find(layer, name + ".bias"), layer.eps);
}

Array sum(const Array& a, const Array& b) {
  Array result = a;
  for (std::size_t i = 0; i < a.values.size(); ++i) result.values[i] += b.values[i];
  return result;
}

}  // namespace

Array encoder_layer(const TransformerLayer& layer, const Array& x, const Attention& options,
                    Array* weights) {
  if (layer.norm_first) {
    const Array n = norm(layer, "norm1", x);
    const Array h = sum(x, attend(layer, "self_attn", n, n, options, weights));
    return sum(h, feed_forward(layer, norm(layer, "norm2", h)));
  }
  const Array h = norm(layer, "norm1", sum(x, attend(layer, "self_attn", x, x, options, weights)));
  return norm(layer, "norm2", sum(h, feed_forward(layer, h)));
}

Array decoder_layer(const TransformerLayer& layer, const Array& x, const Array& memory,
                    const Attention& self_options, const Attention& cross_options,
                    Array* cross_weights) {
  const auto self = [&](const Array& h) {
    return attend(layer, "self_attn", h, h, self_options, nullptr);
  };
  const auto cross = [&](const Array& h) {
    return attend(layer, "multihead_attn", h, memory, cross_options, cross_weights);
  };
  if (layer.norm_first) {
    const Array g = sum(x, self(norm(layer, "norm1", x)));
    const Array h = sum(g, cross(norm(layer, "norm2", g)));
    return sum(h, feed_forward(layer, norm(layer, "norm3", h)));
  }
  const Array g = norm(layer, "norm1", sum(x, self(x)));
  const Array h = norm(layer, "norm2", sum(g, cross(g)));
  return norm(layer, "norm3", sum(h, feed_forward(layer, h)));
}

}  // namespace reference
