// Compares the references' gradients with finite differences or, where a derivative does not exist,
// with the documented values. Other tests compare the core's gradients with the references'
// gradients.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compare.hpp"
#include "gradient_check.hpp"
#include "random.hpp"
#include "reference/activation.hpp"
#include "reference/attention.hpp"
#include "reference/attention_pooling.hpp"
#include "reference/bahdanau_decoder.hpp"
#include "reference/conv1d.hpp"
#include "reference/embedding.hpp"
#include "reference/feed_forward.hpp"
#include "reference/layer_norm.hpp"
#include "reference/linear.hpp"
#include "reference/loss.hpp"
#include "reference/masked_softmax.hpp"
#include "reference/multi_head_attention.hpp"
#include "reference/recurrent.hpp"
#include "reference/rms_norm.hpp"
#include "reference/rotary_embedding.hpp"
#include "reference/transformer.hpp"

namespace {

using attn_test::Arrays;
using attn_test::expect_gradients;
using attn_test::kInfinity;
using attn_test::Random;
using reference::Array;
using reference::ArrayOf;
using reference::Scalar;
using ::testing::Each;

class ReferenceGradientTest : public ::testing::Test {
 protected:
  Array normals(std::vector<std::int64_t> shape, float deviation = 1) {
    Array result(std::move(shape));
    for (double& value : result.values) value = random.normal(deviation);
    return result;
  }

