// Rows for gradients. Each row runs a forward and a backward pass on a tape and compares the
// gradients with the reference's derivatives.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "accuracy/accuracy.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/rms_norm.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/positions/alibi.hpp"
#include "attn/training/attention.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/losses.hpp"
#include "reference/activation.hpp"
#include "reference/attention.hpp"
#include "reference/conv1d.hpp"
#include "reference/feed_forward.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/loss.hpp"
#include "reference/recurrent.hpp"
#include "reference/rms_norm.hpp"
#include "reference/scalar.hpp"
#include "reference/transformer.hpp"

namespace accuracy {
namespace {

using attn::Variable;
using reference::Array;
using reference::ArrayOf;
using reference::Bounded;
using reference::Scalar;
using Exact = ArrayOf<Scalar>;
using Parameters = std::map<std::string, Exact>;

const char* const kErrorOfSums = "first-order bound of every sum";
const char* const kOfTensor = "1e-5 · the tensor's largest gradient";

attn::ConstTensor view(const Array& shape, const std::vector<float>& values) {
  return {values.data(), std::span<const std::int64_t>(shape.shape)};
}

std::vector<float> values_of(const attn::ConstTensor& t) {
  std::int64_t count = 1;
  for (const std::int64_t size : t.shape()) count *= size;
  return {t.data(), t.data() + count};
}

void add_bounded(Case& c, const attn::ConstTensor& got, const Bounded& exact) {
  c.add(values_of(got), exact.exact, exact.error);
}

/// Adds a gradient whose bound is 1e-5 of the tensor's largest gradient. A bound that is propagated
/// from layer to layer would grow too large in a stack, so this bound is based on measurements.
void add_of_tensor(Case& c, const attn::ConstTensor& got, const Bounded& exact) {
  double largest = 0;
  for (const double x : exact.exact.values) largest = std::max(largest, std::abs(x));
  c.add(values_of(got), exact.exact, 1e-5 * largest + 1e-6);
}

using Add = void (*)(Case&, const attn::ConstTensor&, const Bounded&);

/// Measures the gradients of a layer's inputs and parameters. The gradient of the layer's output
/// consists of normally distributed numbers.
template <class Layer, class Forward, class Reference>
void measure(Case& c, Layer& layer, const std::vector<std::vector<std::int64_t>>& input_shapes,
             const Forward& forward, const Reference& reference, Add add = &add_bounded,
             float deviation = 0) {
  const std::map<std::string, Array> drawn = draw_parameters(c, layer, deviation);
  attn::Tape tape(c.context());
  reference::Tape exact;
  std::vector<Variable> inputs;
  std::vector<Exact> exact_inputs;
  for (const std::vector<std::int64_t>& shape : input_shapes) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const std::vector<float> values = c.normals(count);
    inputs.push_back(tape.variable({values.data(), std::span<const std::int64_t>(shape)}));
    exact_inputs.push_back(exact.variables(Array(shape, values)));
  }
  const Parameters parameters = exact.variables(drawn);
  const Variable y = forward(layer, inputs);
  const Exact exact_y = reference(parameters, exact_inputs);
  const Array shape(std::vector<std::int64_t>(y.shape().begin(), y.shape().end()));
  const std::vector<float> dy = c.normals(static_cast<std::int64_t>(shape.values.size()));
  tape.backward(y, view(shape, dy));
  exact.backward(reference::inner(exact_y, Array(shape.shape, dy)));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    add(c, inputs[i].gradient(), exact.gradient(exact_inputs[i]));
  }
  for (const auto& [name, parameter] : parameters) {
    add(c, tape.gradient(layer, name), exact.gradient(parameter));
  }
}

const auto kForward = [](const auto& layer, const std::vector<Variable>& x) {
  return layer.forward(x[0]);
};

// Attention

struct Sizes {
  std::int64_t heads = 2, num_queries = 65, num_keys = 130, head_dim = 64;
};

