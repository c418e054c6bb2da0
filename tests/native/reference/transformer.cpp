#include "reference/transformer.hpp"

#include "reference/feed_forward.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/multi_head_attention.hpp"

namespace reference {
namespace {

template <class T>
ArrayOf<T> find(const TransformerLayerOf<T>& layer, const std::string& name) {
  const auto found = layer.weights.find(name);
  return found == layer.weights.end() ? ArrayOf<T>() : found->second;
}

/// Rows [begin, end) of an array of rank 1 or 2.
template <class T>
ArrayOf<T> rows(const ArrayOf<T>& all, std::int64_t begin, std::int64_t end) {
  if (!all.given()) return {};
  ArrayOf<T> result = all;
  const std::int64_t width = all.shape.size() == 1 ? 1 : all.size(1);
  result.shape[0] = end - begin;
  result.values.assign(all.values.begin() + begin * width, all.values.begin() + end * width);
  return result;
}

template <class T>
ArrayOf<T> attend(const TransformerLayerOf<T>& layer, const std::string& name,
                  const ArrayOf<T>& query, const ArrayOf<T>& memory, const AttentionOf<T>& options,
                  ArrayOf<T>* weights) {
  MultiHeadAttentionOf<T> p;
  p.num_heads = layer.num_heads;
  p.num_kv_heads = layer.num_kv_heads;
  const std::int64_t e = query.size(2);
  const std::int64_t kv = e / layer.num_heads * layer.num_kv_heads;
  if (kv == e) {
    const ArrayOf<T> all = find(layer, name + ".in_proj_weight");
    p.query_weight = rows(all, 0, e);
    p.key_weight = rows(all, e, 2 * e);
    p.value_weight = rows(all, 2 * e, 3 * e);
  } else {
    p.query_weight = find(layer, name + ".q_proj_weight");
    p.key_weight = find(layer, name + ".k_proj_weight");
    p.value_weight = find(layer, name + ".v_proj_weight");
  }
  const ArrayOf<T> bias = find(layer, name + ".in_proj_bias");
  p.query_bias = rows(bias, 0, e);
  p.key_bias = rows(bias, e, e + kv);
  p.value_bias = rows(bias, e + kv, e + 2 * kv);
  p.output_weight = find(layer, name + ".out_proj.weight");
  p.output_bias = find(layer, name + ".out_proj.bias");
  const MultiHeadAttentionResultOf<T> result =
      multi_head_attention(p, query, memory, memory, options);
  if (weights) *weights = result.attention.weights;
  return result.output.exact;
}

template <class T>
ArrayOf<T> feed_forward_of(const TransformerLayerOf<T>& layer, const ArrayOf<T>& x) {
  return feed_forward<T>(
      {layer.activation, find(layer, "linear1.weight"), find(layer, "linear1.bias"),
       find(layer, "linear2.weight"), find(layer, "linear2.bias")},
      x);
}

template <class T>
ArrayOf<T> norm(const TransformerLayerOf<T>& layer, const std::string& name, const ArrayOf<T>& x) {
  return layer_norm(x, find(layer, name + ".weight"), find(layer, name + ".bias"), layer.eps);
}

template <class T>
ArrayOf<T> sum(const ArrayOf<T>& a, const ArrayOf<T>& b) {
  ArrayOf<T> result = a;
  for (std::size_t i = 0; i < a.values.size(); ++i) result.values[i] += b.values[i];
  return result;
}

}  // namespace

TransformerLayerOf<Scalar> variables(Tape& tape, const TransformerLayer& layer) {
  return {tape.variables(layer.weights),
          layer.num_heads,
          layer.num_kv_heads,
          layer.activation,
          layer.eps,
          layer.norm_first};
}

template <class T>
ArrayOf<T> encoder_layer(const TransformerLayerOf<T>& layer, const Given<ArrayOf<T>>& x,
                         const Given<AttentionOf<T>>& options, Given<ArrayOf<T>*> weights) {
  if (layer.norm_first) {
    const ArrayOf<T> n = norm(layer, "norm1", x);
    const ArrayOf<T> h = sum(x, attend(layer, "self_attn", n, n, options, weights));
    return sum(h, feed_forward_of(layer, norm(layer, "norm2", h)));
  }
  const ArrayOf<T> h =
      norm(layer, "norm1", sum(x, attend(layer, "self_attn", x, x, options, weights)));
  return norm(layer, "norm2", sum(h, feed_forward_of(layer, h)));
}

template <class T>
ArrayOf<T> decoder_layer(const TransformerLayerOf<T>& layer, const Given<ArrayOf<T>>& x,
                         const Given<ArrayOf<T>>& memory, const Given<AttentionOf<T>>& self_options,
                         const Given<AttentionOf<T>>& cross_options,
                         Given<ArrayOf<T>*> cross_weights) {
  const auto self = [&](const ArrayOf<T>& h) {
    return attend(layer, "self_attn", h, h, self_options, static_cast<ArrayOf<T>*>(nullptr));
  };
  const auto cross = [&](const ArrayOf<T>& h) {
    return attend(layer, "multihead_attn", h, memory, cross_options, cross_weights);
  };
  if (layer.norm_first) {
    const ArrayOf<T> g = sum(x, self(norm(layer, "norm1", x)));
    const ArrayOf<T> h = sum(g, cross(norm(layer, "norm2", g)));
    return sum(h, feed_forward_of(layer, norm(layer, "norm3", h)));
  }
  const ArrayOf<T> g = norm(layer, "norm1", sum(x, self(x)));
  const ArrayOf<T> h = norm(layer, "norm2", sum(g, cross(g)));
  return norm(layer, "norm3", sum(h, feed_forward_of(layer, h)));
}

template Array encoder_layer(const TransformerLayer&, const Array&, const Attention&, Array*);
template ArrayOf<Scalar> encoder_layer(const TransformerLayerOf<Scalar>&, const ArrayOf<Scalar>&,
                                       const AttentionOf<Scalar>&, ArrayOf<Scalar>*);
template Array decoder_layer(const TransformerLayer&, const Array&, const Array&, const Attention&,
                             const Attention&, Array*);
template ArrayOf<Scalar> decoder_layer(const TransformerLayerOf<Scalar>&, const ArrayOf<Scalar>&,
                                       const ArrayOf<Scalar>&, const AttentionOf<Scalar>&,
                                       const AttentionOf<Scalar>&, ArrayOf<Scalar>*);

}  // namespace reference
