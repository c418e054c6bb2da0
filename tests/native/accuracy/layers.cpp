#include <cmath>
#include <map>
#include <span>
#include <string>

#include "accuracy/accuracy.hpp"
#include "attn/activation.hpp"
#include "attn/attention_pooling.hpp"
#include "attn/conv1d.hpp"
#include "attn/gru.hpp"
#include "attn/layer_norm.hpp"
#include "attn/linear.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/rnn.hpp"
#include "reference/activation.hpp"
#include "reference/attention_pooling.hpp"
#include "reference/conv1d.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/recurrent.hpp"

namespace accuracy {
namespace {

using reference::Array;

/// Draws all parameters of a layer.
std::map<std::string, Array> draw_parameters(Case& c, attn::Module& module, float deviation) {
  std::map<std::string, Array> drawn;
  for (const std::string& name : module.parameter_names()) {
    const attn::ConstTensor parameter = module.parameter(name);
    const std::span<const std::int64_t> shape = parameter.shape();
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const std::vector<float> values = c.normals(count, deviation);
    drawn[name] = Array({shape.begin(), shape.end()}, values);
    module.set_parameter(name, {values.data(), shape});
  }
  return drawn;
}

/// Rows [begin, end) of a parameter.
Array rows_of(const Array& all, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> shape = all.shape;
  const auto row = static_cast<std::ptrdiff_t>(all.values.size()) / shape[0];
  shape[0] = end - begin;
  return {shape,
          std::vector<double>(all.values.begin() + begin * row, all.values.begin() + end * row)};
}

void measure_linear(Case& c, std::int64_t rows, std::int64_t in, std::int64_t out) {
  attn::Linear layer(in, out);
  const auto drawn = draw_parameters(c, layer, 1);
  const std::vector<float> x = c.normals(rows * in);
  std::vector<float> y(static_cast<std::size_t>(rows * out));
  layer.forward({x.data(), {rows, in}}, {y.data(), {rows, out}}, c.context());
  const auto [exact, bounds] =
      reference::linear({Array({rows, in}, x), {}}, drawn.at("weight"), drawn.at("bias"));
  c.add(y, exact, bounds);
}

const char* const kLinearBound = "(n + 1) · 6e-8 · (Σ|x·w| + |b|)";
const Row kLinear("Linear", "(33, 257) to 65, normal", kLinearBound,
                  [](Case& c) { measure_linear(c, 33, 257, 65); });
const Row kLinearRow("Linear", "(1, 1024) to 65, normal", kLinearBound,
                     [](Case& c) { measure_linear(c, 1, 1024, 65); });

void measure_layer_norm(Case& c, std::int64_t width, float mean) {
  attn::LayerNorm layer(width);
  const auto drawn = draw_parameters(c, layer, 1);
  std::vector<float> x = c.normals(8 * width);
  for (float& value : x) value += mean;
  std::vector<float> y(x.size());
  layer.forward({x.data(), {8, width}}, {y.data(), {8, width}}, c.context());
  const Array tokens({8, width}, x);
  const Array exact =
      reference::layer_norm(tokens, drawn.at("weight"), drawn.at("bias"), layer.options().eps);
  Array bounds = reference::layer_norm(tokens, {}, {}, layer.options().eps);
  for (std::size_t i = 0; i < bounds.values.size(); ++i) {
    const double weight = drawn.at("weight").values[i % static_cast<std::size_t>(width)];
    bounds.values[i] = 1.5e-6 * (1 + std::abs(bounds.values[i])) * std::abs(weight) +
                       6e-8 * std::abs(exact.values[i]);
  }
  c.add(y, exact, bounds);
}

const char* const kNormBound = "1.5e-6 · (1 + |ŷ|) · |weight| + 6e-8 · |y|";
const Row kLayerNorm("LayerNorm", "(8, 1000), normal", kNormBound,
                     [](Case& c) { measure_layer_norm(c, 1000, 0); });
const Row kLayerNormAtMean("LayerNorm", "(8, 1000), mean 1e4, deviation 1", kNormBound,
                           [](Case& c) { measure_layer_norm(c, 1000, 1e4F); });

void measure_activation(Case& c, attn::Activation activation, double (*exact)(double)) {
  const std::vector<float> x = c.uniforms(5000, -10, 10);
  std::vector<float> y(x.size());
  attn::apply_activation({x.data(), {5000}}, {y.data(), {5000}}, activation, c.context());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = exact(x[i]);
    const double share = x[i] < -1 ? 1e-6 + 3e-7 * x[i] * x[i]
                                   : (activation == attn::Activation::kGelu ? 5e-7 : 1e-6);
    c.add(y[i], value, share * std::abs(value));
  }
}

const Row kGelu("GELU", "[-10, 10]", "5e-7 · |f|, below -1 (1e-6 + 3e-7 · x²) · |f|",
                [](Case& c) { measure_activation(c, attn::Activation::kGelu, reference::gelu); });
const Row kGeluTanh("GELU by tanh", "[-10, 10]", "1e-6 · |f|, below -1 (1e-6 + 3e-7 · x²) · |f|",
                    [](Case& c) {
                      measure_activation(c, attn::Activation::kGeluTanh, reference::gelu_tanh);
                    });

const char* const kStagesBound = "first-order bound of every stage";

const Row kMultiHead("MultiHeadAttention", "(1, 20, 32), 4 heads, bias", kStagesBound, [](Case& c) {
  constexpr std::int64_t kModel = 32;
  attn::MultiHeadAttention layer({.d_model = kModel, .num_heads = 4, .bias = true});
  const auto drawn = draw_parameters(c, layer, 0.2F);
  const std::vector<float> x = c.normals(20 * kModel);
  std::vector<float> output(x.size());
  const attn::ConstTensor tokens(x.data(), {1, 20, kModel});
  layer.forward(tokens, tokens, tokens, {output.data(), {1, 20, kModel}}, {}, c.context());

  const auto third = [&](const char* name, std::int64_t which) {
    return rows_of(drawn.at(name), which * kModel, (which + 1) * kModel);
  };
  reference::MultiHeadAttention p;
  p.num_heads = p.num_kv_heads = 4;
  p.query_weight = third("in_proj_weight", 0);
  p.key_weight = third("in_proj_weight", 1);
  p.value_weight = third("in_proj_weight", 2);
  p.output_weight = drawn.at("out_proj.weight");
  p.query_bias = third("in_proj_bias", 0);
  p.key_bias = third("in_proj_bias", 1);
  p.value_bias = third("in_proj_bias", 2);
  p.output_bias = drawn.at("out_proj.bias");
  const Array all({1, 20, kModel}, x);
  const auto [exact, bounds] = reference::multi_head_attention(p, all, all, all).output;
  c.add(output, exact, bounds);
});

const Row kConv1d("Conv1d", "(50, 40) to 33 channels, k 5", kLinearBound, [](Case& c) {
  attn::Conv1d layer({.in_channels = 40, .out_channels = 33, .kernel_size = 5, .padding = 2});
  const auto drawn = draw_parameters(c, layer, 1);
  const std::vector<float> x = c.normals(50 * 40);
  std::vector<float> output(50 * 33);
  layer.forward({x.data(), {50, 40}}, {output.data(), {50, 33}}, c.context());
  const auto [exact, bounds] =
      reference::conv1d(Array({50, 40}, x), drawn.at("weight"), drawn.at("bias"), 1, 2, 2, 1);
  c.add(output, exact, bounds);
});

template <class Layer>
void measure_recurrent(Case& c, reference::Cell cell) {
  Layer layer({.input_size = 20, .hidden_size = 24});
  const auto drawn = draw_parameters(c, layer, 0.2F);
  const std::vector<float> x = c.normals(30 * 20);
  std::vector<float> output(30 * 24);
  layer.forward({x.data(), {30, 20}}, {output.data(), {30, 24}}, {}, c.context());
  const reference::RecurrentLayer first{drawn.at("weight_ih_l0"), drawn.at("weight_hh_l0"),
                                        drawn.at("bias_ih_l0"), drawn.at("bias_hh_l0")};
  const auto [exact, bounds] = reference::recurrent(cell, {first}, Array({30, 20}, x)).output;
  c.add(output, exact, bounds);
}
const char* const kStepsBound = "3e-7 + (E + H + 2) · 6e-8 · Σ|terms| a step";
const Row kRnn("RNN", "30 steps, E 20, H 24", kStepsBound,
               [](Case& c) { measure_recurrent<attn::RNN>(c, reference::Cell::kTanh); });
const Row kGru("GRU", "30 steps, E 20, H 24", kStepsBound,
               [](Case& c) { measure_recurrent<attn::GRU>(c, reference::Cell::kGru); });

const Row kGaussian("attention_pooling, Gaussian", "N 20, K 50, D 8, width 2", kStagesBound,
                    [](Case& c) {
                      const std::vector<float> q = c.normals(20 * 8);
                      const std::vector<float> k = c.normals(50 * 8);
                      const std::vector<float> v = c.normals(50 * 12);
                      std::vector<float> output(20 * 12);
                      attn::attention_pooling({q.data(), {20, 8}}, {k.data(), {50, 8}},
                                              {v.data(), {50, 12}}, {output.data(), {20, 12}},
                                              attn::ScoringFunction::gaussian(2), {}, c.context());
                      reference::Pooling p;
                      p.score = reference::Pooling::Score::kGaussian;
                      p.parameter = 2;
                      p.query = Array({20, 8}, q);
                      p.key = Array({50, 8}, k);
                      p.value = Array({50, 12}, v);
                      const auto [exact, bounds] = reference::attention_pooling(p).output;
                      c.add(output, exact, bounds);
                    });
const Row kAdditive("AdditiveAttention", "N 20, K 50, 16 hidden", kStagesBound, [](Case& c) {
  attn::AdditiveAttention layer(8, 10, 16);
  const auto drawn = draw_parameters(c, layer, 0.3F);
  const std::vector<float> q = c.normals(20 * 8);
  const std::vector<float> k = c.normals(50 * 10);
  const std::vector<float> v = c.normals(50 * 12);
  std::vector<float> output(20 * 12);
  layer.forward({q.data(), {20, 8}}, {k.data(), {50, 10}}, {v.data(), {50, 12}},
                {output.data(), {20, 12}}, {}, c.context());
  reference::Pooling p;
  p.score = reference::Pooling::Score::kAdditive;
  p.query = Array({20, 8}, q);
  p.key = Array({50, 10}, k);
  p.value = Array({50, 12}, v);
  p.query_weight = drawn.at("W_q.weight");
  p.key_weight = drawn.at("W_k.weight");
  p.score_weight = drawn.at("w_v.weight");
  const auto [exact, bounds] = reference::attention_pooling(p).output;
  c.add(output, exact, bounds);
});

}  // namespace
}  // namespace accuracy