  Random random;
};

/// Returns the array `name`, or an omitted array if there is none.
template <class T>
ArrayOf<T> find(const Arrays<T>& arrays, const std::string& name) {
  const auto found = arrays.find(name);
  return found == arrays.end() ? ArrayOf<T>() : found->second;
}

/// Concatenates the elements of `a` and `b`.
template <class T>
ArrayOf<T> joined(const ArrayOf<T>& a, const ArrayOf<T>& b) {
  ArrayOf<T> result({static_cast<std::int64_t>(a.values.size() + b.values.size())});
  std::copy(a.values.begin(), a.values.end(), result.values.begin());
  std::copy_backward(b.values.begin(), b.values.end(), result.values.end());
  return result;
}

template <class T>
ArrayOf<T> of_one(T x) {
  return ArrayOf<T>({1}, x);
}

TEST_F(ReferenceGradientTest, differences_are_exact_to_nine_digits) {
  const std::vector<double> x{0.3, -1.7, 200, 1e-9};
  const auto f = [](const std::vector<double>& v) {
    return std::sin(v[0]) * std::exp(v[1]) + v[2] * v[2] * v[2] / 6e4 + std::tanh(3 * v[3]);
  };
  const std::vector<double> got = attn_test::differences(f, x);
  EXPECT_NEAR(got[0], std::cos(0.3) * std::exp(-1.7), 1e-10);
  EXPECT_NEAR(got[1], std::sin(0.3) * std::exp(-1.7), 1e-10);
  EXPECT_NEAR(got[2], 2, 1e-10);
  EXPECT_NEAR(got[3], 3, 1e-9);
}

TEST_F(ReferenceGradientTest, numbers) {
  expect_gradients(
      {{"a", Array({2}, std::vector{1.3, 0.6})}, {"b", Array({2}, std::vector{-0.7, 2.1})}}, random,
      []<class T>(const Arrays<T>& in) {
        const T a = in.at("a").values[0], b = in.at("b").values[0];
        using std::sqrt, std::log, std::exp, std::erfc, std::tanh, reference::sigmoid;
        T sum = in.at("a").values[1];
        sum *= a;
        sum -= b / a;
        sum /= 2 + b;
        reference::Sum<T> products;
        products.add(a, a);
        products.add(b, 3);
        products.add(in.at("b").values[1]);
        return ArrayOf<T>({8}, std::vector<T>{sum, sqrt(a), log(a * a), -exp(b), erfc(a),
                                              tanh(a - b), sigmoid(b), products.total()});
      });
}

TEST_F(ReferenceGradientTest, activations) {
  Array x = normals({40}, 3);
  x.values[0] = -11;
  x.values[1] = 30;
  for (double& value : x.values) {
    if (std::abs(value) < 0.01) value = 0.01;
  }
  for (const attn::Activation activation : reference::kActivations) {
    SCOPED_TRACE(static_cast<int>(activation));
    expect_gradients({{"x", x}}, random, [&]<class T>(const Arrays<T>& in) {
      ArrayOf<T> y = in.at("x");
      for (T& value : y.values) value = reference::activate(activation, value);
      return y;
    });
  }
}

TEST_F(ReferenceGradientTest, relu_has_slope_0_at_0) {
  reference::Tape tape;
  const ArrayOf<Scalar> x = tape.variables(Array({4}, std::vector{0.0, -0.0, -1.0, 2.0}));
  Scalar sum = 0;
  for (const Scalar& value : x.values) sum += reference::activate(attn::Activation::kRelu, value);
  tape.backward(sum);
  EXPECT_THAT(tape.gradient(x).exact.values, ::testing::ElementsAre(0, 0, 0, 1));
}

TEST_F(ReferenceGradientTest, slopes_far_from_0_are_finite) {
  for (const double far : {-1e4, -300.0, 300.0, 1e4}) {
    for (const auto activation :
         {attn::Activation::kGelu, attn::Activation::kGeluTanh, attn::Activation::kSilu}) {
      reference::Tape tape;
      const Scalar x = tape.variable(far);
      tape.backward(reference::activate(activation, x));
      EXPECT_NEAR(tape.gradient(x).exact.values[0], far < 0 ? 0 : 1, 1e-100);
    }
  }
}

TEST_F(ReferenceGradientTest, linear) {
  Arrays<double> inputs{{"x", normals({2, 3, 5})}, {"weight", normals({4, 5})}};
  const auto f = []<class T>(const Arrays<T>& in) {
    return reference::linear<T>({in.at("x"), {}}, in.at("weight"), find(in, "bias")).exact;
  };
  expect_gradients(inputs, random, f);
  inputs["bias"] = normals({4});
  expect_gradients(inputs, random, f);
}

TEST_F(ReferenceGradientTest, norms) {
  for (const std::int64_t width : {1, 2, 7}) {
    Arrays<double> inputs{{"x", normals({3, width})}};
    const auto layer = []<class T>(const Arrays<T>& in) {
      return reference::layer_norm(in.at("x"), find(in, "weight"), find(in, "bias"), 1e-2);
    };
    const auto rms = []<class T>(const Arrays<T>& in) {
      return reference::rms_norm(in.at("x"), find(in, "weight"), 1e-2);
    };
    expect_gradients(inputs, random, layer);
    expect_gradients(inputs, random, rms);
    inputs["weight"] = normals({width});
    expect_gradients(inputs, random, rms);
    inputs["bias"] = normals({width});
    expect_gradients(inputs, random, layer);
  }
}

TEST_F(ReferenceGradientTest, feed_forward_networks) {
  const Arrays<double> plain{{"x", normals({2, 2, 3})},
                             {"weight1", normals({5, 3})},
                             {"bias1", normals({5})},
                             {"weight2", normals({3, 5})},
                             {"bias2", normals({3})}};
  expect_gradients(plain, random, []<class T>(const Arrays<T>& in) {
    return reference::feed_forward<T>({attn::Activation::kGelu, in.at("weight1"), in.at("bias1"),
                                       in.at("weight2"), in.at("bias2")},
                                      in.at("x"));
  });
  const Arrays<double> gated{{"x", normals({2, 3})},
                             {"gate", normals({5, 3})},
                             {"up", normals({5, 3})},
                             {"down", normals({3, 5})}};
  for (const auto activation : {attn::Activation::kSilu, attn::Activation::kGelu}) {
    expect_gradients(gated, random, [&]<class T>(const Arrays<T>& in) {
      return reference::gated_feed_forward<T>(
          {activation, in.at("gate"), in.at("up"), in.at("down")}, in.at("x"));
    });
  }
}

TEST_F(ReferenceGradientTest, embedding_sums_the_gradients_of_repeated_uses) {
  expect_gradients({{"table", normals({4, 3})}}, random, []<class T>(const Arrays<T>& in) {
    const ArrayOf<T> x = reference::embedding(in.at("table"), {2, 0, 2, 3});
    return reference::linear<T>({x, {}}, in.at("table")).exact;  // the table as an output layer
  });
}

TEST_F(ReferenceGradientTest, masked_softmax) {
  Array x = normals({3, 5});
  // In the first row no element takes part, in the second row exactly one takes part, and in the
  // third row the excluded element is infinite.
  std::vector<bool> taking_part{false, false, false, false, false, false, false, true,
                                false, false, true,  true,  false, true,  true};
  x.values[12] = kInfinity;
  expect_gradients({{"x", x}}, random, [&]<class T>(const Arrays<T>& in) {
    ArrayOf<T> scores = in.at("x");
    scores.values[14] = -kInfinity;
    return reference::masked_softmax(scores, taking_part).exact;
  });
}

/// All attention arguments that have a gradient.
template <class T>
reference::AttentionOf<T> attention_of(const Arrays<T>& in,
                                       const reference::AttentionRules& rules) {
  return {rules,
          find(in, "query"),
          find(in, "key"),
          find(in, "value"),
          find(in, "bias"),
          find(in, "relative_keys"),
          find(in, "relative_values"),
          find(in, "alibi_slopes"),
          find(in, "t5_table"),
          find(in, "sinks")};
}

class AttentionReferenceGradientTest : public ReferenceGradientTest {
 protected:
  void check() {
    expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
      return reference::attention(attention_of(in, rules)).output;
    });
    expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
      return reference::attention(attention_of(in, rules)).weights;
    });
  }

  Arrays<double> inputs{{"query", normals({2, 4, 3, 3})},
                        {"key", normals({2, 2, 5, 3})},
                        {"value", normals({2, 2, 5, 2})}};
  reference::AttentionRules rules;
};