/// `configure` sets the same options for the core and for the reference.
template <class Configure>
void measure_attention(Case& c, const Configure& configure, float query_deviation = 1,
                       const Sizes& s = {}) {
  const Array of_queries({1, s.heads, s.num_queries, s.head_dim});
  const Array of_keys({1, s.heads, s.num_keys, s.head_dim});
  const std::vector<float> q = c.normals(s.heads * s.num_queries * s.head_dim, query_deviation);
  const std::vector<float> k = c.normals(s.heads * s.num_keys * s.head_dim);
  const std::vector<float> v = c.normals(s.heads * s.num_keys * s.head_dim);
  const std::vector<float> dy = c.normals(s.heads * s.num_queries * s.head_dim);
  attn::AttentionOptions options;
  reference::Attention call;
  call.query = Array(of_queries.shape, q);
  call.key = Array(of_keys.shape, k);
  call.value = Array(of_keys.shape, v);
  configure(options, call);
  attn::Tape tape(c.context());
  const Variable query = tape.variable(view(of_queries, q));
  const Variable key = tape.variable(view(of_keys, k));
  const Variable value = tape.variable(view(of_keys, v));
  tape.backward(attn::scaled_dot_product_attention(query, key, value, options),
                view(of_queries, dy));
  reference::Tape exact;
  const reference::AttentionOf<Scalar> variables = reference::variables(exact, call);
  exact.backward(
      reference::inner(reference::attention(variables).output, Array(of_queries.shape, dy)));
  add_bounded(c, query.gradient(), exact.gradient(variables.query));
  add_bounded(c, key.gradient(), exact.gradient(variables.key));
  add_bounded(c, value.gradient(), exact.gradient(variables.value));
}

const char* const kShape = "N 65, K 130, D 64, normal";
const Row kPlain("gradients of attention", "N 65, K 130, D 64, |scores| ≤ 20", kErrorOfSums,
                 [](Case& c) { measure_attention(c, [](auto&, auto&) {}, 4); });
const Row kCausal("gradients of attention, causal", kShape, kErrorOfSums, [](Case& c) {
  measure_attention(c, [](attn::AttentionOptions& options, reference::Attention& exact) {
    options.causal = true;
    exact.causal_offset = Array({1}, 0);
  });
});
const Row kSoftcap("gradients of attention, softcap 5", kShape, kErrorOfSums, [](Case& c) {
  measure_attention(c, [](attn::AttentionOptions& options, reference::Attention& exact) {
    options.softcap = 5;
    exact.softcap = 5;
  });
});
const Row kBias("gradients of attention, bias and mask", kShape, kErrorOfSums, [](Case& c) {
  const std::vector<float> bias = c.normals(65 * 130, 2);
  std::vector<std::uint8_t> mask;
  for (const float x : c.uniforms(65 * 130, 0, 1)) mask.push_back(x < 0.8F ? 1 : 0);
  measure_attention(c, [&](attn::AttentionOptions& options, reference::Attention& exact) {
    options.bias = {bias.data(), {65, 130}};
    options.mask = {mask.data(), {65, 130}};
    exact.bias = Array({65, 130}, bias);
    exact.mask = Array({65, 130}, mask);
  });
});
const Row kAlibi("gradients of attention, ALiBi and T5", kShape, kErrorOfSums, [](Case& c) {
  std::vector<float> slopes(2);
  attn::alibi_slopes(slopes);
  const std::vector<float> table = c.normals(32 * 2);
  measure_attention(c, [&](attn::AttentionOptions& options, reference::Attention& exact) {
    options.alibi_slopes = {slopes.data(), {2}};
    options.t5_bias = attn::T5Bias{.table = {table.data(), {32, 2}}};
    exact.alibi_slopes = Array({2}, slopes);
    exact.t5_table = Array({32, 2}, table);
    exact.relative_offset = Array({1}, 0);
  });
});
const Row kRelative("gradients of attention, relative keys and values", "k 16, N 65, K 130, D 64",
                    kErrorOfSums, [](Case& c) {
                      const std::vector<float> keys = c.normals(33 * 64),
                                               values = c.normals(33 * 64);
                      measure_attention(
                          c, [&](attn::AttentionOptions& options, reference::Attention& exact) {
                            options.relative_keys = {keys.data(), {33, 64}};
                            options.relative_values = {values.data(), {33, 64}};
                            exact.relative_keys = Array({1, 33, 64}, keys);
                            exact.relative_values = Array({1, 33, 64}, values);
                            exact.relative_offset = Array({1}, 0);
                          });
                    });

