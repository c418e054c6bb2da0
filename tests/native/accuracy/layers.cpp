#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "accuracy/accuracy.hpp"
#include "attn/layers/activation.hpp"
#include "attn/layers/add_norm.hpp"
#include "attn/layers/bahdanau_decoder.hpp"
#include "attn/layers/conv1d.hpp"
#include "attn/layers/feed_forward.hpp"
#include "attn/layers/gru.hpp"
#include "attn/layers/layer_norm.hpp"
#include "attn/layers/linear.hpp"
#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/layers/transformer_decoder.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/pooling/attention_pooling.hpp"
#include "reference/activation.hpp"
#include "reference/attention_pooling.hpp"
#include "reference/bahdanau_decoder.hpp"
#include "reference/conv1d.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/recurrent.hpp"
#include "reference/transformer.hpp"

namespace accuracy {

using reference::Array;

std::map<std::string, Array> draw_parameters(Case& c, attn::Module& module, float deviation) {
  std::map<std::string, Array> drawn;
  for (const std::string& name : module.parameter_names()) {
    const attn::ConstTensor parameter = module.parameter(name);
    const std::span<const std::int64_t> shape = parameter.shape();
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const std::vector<float> values = c.normals(
        count, deviation > 0 ? deviation : 1 / std::sqrt(static_cast<float>(shape.back())));
    drawn[name] = Array({shape.begin(), shape.end()}, values);
    module.set_parameter(name, {values.data(), shape});
  }
  return drawn;
}

namespace {

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

/// Measures a Linear with 16-bit weights. The numbers in x are exact in the type of the weights, so
/// that nothing is rounded before the products.
template <class Number>
void measure_stored_linear(Case& c, std::int64_t rows, std::int64_t in, std::int64_t out) {
  attn::Linear layer(in, out, true, attn::kElementType<Number>);
  const auto rounded = [](std::vector<float> numbers) {
    for (float& number : numbers) number = Number(number);
    return numbers;
  };
  const std::vector<float> weight = rounded(c.normals(in * out)), bias = c.normals(out);
  const std::vector<float> x = rounded(c.normals(rows * in));
  layer.set_parameter("weight", {weight.data(), {out, in}});
  layer.set_parameter("bias", {bias.data(), {out}});
  std::vector<float> y(static_cast<std::size_t>(rows * out));
  layer.forward({x.data(), {rows, in}}, {y.data(), {rows, out}}, c.context());
  const auto [exact, bounds] =
      reference::linear({Array({rows, in}, x), {}}, Array({out, in}, weight), Array({out}, bias));
  c.add(y, exact, bounds);
}
const Row kBfloat16Linear("Linear, bfloat16", "(33, 257) to 65, normal", kLinearBound,
                          [](Case& c) { measure_stored_linear<attn::BFloat16>(c, 33, 257, 65); });
const Row kBfloat16LinearRow("Linear, bfloat16", "(1, 1024) to 65, normal", kLinearBound,
                             [](Case& c) {
                               measure_stored_linear<attn::BFloat16>(c, 1, 1024, 65);
                             });
const Row kFloat16Linear("Linear, float16", "(33, 257) to 65, normal", kLinearBound,
                         [](Case& c) { measure_stored_linear<attn::Float16>(c, 33, 257, 65); });
const Row kFloat16LinearRow("Linear, float16", "(1, 1024) to 65, normal", kLinearBound,
                            [](Case& c) { measure_stored_linear<attn::Float16>(c, 1, 1024, 65); });

/// Adds the errors of y, attn's layer norm of x. The bounds are the bounds in the header of
/// LayerNorm.
void add_normalised(Case& c, const std::vector<float>& y, const Array& x, const Array& weight,
                    const Array& bias) {
  const double eps = attn::LayerNormOptions().eps;
  const Array exact = reference::layer_norm(x, weight, bias, eps);
  Array bounds = reference::layer_norm(x, {}, {}, eps);
  for (std::size_t i = 0; i < bounds.values.size(); ++i) {
    const double w = weight.values[i % weight.values.size()];
    bounds.values[i] =
        1.5e-6 * (1 + std::abs(bounds.values[i])) * std::abs(w) + 6e-8 * std::abs(exact.values[i]);
  }
  c.add(y, exact, bounds);
}

void measure_layer_norm(Case& c, std::int64_t width, float mean) {
  attn::LayerNorm layer(width);
  const auto drawn = draw_parameters(c, layer, 1);
  std::vector<float> x = c.normals(8 * width);
  for (float& value : x) value += mean;
  std::vector<float> y(x.size());
  layer.forward({x.data(), {8, width}}, {y.data(), {8, width}}, c.context());
  add_normalised(c, y, Array({8, width}, x), drawn.at("weight"), drawn.at("bias"));
}

const char* const kNormBound = "1.5e-6 · (1 + |ŷ|) · |weight| + 6e-8 · |y|";
const Row kLayerNorm("LayerNorm", "(8, 1000), normal", kNormBound,
                     [](Case& c) { measure_layer_norm(c, 1000, 0); });
const Row kLayerNormAtMean("LayerNorm", "(8, 1000), mean 1e4, deviation 1", kNormBound,
                           [](Case& c) { measure_layer_norm(c, 1000, 1e4F); });

void measure_activation(Case& c, attn::Activation activation) {
  const std::vector<float> x = c.uniforms(5000, -10, 10);
  std::vector<float> y(x.size());
  attn::apply_activation({x.data(), {5000}}, {y.data(), {5000}}, activation, c.context());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = reference::activate(activation, double{x[i]});
    const double share = x[i] < -1 ? 1e-6 + 3e-7 * x[i] * x[i]
                                   : (activation == attn::Activation::kGelu ? 5e-7 : 1e-6);
    c.add(y[i], value, share * std::abs(value));
  }
}

const Row kGelu("GELU", "[-10, 10]", "5e-7 · |f|, below -1 (1e-6 + 3e-7 · x²) · |f|",
                [](Case& c) { measure_activation(c, attn::Activation::kGelu); });
const Row kGeluTanh("GELU by tanh", "[-10, 10]", "1e-6 · |f|, below -1 (1e-6 + 3e-7 · x²) · |f|",
                    [](Case& c) { measure_activation(c, attn::Activation::kGeluTanh); });

const Row kAddNorm("AddNorm", "(8, 1000), normal, of the rounded sum", kNormBound, [](Case& c) {
  attn::AddNorm layer(1000);
  const auto drawn = draw_parameters(c, layer, 1);
  const std::vector<float> x = c.normals(8 * 1000), y = c.normals(8 * 1000);
  std::vector<float> sums(x.size()), output(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sums[i] = x[i] + y[i];
  layer.forward({x.data(), {8, 1000}}, {y.data(), {8, 1000}}, {output.data(), {8, 1000}}, {},
                c.context());
  add_normalised(c, output, Array({8, 1000}, sums), drawn.at("ln.weight"), drawn.at("ln.bias"));
});

const char* const kStagesBound = "first-order bound of every stage";

const Row kFeedForward("FeedForward", "(20, 32) over 128, GELU", kStagesBound, [](Case& c) {
  attn::FeedForward layer(
      {.d_model = 32, .dim_feedforward = 128, .activation = attn::Activation::kGelu});
  const auto drawn = draw_parameters(c, layer);
  const std::vector<float> x = c.normals(20 * 32);
  std::vector<float> output(x.size());
  layer.forward({x.data(), {20, 32}}, {output.data(), {20, 32}}, {}, c.context());
  reference::Bounded hidden = reference::linear(
      {Array({20, 32}, x), {}}, drawn.at("linear1.weight"), drawn.at("linear1.bias"));
  for (std::size_t i = 0; i < hidden.exact.values.size(); ++i) {
    double& value = hidden.exact.values[i];
    value = reference::activate(attn::Activation::kGelu, value);
    // The slope of GELU is at most 1.13.
    hidden.error.values[i] = 1.13 * hidden.error.values[i] + 1e-6 * std::abs(value) + 2e-38;
  }
  const auto [exact, bounds] =
      reference::linear(hidden, drawn.at("linear2.weight"), drawn.at("linear2.bias"));
  c.add(output, exact, bounds);
});

const char* const kTransformerShape = "(1, 20, 32), 4 heads, over 64";
const attn::TransformerLayerOptions kTransformerOptions{
    .d_model = 32, .num_heads = 4, .dim_feedforward = 64};

reference::TransformerLayer reference_of(std::map<std::string, Array> weights) {
  reference::TransformerLayer layer;
  layer.weights = std::move(weights);
  layer.num_heads = layer.num_kv_heads = 4;
  layer.activation = attn::Activation::kRelu;
  return layer;
}

const Row kEncoder("TransformerEncoderLayer", kTransformerShape, "1e-5", [](Case& c) {
  attn::TransformerEncoderLayer layer(kTransformerOptions);
  const auto drawn = draw_parameters(c, layer);
  const std::vector<float> x = c.normals(20 * 32);
  std::vector<float> output(x.size());
  layer.forward({x.data(), {1, 20, 32}}, {output.data(), {1, 20, 32}}, {}, c.context());
  c.add(output, reference::encoder_layer(reference_of(drawn), Array({1, 20, 32}, x)), 1e-5);
});
const Row kDecoder("TransformerDecoderLayer", kTransformerShape, "1e-5", [](Case& c) {
  attn::TransformerDecoderLayer layer(kTransformerOptions);
  const auto drawn = draw_parameters(c, layer);
  const std::vector<float> x = c.normals(20 * 32), memory = c.normals(30 * 32);
  std::vector<float> output(x.size());
  layer.forward({x.data(), {1, 20, 32}}, {memory.data(), {1, 30, 32}}, {output.data(), {1, 20, 32}},
                {}, c.context());
  c.add(output,
        reference::decoder_layer(reference_of(drawn), Array({1, 20, 32}, x),
                                 Array({1, 30, 32}, memory)),
        1e-5);
});

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

void measure_pooling(Case& c, const attn::ScoringFunction& scoring, reference::Pooling::Score score,
                     double parameter) {
  const std::vector<float> q = c.normals(20 * 8);
  const std::vector<float> k = c.normals(50 * 8);
  const std::vector<float> v = c.normals(50 * 12);
  std::vector<float> output(20 * 12);
  attn::attention_pooling({q.data(), {20, 8}}, {k.data(), {50, 8}}, {v.data(), {50, 12}},
                          {output.data(), {20, 12}}, scoring, {}, c.context());
  reference::Pooling p;
  p.score = score;
  p.parameter = parameter;
  p.query = Array({20, 8}, q);
  p.key = Array({50, 8}, k);
  p.value = Array({50, 12}, v);
  const auto [exact, bounds] = reference::attention_pooling(p).output;
  c.add(output, exact, bounds);
}

const char* const kPoolingShape = "N 20, K 50, D 8";
const Row kScaledDot("attention_pooling, scaled dot", kPoolingShape, kStagesBound, [](Case& c) {
  measure_pooling(c, attn::ScoringFunction::scaled_dot(0.5F), reference::Pooling::Score::kScaledDot,
                  0.5);
});
const Row kGaussian("attention_pooling, Gaussian", "N 20, K 50, D 8, width 2", kStagesBound,
                    [](Case& c) {
                      measure_pooling(c, attn::ScoringFunction::gaussian(2),
                                      reference::Pooling::Score::kGaussian, 2);
                    });
const Row kEpanechnikov("attention_pooling, Epanechnikov", "N 20, K 50, D 8, width 5", kStagesBound,
                        [](Case& c) {
                          measure_pooling(c, attn::ScoringFunction::epanechnikov(5),
                                          reference::Pooling::Score::kEpanechnikov, 5);
                        });
const Row kBoxcar("attention_pooling, boxcar", "N 20, K 50, D 8, width 4", kStagesBound,
                  [](Case& c) {
                    measure_pooling(c, attn::ScoringFunction::boxcar(4),
                                    reference::Pooling::Score::kBoxcar, 4);
                  });
const Row kAverage("attention_pooling, average", kPoolingShape, kStagesBound, [](Case& c) {
  measure_pooling(c, attn::ScoringFunction::average(), reference::Pooling::Score::kAverage, 1);
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

const Row kBahdanau("BahdanauDecoder, logits", "5 steps, K 20, H 16, 2 layers", "1e-6",
                    [](Case& c) {
                      attn::BahdanauDecoder layer({17, 8, 16, 2});
                      reference::BahdanauDecoder p;
                      p.weights = draw_parameters(c, layer);
                      p.num_layers = 2;
                      const std::vector<float> outputs = c.normals(20 * 16);
                      const std::vector<float> hidden = c.normals(2 * 16, 0.5F);
                      p.encoder_outputs = Array({20, 16}, outputs);
                      p.encoder_len = 20;
                      p.hidden = Array({2, 16}, hidden);
                      p.tokens = {3, 0, 16, 9, 9};
                      std::vector<float> logits(5 * 17);
                      attn::BahdanauDecoder::State state =
                          layer.init_state({outputs.data(), {1, 20, 16}},
                                           {hidden.data(), {2, 1, 16}}, {}, c.context());
                      layer.forward(attn::TensorView<const std::int64_t>(p.tokens.data(), {1, 5}),
                                    state, {logits.data(), {1, 5, 17}}, {}, c.context());
                      c.add(logits, reference::bahdanau_decoder(p).logits, 1e-6);
                    });

}  // namespace
}  // namespace accuracy