TEST_F(AttentionReferenceGradientTest, queries_keys_and_values_with_softcap_and_scale) {
  check();
  rules.scale = 0.7;
  rules.softcap = 1.5;
  check();
}

TEST_F(AttentionReferenceGradientTest, excluded_keys) {
  rules.causal_offset = Array({2}, std::vector{-1, 1});  // query 0 of entry 0 attends to nothing
  check();
  rules.mask = Array({2, 1, 1, 5}, std::vector{1, 0, 1, 1, 0, 1, 1, 1, 0, 1});
  rules.window_left = 2;
  rules.window_right = 1;
  check();
  rules = {};
  rules.valid_lens = Array({2, 3}, std::vector{0, 2, 5, 1, 0, 4});
  rules.key_lens = Array({2}, std::vector{4, 3});
  check();
  inputs["sinks"] = normals({4});
  check();
}

TEST_F(AttentionReferenceGradientTest, bias_of_every_broadcast_shape) {
  for (int shape = 0; shape < 8; ++shape) {
    SCOPED_TRACE(shape);
    Array& bias = inputs["bias"] =
        normals({shape & 1 ? 2 : 1, shape & 2 ? 4 : 1, shape & 4 ? 3 : 1, 5});
    expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
      reference::AttentionOf<T> p = attention_of(in, rules);
      for (std::size_t i = 1; i < p.bias.values.size(); i += 4) p.bias.values[i] = -kInfinity;
      return reference::attention(p).output;
    });
    bias = Array({5});  // and one of rank 1
  }
  check();
}

