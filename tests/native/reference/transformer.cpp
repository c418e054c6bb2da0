#include "reference/transformer.hpp"

#include "reference/feed_forward.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/rms_norm.hpp"

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
  p.output_weight = find(layer, name + ".out_proj.weight");
  p.output_bias = find(layer, name + ".out_proj.bias");
  const std::int64_t e = p.output_weight.size(1);  // width of all heads together
  const std::int64_t kv = e / layer.num_heads * layer.num_kv_heads;
  const ArrayOf<T> all = find(layer, name + ".in_proj_weight");
  if (all.given()) {
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
  p.query_norm = find(layer, name + ".q_norm.weight");
  p.key_norm = find(layer, name + ".k_norm.weight");
  p.norm_eps = layer.eps;
  p.norms_add_one = layer.norms_add_one;
  if (name == "self_attn") {
    p.rotary_frequencies = layer.rotary_frequencies;
    p.places = layer.places;
  }
  const MultiHeadAttentionResultOf<T> result =
      multi_head_attention(p, query, memory, memory, options);
  if (weights) *weights = result.attention.weights;
  return result.output.exact;
}

template <class T>
ArrayOf<T> feed_forward_of(const TransformerLayerOf<T>& layer, const ArrayOf<T>& x) {
  const ArrayOf<T> gate = find(layer, "gate_proj.weight");
  if (gate.given()) {
    return gated_feed_forward<T>({layer.activation, gate, find(layer, "up_proj.weight"),
                                  find(layer, "down_proj.weight"), layer.kept_hidden},
                                 x);
  }
  return feed_forward<T>(
      {layer.activation, find(layer, "linear1.weight"), find(layer, "linear1.bias"),
       find(layer, "linear2.weight"), find(layer, "linear2.bias"), layer.kept_hidden},
      x);
}

template <class T>
ArrayOf<T> sum(const ArrayOf<T>& a, const ArrayOf<T>& b) {
  ArrayOf<T> result = a;
  for (std::size_t i = 0; i < a.values.size(); ++i) result.values[i] += b.values[i];
  return result;
}

/// Adds f(input) to x and applies the norms that the layer has. `number` is the number of the
/// sublayer.
template <class T, class F>
ArrayOf<T> add_sublayer(const TransformerLayerOf<T>& layer, const std::string& number,
                        const ArrayOf<T>& x, const ArrayOf<T>& input, F&& f) {
  const std::string before = "norm" + number, after = "output_norm" + number;
  ArrayOf<T> y = f(layer.norm_first ? norm<T>(layer, before, input) : input);
  if (layer.weights.contains(after + ".weight")) y = norm<T>(layer, after, y);
  if (!layer.kept_outputs.empty()) drop(y, layer.kept_outputs.at(std::stoul(number) - 1));
  const ArrayOf<T> total = sum(x, y);
  const bool behind = !layer.norm_first && layer.weights.contains(before + ".weight");
  return behind ? norm<T>(layer, before, total) : total;
}

}  // namespace

template <class T>
ArrayOf<T> norm(const TransformerLayerOf<T>& layer, const std::string& name,
                const Given<ArrayOf<T>>& x) {
  ArrayOf<T> weight = find(layer, name + ".weight");
  if (!layer.rms) return layer_norm(x, weight, find(layer, name + ".bias"), layer.eps);
  for (T& w : weight.values) w += layer.norms_add_one ? 1 : 0;
  return rms_norm(x, weight, layer.eps);
}

TransformerLayerOf<Scalar> variables(Tape& tape, const TransformerLayer& layer) {
  return {tape.variables(layer.weights),
          layer.num_heads,
          layer.num_kv_heads,
          layer.activation,
          layer.eps,
          layer.norm_first,
          layer.parallel,
          layer.rms,
          layer.norms_add_one,
          layer.rotary_frequencies,
          layer.places,
          layer.kept_outputs,
          layer.kept_hidden};
}

template <class T>
ArrayOf<T> encoder_layer(const TransformerLayerOf<T>& layer, const Given<ArrayOf<T>>& x,
                         const Given<AttentionOf<T>>& options, Given<ArrayOf<T>*> weights) {
  const ArrayOf<T> h = add_sublayer(layer, "1", x, x, [&](const ArrayOf<T>& n) {
    return attend(layer, "self_attn", n, n, options, weights);
  });
  return add_sublayer(layer, "2", h, layer.parallel ? x : h,
                      [&](const ArrayOf<T>& n) { return feed_forward_of(layer, n); });
}

template <class T>
ArrayOf<T> decoder_layer(const TransformerLayerOf<T>& layer, const Given<ArrayOf<T>>& x,
                         const Given<ArrayOf<T>>& memory, const Given<AttentionOf<T>>& self_options,
                         const Given<AttentionOf<T>>& cross_options,
                         Given<ArrayOf<T>*> cross_weights) {
  const ArrayOf<T> g = add_sublayer(layer, "1", x, x, [&](const ArrayOf<T>& n) {
    return attend(layer, "self_attn", n, n, self_options, static_cast<ArrayOf<T>*>(nullptr));
  });
  const ArrayOf<T> h = add_sublayer(layer, "2", g, g, [&](const ArrayOf<T>& n) {
    return attend(layer, "multihead_attn", n, memory, cross_options, cross_weights);
  });
  return add_sublayer(layer, "3", h, h,
                      [&](const ArrayOf<T>& n) { return feed_forward_of(layer, n); });
}

template Array norm(const TransformerLayer&, const std::string&, const Array&);
template ArrayOf<Scalar> norm(const TransformerLayerOf<Scalar>&, const std::string&,
                              const ArrayOf<Scalar>&);
template Array encoder_layer(const TransformerLayer&, const Array&, const Attention&, Array*);
template ArrayOf<Scalar> encoder_layer(const TransformerLayerOf<Scalar>&, const ArrayOf<Scalar>&,
                                       const AttentionOf<Scalar>&, ArrayOf<Scalar>*);
template Array decoder_layer(const TransformerLayer&, const Array&, const Array&, const Attention&,
                             const Attention&, Array*);
template ArrayOf<Scalar> decoder_layer(const TransformerLayerOf<Scalar>&, const ArrayOf<Scalar>&,
                                       const ArrayOf<Scalar>&, const AttentionOf<Scalar>&,
                                       const AttentionOf<Scalar>&, ArrayOf<Scalar>*);

}  // namespace reference
