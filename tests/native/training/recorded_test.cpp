// Compares the references with PyTorch in double precision: values and gradients of single
// operations, and whole training runs.

#include "training/recorded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gradient_check.hpp"
#include "reference/activation.hpp"
#include "reference/conv1d.hpp"
#include "reference/embedding.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/loss.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/optimizer.hpp"
#include "reference/recurrent.hpp"
#include "reference/rms_norm.hpp"
#include "reference/transformer.hpp"

namespace {

using attn_test::Arrays;
using attn_test::RecordedArrays;
using attn_test::Trajectories;
using attn_test::Trajectory;
using reference::Array;
using reference::ArrayOf;
using reference::Scalar;

/// True if `got` equals the recorded numbers, which are rounded to float32.
::testing::AssertionResult is_recorded(const Array& got, const Array& recorded, double relative) {
  if (got.shape != recorded.shape) return ::testing::AssertionFailure() << "another shape";
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double want = recorded.values[i];
    if (std::abs(got.values[i] - want) <= relative * std::max(std::abs(want), 1e-7)) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << got.values[i] << ", recorded " << want;
  }
  return ::testing::AssertionSuccess();
}

/// Compares the outputs that f computes from the inputs, and their gradients, with the record. f
/// names each output as the record does.
template <class F>
void expect_recorded(const std::string& operation, F&& f) {
  SCOPED_TRACE(operation);
  const attn_test::RecordedGradient recorded = attn_test::recorded_gradient(operation);
  ASSERT_FALSE(recorded.inputs.empty());
  reference::Tape tape;
  const Arrays<Scalar> inputs = tape.variables(recorded.inputs);
  Scalar total = 0;
  const Arrays<Scalar> outputs = f(inputs);
  ASSERT_EQ(outputs.size(), recorded.outputs.size());
  for (const auto& [name, output] : outputs) {
    EXPECT_TRUE(is_recorded(plain(output), recorded.outputs.at(name), 1e-6)) << "output " << name;
    total += inner(output, recorded.output_gradients.at(name));
  }
  tape.backward(total);
  for (const auto& [name, gradient] : tape.gradient(inputs)) {
    EXPECT_TRUE(is_recorded(gradient.exact, recorded.gradients.at(name), 1e-6)) << name;
  }
}

TEST(RecordedTest, norms) {
  expect_recorded("layer_norm", [](const Arrays<Scalar>& in) {
    return Arrays<Scalar>{
        {"0", reference::layer_norm(in.at("x"), in.at("weight"), in.at("bias"), 1e-5)}};
  });
  expect_recorded("rms_norm", [](const Arrays<Scalar>& in) {
    return Arrays<Scalar>{{"0", reference::rms_norm(in.at("x"), in.at("weight"), 1e-6)}};
  });
}

TEST(RecordedTest, activations) {
  for (const auto& [name, activation] : {std::pair{"relu", attn::Activation::kRelu},
                                         {"gelu", attn::Activation::kGelu},
                                         {"gelu_tanh", attn::Activation::kGeluTanh},
                                         {"silu", attn::Activation::kSilu}}) {
    expect_recorded(name, [f = activation](const Arrays<Scalar>& in) {
      ArrayOf<Scalar> y = in.at("x");
      for (Scalar& value : y.values) value = activate(f, value);
      return Arrays<Scalar>{{"0", y}};
    });
  }
}

TEST(RecordedTest, recurrent_layers) {
  for (const auto& [name, cell] :
       {std::pair{"gru", reference::Cell::kGru}, std::pair{"rnn_relu", reference::Cell::kRelu}}) {
    expect_recorded(name, [cell = cell](const Arrays<Scalar>& in) {
      std::vector<reference::RecurrentLayerOf<Scalar>> layers;
      for (const std::string layer : {"_l0", "_l1"}) {
        layers.push_back({in.at("weight_ih" + layer), in.at("weight_hh" + layer),
                          in.at("bias_ih" + layer), in.at("bias_hh" + layer)});
      }
      const auto result = reference::recurrent(cell, layers, in.at("x"), in.at("h_0"));
      return Arrays<Scalar>{{"0", result.output.exact}, {"1", result.h_n.exact}};
    });
  }
}

TEST(RecordedTest, conv1d) {
  expect_recorded("conv1d", [](const Arrays<Scalar>& in) {
    return Arrays<Scalar>{
        {"0", reference::conv1d(in.at("x"), in.at("weight"), in.at("bias"), 2, 1, 1, 2).exact}};
  });
}

/// Rows [first, first + count) of a matrix or elements of a vector.
ArrayOf<Scalar> rows(const ArrayOf<Scalar>& all, std::int64_t first, std::int64_t count) {
  ArrayOf<Scalar> result = all;
  const std::int64_t width = all.shape.size() == 1 ? 1 : all.size(1);
  result.shape[0] = count;
  result.values.assign(all.values.begin() + first * width,
                       all.values.begin() + (first + count) * width);
  return result;
}

TEST(RecordedTest, multi_head_attention_with_its_weights) {
  expect_recorded("multi_head_attention", [](const Arrays<Scalar>& in) {
    const ArrayOf<Scalar>& weight = in.at("in_proj_weight");
    const ArrayOf<Scalar>& bias = in.at("in_proj_bias");
    const reference::MultiHeadAttentionOf<Scalar> p{2,
                                                    2,
                                                    rows(weight, 0, 6),
                                                    rows(weight, 6, 6),
                                                    rows(weight, 12, 6),
                                                    in.at("out_proj.weight"),
                                                    rows(bias, 0, 6),
                                                    rows(bias, 6, 6),
                                                    rows(bias, 12, 6),
                                                    in.at("out_proj.bias")};
    reference::AttentionOf<Scalar> options;
    options.key_lens = Array({2}, std::vector{5, 2});
    const auto result =
        reference::multi_head_attention(p, in.at("query"), in.at("key"), in.at("value"), options);
    return Arrays<Scalar>{{"0", result.output.exact}, {"1", result.attention.weights}};
  });
}