TEST_F(AttentionReferenceGradientTest, terms_by_distance_dropout_and_sinks) {
  for (const std::int64_t tables : {1, 4}) {
    inputs["relative_keys"] = normals({tables, 5, 3});
    inputs["relative_values"] = normals({tables, 5, 2});
    inputs["alibi_slopes"] = normals({4}, 0.3F);
    inputs["t5_table"] = normals({8, 4});
    inputs["sinks"] = normals({4});
    rules.softcap = 3;
    rules.causal_offset = rules.relative_offset = Array({1}, 2);
    rules.kept = Array({2, 4, 3, 5});
    for (double& kept : rules.kept.values) kept = random.chance(0.7) ? 1 / 0.7 : 0;
    expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
      return reference::attention(attention_of(in, rules)).output;
    });
  }
}

TEST_F(AttentionReferenceGradientTest, log_sum_exp_and_scores) {
  inputs["sinks"] = normals({4});
  rules.causal_offset = Array({1}, 0);
  expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
    return reference::attention(attention_of(in, rules)).log_sum_exp;
  });
  rules = {};
  rules.softcap = 2;
  expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
    const reference::AttentionResultOf<T> result = reference::attention(attention_of(in, rules));
    return joined(result.scaled_scores, joined(result.capped_scores, result.biased_scores));
  });
}

TEST_F(AttentionReferenceGradientTest, nan_in_excluded_inputs_reaches_no_gradient) {
  reference::Attention p = attention_of(inputs, rules);
  p.valid_lens = Array({2}, 3);
  for (std::int64_t d = 0; d < 3; ++d) p.key.at({0, 1, 4, d}) = NAN;
  for (std::int64_t d = 0; d < 2; ++d) p.value.at({1, 0, 3, d}) = NAN;
  reference::Tape tape;
  const reference::AttentionOf<Scalar> in = variables(tape, p);
  const reference::AttentionResultOf<Scalar> result = reference::attention(in);
  tape.backward(reference::inner(result.output, normals(result.output.shape)));
  for (const ArrayOf<Scalar>* of : {&in.query, &in.key, &in.value, &result.biased_scores}) {
    const reference::Bounded gradient = tape.gradient(*of);
    for (std::size_t i = 0; i < gradient.exact.values.size(); ++i) {
      ASSERT_TRUE(std::isfinite(gradient.exact.values[i]));
      ASSERT_TRUE(std::isfinite(gradient.error.values[i]));
    }
  }
  EXPECT_EQ(tape.gradient(in.key).exact.at({0, 1, 4, 0}), 0);
  EXPECT_EQ(tape.gradient(result.biased_scores).exact.at({0, 0, 0, 3}), 0);
  EXPECT_NE(tape.gradient(result.biased_scores).exact.at({0, 0, 0, 2}), 0);
}

TEST_F(ReferenceGradientTest, multi_head_attention) {
  const Arrays<double> inputs{
      {"query", normals({2, 3, 4})},      {"key", normals({2, 5, 3})},
      {"value", normals({2, 5, 2})},      {"q_proj_weight", normals({4, 4})},
      {"k_proj_weight", normals({2, 3})}, {"v_proj_weight", normals({2, 2})},
      {"q_bias", normals({4})},           {"k_bias", normals({2})},
      {"v_bias", normals({2})},           {"out_proj.weight", normals({4, 4})},
      {"out_proj.bias", normals({4})}};
  expect_gradients(inputs, random, []<class T>(const Arrays<T>& in) {
    const reference::MultiHeadAttentionOf<T> p{2,
                                               1,
                                               in.at("q_proj_weight"),
                                               in.at("k_proj_weight"),
                                               in.at("v_proj_weight"),
                                               in.at("out_proj.weight"),
                                               in.at("q_bias"),
                                               in.at("k_bias"),
                                               in.at("v_bias"),
                                               in.at("out_proj.bias")};
    reference::AttentionOf<T> options;
    options.valid_lens = Array({2}, std::vector{0, 4});
    return reference::multi_head_attention(p, in.at("query"), in.at("key"), in.at("value"), options)
        .output.exact;
  });
}