/// Measures the gradients of both outputs and both log-sum-exps.
const Row kMerge("gradients of merge_attention", "N 65, D 64, normal", kErrorOfSums, [](Case& c) {
  constexpr std::int64_t kRows = 65, kWidth = 64;
  const Array of_rows({1, 1, kRows, kWidth}), of_sums({1, 1, kRows});
  const std::vector<float> a = c.normals(kRows * kWidth), b = c.normals(kRows * kWidth);
  const std::vector<float> sum_a = c.normals(kRows), sum_b = c.normals(kRows);
  const std::vector<float> dy = c.normals(kRows * kWidth);
  attn::Tape tape(c.context());
  const attn::AttentionPart first{tape.variable(view(of_rows, a)),
                                  tape.variable(view(of_sums, sum_a))};
  const attn::AttentionPart second{tape.variable(view(of_rows, b)),
                                   tape.variable(view(of_sums, sum_b))};
  tape.backward(attn::merge_attention(first, second).output, view(of_rows, dy));

  reference::Tape exact;
  const Exact x = exact.variables(Array(of_rows.shape, a));
  const Exact y = exact.variables(Array(of_rows.shape, b));
  const Exact s = exact.variables(Array(of_sums.shape, sum_a));
  const Exact t = exact.variables(Array(of_sums.shape, sum_b));
  Exact merged = x;
  for (std::size_t i = 0; i < merged.values.size(); ++i) {
    const std::size_t row = i / kWidth;
    const Scalar sum = log(exp(s.values[row]) + exp(t.values[row]));
    merged.values[i] =
        exp(s.values[row] - sum) * x.values[i] + exp(t.values[row] - sum) * y.values[i];
  }
  exact.backward(reference::inner(merged, Array(of_rows.shape, dy)));
  add_bounded(c, first.output.gradient(), exact.gradient(x));
  add_bounded(c, second.output.gradient(), exact.gradient(y));
  add_bounded(c, first.log_sum_exp.gradient(), exact.gradient(s));
  add_bounded(c, second.log_sum_exp.gradient(), exact.gradient(t));
});

// Layers

const Row kLinear("gradients of Linear", "(33, 257) to 65, normal", kErrorOfSums, [](Case& c) {
  attn::Linear layer(257, 65);
  measure(c, layer, {{33, 257}}, kForward, [](const Parameters& p, const std::vector<Exact>& x) {
    return reference::linear<Scalar>({x[0], {}}, p.at("weight"), p.at("bias")).exact;
  });
});
const Row kLayerNorm("gradients of LayerNorm", "(8, 257), normal", kErrorOfSums, [](Case& c) {
  attn::LayerNorm layer(257);
  measure(
      c, layer, {{8, 257}}, kForward,
      [](const Parameters& p, const std::vector<Exact>& x) {
        return reference::layer_norm<Scalar>(x[0], p.at("weight"), p.at("bias"), 1e-5F);
      },
      &add_bounded, 1);
});
const Row kRmsNorm("gradients of RmsNorm", "(8, 257), normal", kErrorOfSums, [](Case& c) {
  attn::RmsNorm layer(257, {.eps = 1e-5F});
  measure(
      c, layer, {{8, 257}}, kForward,
      [](const Parameters& p, const std::vector<Exact>& x) {
        return reference::rms_norm<Scalar>(x[0], p.at("weight"), 1e-5F);
      },
      &add_bounded, 1);
});

void measure_activation(Case& c, attn::Activation activation) {
  const std::vector<float> x = c.uniforms(5000, -10, 10), dy = c.normals(5000);
  attn::Tape tape(c.context());
  const Variable in = tape.variable({x.data(), {5000}});
  tape.backward(attn::apply_activation(in, activation), {dy.data(), {5000}});
  reference::Tape exact;
  const Exact variables = exact.variables(Array({5000}, x));
  Exact y = variables;
  for (Scalar& value : y.values) value = reference::activate(activation, value);
  exact.backward(reference::inner(y, Array({5000}, dy)));
  Bounded wanted = exact.gradient(variables);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    wanted.error.values[i] =
        1e-6 * std::abs(double{dy[i]}) + 6e-8 * std::abs(wanted.exact.values[i]);
  }
  add_bounded(c, in.gradient(), wanted);
}

const char* const kSlopeBound = "1e-6 · |dy|";
const Row kGelu("gradient of GELU", "[-10, 10]", kSlopeBound,
                [](Case& c) { measure_activation(c, attn::Activation::kGelu); });
const Row kGeluTanh("gradient of GELU by tanh", "[-10, 10]", kSlopeBound,
                    [](Case& c) { measure_activation(c, attn::Activation::kGeluTanh); });
const Row kSilu("gradient of SiLU", "[-10, 10]", kSlopeBound,
                [](Case& c) { measure_activation(c, attn::Activation::kSilu); });

const Row kFeedForward(
    "gradients of FeedForward", "(20, 32) over 128, GELU", kErrorOfSums, [](Case& c) {
      attn::FeedForward layer(
          {.d_model = 32, .dim_feedforward = 128, .activation = attn::Activation::kGelu});
      measure(c, layer, {{20, 32}}, kForward, [](const Parameters& p, const std::vector<Exact>& x) {
        return reference::feed_forward<Scalar>(
            {attn::Activation::kGelu, p.at("linear1.weight"), p.at("linear1.bias"),
             p.at("linear2.weight"), p.at("linear2.bias")},
            x[0]);
      });
    });