TEST(RecordedTest, decoder_layers) {
  for (const bool norm_first : {false, true}) {
    expect_recorded(
        norm_first ? "decoder_layer_pre" : "decoder_layer_post", [&](const Arrays<Scalar>& in) {
          const reference::TransformerLayerOf<Scalar> layer{
              in, 2, 2, attn::Activation::kGelu, 1e-5, norm_first};
          reference::AttentionOf<Scalar> causal;
          causal.causal_offset = Array({1}, 0);
          return Arrays<Scalar>{
              {"0", reference::decoder_layer(layer, in.at("x"), in.at("memory"), causal)}};
        });
  }
}

TEST(RecordedTest, losses) {
  const auto of_one = [](Scalar x) {
    ArrayOf<Scalar> result;  // PyTorch's shape of a scalar
    result.values = {x};
    return Arrays<Scalar>{{"0", result}};
  };
  for (const auto& [name, smoothing] :
       {std::pair{"cross_entropy_0.0", 0.0}, std::pair{"cross_entropy_0.125", 0.125}}) {
    expect_recorded(name, [&, s = smoothing](const Arrays<Scalar>& in) {
      return of_one(reference::cross_entropy({{3, -100, 0, 4, 3}, -100, s}, in.at("logits")));
    });
  }
  expect_recorded("mse", [&](const Arrays<Scalar>& in) {
    return of_one(reference::mean_squared_error(in.at("x"), in.at("target")));
  });
}

/// The loss of one training step of the recorded GPT.
Scalar gpt_loss(const Arrays<Scalar>& in, const std::vector<std::int64_t>& inputs,
                const std::vector<std::int64_t>& targets) {
  constexpr std::int64_t kBatch = Trajectories::kBatch, kLength = Trajectories::kLength,
                         kWidth = Trajectories::kWidth;
  ArrayOf<Scalar> x = reference::embedding(in.at("embedding.weight"), inputs);
  x.shape = {kBatch, kLength, kWidth};
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t i = 0; i < kLength; ++i) {
      for (std::int64_t c = 0; c < kWidth; ++c) {
        x.at({b, i, c}) += in.at("positions.weight").at({i, c});
      }
    }
  }
  reference::AttentionOf<Scalar> causal;
  causal.causal_offset = Array({1}, 0);
  for (std::int64_t l = 0; l < Trajectories::kLayers; ++l) {
    const std::string prefix = "encoder.layers." + std::to_string(l) + ".";
    reference::TransformerLayerOf<Scalar> layer{
        {}, Trajectories::kHeads, Trajectories::kHeads, attn::Activation::kGelu, 1e-5, true};
    for (const auto& [name, weight] : in) {
      if (name.starts_with(prefix)) layer.weights[name.substr(prefix.size())] = weight;
    }
    x = reference::encoder_layer(layer, x, causal);
  }
  x = reference::layer_norm(x, in.at("encoder.norm.weight"), in.at("encoder.norm.bias"), 1e-5);
  ArrayOf<Scalar> logits = reference::linear<Scalar>({x, {}}, in.at("embedding.weight")).exact;
  logits.shape = {kBatch * kLength, Trajectories::kVocabulary};
  return reference::cross_entropy({targets}, logits);
}

template <class Optimizer>
void expect_trajectory(const std::string& name, Optimizer optimizer) {
  SCOPED_TRACE(name);
  const Trajectories recorded = attn_test::recorded_trajectories();
  const Trajectory& run = recorded.runs.at(name);
  reference::Parameters parameters = recorded.initial;
  Array losses({Trajectories::kSteps}), norms({Trajectories::kSteps});
  for (std::int64_t step = 0; step < Trajectories::kSteps; ++step) {
    reference::Tape tape;
    const Arrays<Scalar> in = tape.variables(parameters);
    const Scalar loss = gpt_loss(in, recorded.inputs(step), recorded.targets(step));
    tape.backward(loss);
    reference::Parameters gradients;
    for (const auto& [key, gradient] : tape.gradient(in)) gradients[key] = gradient.exact;
    losses.at({step}) = loss.value();
    norms.at({step}) = reference::clip_grad_norm(gradients, Trajectories::kMaxNorm);
    optimizer.step(parameters, gradients);
  }
  EXPECT_TRUE(is_recorded(losses, run.losses, 1e-6));
  EXPECT_TRUE(is_recorded(norms, run.norms, 1e-6));
  ASSERT_EQ(parameters.size(), run.parameters.size());
  for (const auto& [key, parameter] : parameters) {
    EXPECT_TRUE(is_recorded(parameter, run.parameters.at(key), 1e-6)) << key;
  }
}

TEST(RecordedTest, training_with_sgd) {
  expect_trajectory("sgd", reference::Sgd{.lr = 0.1, .momentum = 0.9});
  expect_trajectory(
      "sgd_weight_decay",
      reference::Sgd{.lr = 0.1, .momentum = 0.9, .dampening = 0.5, .weight_decay = 0.01});
  expect_trajectory(
      "sgd_nesterov",
      reference::Sgd{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
}

TEST(RecordedTest, training_with_adam_and_adamw) {
  expect_trajectory("adam", reference::Adam{.lr = 0.005});
  expect_trajectory(
      "adamw", reference::Adam{.lr = 0.005, .beta2 = 0.95, .weight_decay = 0.1, .decoupled = true});
}

}  // namespace