/// The parameters of a layer of width 4, with `kv` heads of two columns for keys and values.
class TransformerReferenceGradientTest : public ReferenceGradientTest {
 protected:
  void add_attention(const std::string& name, std::int64_t kv) {
    if (kv == 2) {
      inputs[name + ".in_proj_weight"] = normals({12, 4}, 0.5F);
    } else {
      inputs[name + ".q_proj_weight"] = normals({4, 4}, 0.5F);
      inputs[name + ".k_proj_weight"] = normals({2, 4}, 0.5F);
      inputs[name + ".v_proj_weight"] = normals({2, 4}, 0.5F);
    }
    inputs[name + ".in_proj_bias"] = normals({4 + 4 * kv}, 0.3F);
    inputs[name + ".out_proj.weight"] = normals({4, 4}, 0.5F);
    inputs[name + ".out_proj.bias"] = normals({4}, 0.3F);
  }

  void add_layer(int norms) {
    inputs["linear1.weight"] = normals({5, 4}, 0.5F);
    inputs["linear1.bias"] = normals({5}, 0.3F);
    inputs["linear2.weight"] = normals({4, 5}, 0.5F);
    inputs["linear2.bias"] = normals({4}, 0.3F);
    for (int i = 1; i <= norms; ++i) {
      inputs["norm" + std::to_string(i) + ".weight"] = normals({4});
      inputs["norm" + std::to_string(i) + ".bias"] = normals({4});
    }
  }

  template <class T>
  static reference::TransformerLayerOf<T> layer(const Arrays<T>& in, std::int64_t kv,
                                                bool norm_first) {
    return {in, 2, kv, attn::Activation::kGeluTanh, 1e-2, norm_first};
  }

  Arrays<double> inputs;
};

TEST_F(TransformerReferenceGradientTest, encoder) {
  for (const std::int64_t kv : {2, 1}) {
    for (const bool norm_first : {false, true}) {
      inputs = {{"x", normals({2, 3, 4})}};
      add_attention("self_attn", kv);
      add_layer(2);
      expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
        reference::AttentionOf<T> options;
        options.key_lens = Array({2}, std::vector{2, 0});
        ArrayOf<T> weights;
        const ArrayOf<T> y =
            reference::encoder_layer(layer(in, kv, norm_first), in.at("x"), options, &weights);
        return joined(y, weights);
      });
    }
  }
}

TEST_F(TransformerReferenceGradientTest, decoder_and_its_memory) {
  for (const bool norm_first : {false, true}) {
    inputs = {{"x", normals({2, 3, 4})}, {"memory", normals({2, 2, 4})}};
    add_attention("self_attn", 2);
    add_attention("multihead_attn", 2);
    add_layer(3);
    expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
      reference::AttentionOf<T> causal, padded;
      causal.causal_offset = Array({1}, 0);
      padded.key_lens = Array({2}, std::vector{2, 1});
      return reference::decoder_layer(layer(in, 2, norm_first), in.at("x"), in.at("memory"), causal,
                                      padded);
    });
  }
}

TEST_F(ReferenceGradientTest, conv1d) {
  Arrays<double> inputs{{"x", normals({7, 2})}, {"weight", normals({3, 2, 3})}};
  const auto f = []<class T>(const Arrays<T>& in) {
    return joined(
        reference::conv1d(in.at("x"), in.at("weight"), find(in, "bias"), 2, 1, 0, 2).exact,
        reference::conv1d(in.at("x"), in.at("weight"), find(in, "bias"), 1, 3, 2, 1).exact);
  };
  expect_gradients(inputs, random, f);
  inputs["bias"] = normals({3});
  expect_gradients(inputs, random, f);
}