const Row kConv1d("gradients of Conv1d", "(50, 20) to 13 channels, k 5", kErrorOfSums, [](Case& c) {
  attn::Conv1d layer({.in_channels = 20, .out_channels = 13, .kernel_size = 5, .padding = 2});
  measure(c, layer, {{50, 20}}, kForward, [](const Parameters& p, const std::vector<Exact>& x) {
    return reference::conv1d<Scalar>(x[0], p.at("weight"), p.at("bias"), 1, 2, 2, 1).exact;
  });
});

template <class Layer>
void measure_recurrent(Case& c, reference::Cell cell) {
  Layer layer({.input_size = 20, .hidden_size = 24});
  measure(
      c, layer, {{30, 20}}, kForward,
      [cell](const Parameters& p, const std::vector<Exact>& x) {
        const reference::RecurrentLayerOf<Scalar> first{p.at("weight_ih_l0"), p.at("weight_hh_l0"),
                                                        p.at("bias_ih_l0"), p.at("bias_hh_l0")};
        return reference::recurrent<Scalar>(cell, {first}, x[0]).output.exact;
      },
      &add_of_tensor, 0.2F);
}
const Row kRnn("gradients of RNN", "30 steps, E 20, H 24", kOfTensor,
               [](Case& c) { measure_recurrent<attn::RNN>(c, reference::Cell::kTanh); });
const Row kGru("gradients of GRU", "30 steps, E 20, H 24", kOfTensor,
               [](Case& c) { measure_recurrent<attn::GRU>(c, reference::Cell::kGru); });

const char* const kTransformerShape = "(1, 20, 32), 4 heads, over 64";
const attn::TransformerLayerOptions kTransformerOptions{
    .d_model = 32, .num_heads = 4, .dim_feedforward = 64};

reference::TransformerLayerOf<Scalar> layer_of(const Parameters& weights) {
  reference::TransformerLayerOf<Scalar> layer;
  layer.weights = weights;
  layer.num_heads = layer.num_kv_heads = 4;
  layer.activation = attn::Activation::kRelu;
  return layer;
}

const Row kEncoder("gradients of TransformerEncoderLayer", kTransformerShape, kOfTensor,
                   [](Case& c) {
                     attn::TransformerEncoderLayer layer(kTransformerOptions);
                     measure(
                         c, layer, {{1, 20, 32}}, kForward,
                         [](const Parameters& p, const std::vector<Exact>& x) {
                           return reference::encoder_layer<Scalar>(layer_of(p), x[0]);
                         },
                         &add_of_tensor);
                   });
const Row kDecoder("gradients of TransformerDecoderLayer", kTransformerShape, kOfTensor,
                   [](Case& c) {
                     attn::TransformerDecoderLayer layer(kTransformerOptions);
                     measure(
                         c, layer, {{1, 20, 32}, {1, 30, 32}},
                         [](const auto& decoder, const std::vector<Variable>& x) {
                           return decoder.forward(x[0], x[1]);
                         },
                         [](const Parameters& p, const std::vector<Exact>& x) {
                           return reference::decoder_layer<Scalar>(layer_of(p), x[0], x[1]);
                         },
                         &add_of_tensor);
                   });

const Row kCrossEntropy("gradient of cross_entropy", "(33, 257), deviation 3",
                        "2e-6 · p + 3e-7 each", [](Case& c) {
                          const std::vector<float> x = c.normals(33 * 257, 3);
                          reference::CrossEntropy call;
                          for (std::int64_t i = 0; i < 33; ++i) call.targets.push_back(7 * i);
                          attn::Tape tape(c.context());
                          const Variable logits = tape.variable({x.data(), {33, 257}});
                          tape.backward(attn::cross_entropy(logits, call.targets));
                          reference::Tape exact;
                          const Exact variables = exact.variables(Array({33, 257}, x));
                          exact.backward(reference::cross_entropy(call, variables));
                          Bounded wanted = exact.gradient(variables);
                          for (std::int64_t i = 0; i < 33 * 257; ++i) {
                            const auto at = static_cast<std::size_t>(i);
                            const double target = i % 257 == 7 * (i / 257) ? 1 : 0;
                            const double p = 33 * wanted.exact.values[at] + target;
                            wanted.error.values[at] = (2e-6 * p + 3e-7) / 33;
                          }
                          add_bounded(c, logits.gradient(), wanted);
                        });

}  // namespace
}  // namespace accuracy