TEST_F(ReferenceGradientTest, recurrent_layers) {
  for (const reference::Cell cell :
       {reference::Cell::kTanh, reference::Cell::kRelu, reference::Cell::kGru}) {
    const std::int64_t gates = cell == reference::Cell::kGru ? 3 : 1;
    for (const bool biases : {false, true}) {
      // Near 0, finite differences of ReLU do not equal its derivative. With biases, small weights
      // keep ReLU's argument away from 0.
      if (cell == reference::Cell::kRelu && !biases) continue;
      const float deviation = cell == reference::Cell::kRelu ? 0.05F : 0.5F;
      Arrays<double> inputs{{"x", normals({4, 3}, 0.5F)},
                            {"weight_ih_l0", normals({gates * 2, 3}, deviation)},
                            {"weight_hh_l0", normals({gates * 2, 2}, deviation)},
                            {"weight_ih_l1", normals({gates * 2, 2}, deviation)},
                            {"weight_hh_l1", normals({gates * 2, 2}, deviation)}};
      if (biases) {
        for (const char* layer : {"0", "1"}) {
          inputs[std::string("bias_ih_l") + layer] = normals({gates * 2});
          inputs[std::string("bias_hh_l") + layer] = normals({gates * 2});
          if (cell != reference::Cell::kRelu) continue;
          inputs[std::string("bias_ih_l") + layer].values = {8, -9};
        }
        inputs["h_0"] = normals({2, 2});
      }
      expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
        std::vector<reference::RecurrentLayerOf<T>> layers;
        for (const std::string suffix : {"_l0", "_l1"}) {
          layers.push_back({in.at("weight_ih" + suffix), in.at("weight_hh" + suffix),
                            find(in, "bias_ih" + suffix), find(in, "bias_hh" + suffix)});
        }
        const auto result = reference::recurrent(cell, layers, in.at("x"), find(in, "h_0"));
        return joined(result.output.exact, result.h_n.exact);
      });
    }
  }
}

TEST_F(ReferenceGradientTest, attention_pooling_and_the_width_of_its_kernels) {
  using Score = reference::PoolingScore;
  for (const Score score : {Score::kScaledDot, Score::kGaussian, Score::kBoxcar,
                            Score::kEpanechnikov, Score::kAverage, Score::kAdditive}) {
    SCOPED_TRACE(static_cast<int>(score));
    // No distance is 0 or near 1.5, because the kernels have no derivative there.
    Arrays<double> inputs{{"query", Array({3, 1}, std::vector{0.1, 1.3, -7.0})},
                          {"key", Array({5, 1}, std::vector{0.2, 1.0, -0.9, 2.2, 0.6})},
                          {"value", normals({5, 2})},
                          {"parameter", Array({1}, 1.5)}};
    if (score == Score::kAdditive) {
      inputs["query_weight"] = normals({4, 1});
      inputs["key_weight"] = normals({4, 1});
      inputs["score_weight"] = normals({1, 4});
    }
    for (const bool hard : {false, true}) {
      // Random scores may be almost equal, and at a tie hard attention jumps from one key to
      // another.
      if (hard && score == Score::kAdditive) continue;
      expect_gradients(inputs, random, [&]<class T>(const Arrays<T>& in) {
        const reference::PoolingOf<T> p{score,
                                        in.at("parameter").values[0],
                                        hard,
                                        in.at("query"),
                                        in.at("key"),
                                        in.at("value"),
                                        find(in, "query_weight"),
                                        find(in, "key_weight"),
                                        find(in, "score_weight"),
                                        [](std::int64_t i, std::int64_t j) { return i + j != 3; }};
        const reference::PoolingResultOf<T> result = reference::attention_pooling(p);
        return joined(result.output.exact, result.weights.exact);
      });
    }
  }
}

TEST_F(ReferenceGradientTest, distance_of_0_has_slope_0) {
  reference::Pooling p;
  p.score = reference::PoolingScore::kEpanechnikov;
  p.query = Array({1, 2}, 0.5);
  p.key = Array({2, 2}, std::vector{0.5, 0.5, 0.3, 0.9});
  p.value = normals({2, 1});
  reference::Tape tape;
  const reference::PoolingOf<Scalar> in = variables(tape, p);
  tape.backward(reference::attention_pooling(in).weights.exact.at({0, 0}));
  const Array gradient = tape.gradient(in.key).exact;
  EXPECT_EQ(gradient.at({0, 0}), 0);
  EXPECT_TRUE(std::isfinite(gradient.at({1, 0})) && gradient.at({1, 0}) != 0);
}

TEST_F(ReferenceGradientTest, rotary_embedding) {
  for (const bool interleaved : {false, true}) {
    for (const bool inverse : {false, true}) {
      expect_gradients({{"x", normals({2, 2, 3, 7})}}, random, [&]<class T>(const Arrays<T>& in) {
        return reference::rotary_embedding(
                   reference::RotaryEmbeddingOf<T>{in.at("x"),
                                                   {0, 7, -3, 5, 1000, 2.5},
                                                   reference::rotary_frequencies({.dim = 6}),
                                                   interleaved,
                                                   1.2,
                                                   inverse})
            .exact;
      });
    }
  }
}

TEST_F(ReferenceGradientTest, bahdanau_decoder) {
  Arrays<double> inputs{
      {"encoder_outputs", normals({4, 3})},      {"hidden", normals({2, 3})},
      {"embedding.weight", normals({5, 2})},     {"attention.W_q.weight", normals({3, 3})},
      {"attention.W_k.weight", normals({3, 3})}, {"attention.w_v.weight", normals({1, 3})},
      {"dense.weight", normals({5, 3})},         {"dense.bias", normals({5})}};
  for (const auto& [layer, width] : {std::pair{"0", 5}, std::pair{"1", 3}}) {
    inputs[std::string("rnn.weight_ih_l") + layer] = normals({9, width}, 0.5F);
    inputs[std::string("rnn.weight_hh_l") + layer] = normals({9, 3}, 0.5F);
    inputs[std::string("rnn.bias_ih_l") + layer] = normals({9}, 0.5F);
    inputs[std::string("rnn.bias_hh_l") + layer] = normals({9}, 0.5F);
  }
  expect_gradients(inputs, random, []<class T>(const Arrays<T>& in) {
    const reference::BahdanauResultOf<T> result =
        reference::bahdanau_decoder(reference::BahdanauDecoderOf<T>{
            in, 2, in.at("encoder_outputs"), 3, in.at("hidden"), {1, 4, 1}});
    return joined(result.logits, result.alignment);
  });
}

TEST_F(ReferenceGradientTest, losses) {
  const Arrays<double> inputs{{"logits", normals({4, 5}, 3)}, {"target", normals({4, 5})}};
  expect_gradients(inputs, random, []<class T>(const Arrays<T>& in) {
    return of_one(reference::mean_squared_error(in.at("logits"), in.at("target")));
  });
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    expect_gradients({{"logits", inputs.at("logits")}}, random, [&]<class T>(const Arrays<T>& in) {
      return of_one(reference::cross_entropy({{3, -100, 0, 3}, -100, smoothing}, in.at("logits")));
    });
  }
}

TEST_F(ReferenceGradientTest, cross_entropy_of_any_size_of_logits) {
  reference::Tape tape;
  const ArrayOf<Scalar> logits = tape.variables(Array({1, 3}, std::vector{1e30, -1e30, 0.0}));
  const Scalar loss = reference::cross_entropy({{0}}, logits);
  EXPECT_EQ(loss.value(), 0);
  tape.backward(loss);
  EXPECT_THAT(tape.gradient(logits).exact.values, Each(0));
}

}  // namespace
