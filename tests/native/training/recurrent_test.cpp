// Tests recurrent layers on a tape. Outputs must be bit-identical to the outputs without a tape,
// and gradients must match the analytic reference in double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/layers/gru.hpp"
#include "attn/layers/rnn.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/functions.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/recurrent_case.hpp"
#include "reference/scalar.hpp"
#include "training/close.hpp"
#include "training/gradients.hpp"
#include "training/values.hpp"

namespace {

using attn::ConstTensor;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::expect_close;
using attn_test::is_within;
using attn_test::Random;
using attn_test::RecurrentParameters;
using attn_test::same_bits;
using attn_test::uniform_tensor;
using attn_test::values;
using reference::ArrayOf;
using reference::Scalar;
using ::testing::ElementsAre;

using TapedRecurrentTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedRecurrentTest);

reference::Array array_of(const std::vector<float>& values, std::vector<std::int64_t> shape) {
  return reference::Array(std::move(shape), values);
}

void add_to(std::vector<double>& sum, const std::vector<double>& more) {
  sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

template <class Layer>
void expect_gradients_of_the_reference(const Layer& layer, reference::Cell cell,
                                       const RecurrentParameters& parameters, std::int64_t batch,
                                       std::int64_t steps, bool with_state, Random& random,
                                       attn::Context& context) {
  const attn::RecurrentOptions& o = layer.options();
  const OwnedTensor x = uniform_tensor({batch, steps, o.input_size}, random);
  const OwnedTensor h_0 = uniform_tensor({o.num_layers, batch, o.hidden_size}, random);
  const OwnedTensor dy = uniform_tensor({batch, steps, o.hidden_size}, random);
  const OwnedTensor dh = uniform_tensor({o.num_layers, batch, o.hidden_size}, random);
  OwnedTensor output({batch, steps, o.hidden_size}), last({o.num_layers, batch, o.hidden_size});
  layer.forward(x, output, {.h_0 = with_state ? ConstTensor(h_0) : ConstTensor(), .h_n = last},
                context);
  attn::Tape tape(context);
  const Variable in = tape.variable(x);
  const Variable before = with_state ? tape.variable(h_0) : Variable();
  Variable h_n;
  const Variable y = layer.forward(in, before, &h_n);
  EXPECT_TRUE(same_bits(values(y.value()), values(output)));
  EXPECT_TRUE(same_bits(values(h_n.value()), values(last)));
  // The loss is Σ dy·y + Σ dh·h_n. Linear layers with weights of 1 compute the sums.
  const Variable loss =
      attn::linear(
          attn::reshape(y * tape.constant(dy), {1, -1}),
          tape.constant(OwnedTensor(
              {1, batch * steps * o.hidden_size},
              std::vector<float>(static_cast<std::size_t>(batch * steps * o.hidden_size), 1)))) +
      attn::linear(attn::reshape(h_n * tape.constant(dh), {1, -1}),
                   tape.constant(OwnedTensor(
                       {1, o.num_layers * batch * o.hidden_size},
                       std::vector<float>(
                           static_cast<std::size_t>(o.num_layers * batch * o.hidden_size), 1))));
  tape.backward(loss);

  std::map<std::string, std::vector<double>> sums;
  for (std::int64_t b = 0; b < batch; ++b) {
    reference::Tape exact;
    const auto part = [&](const OwnedTensor& t, std::int64_t outer, std::int64_t of,
                          std::int64_t inner) {
      return array_of(attn_test::of_batch(values(t), outer, of, inner, b), {outer, inner});
    };
    const auto layers = variables(exact, parameters.layers());
    const ArrayOf<Scalar> from =
        exact.variables(array_of(values(ConstTensor(x).select(0, b)), {steps, o.input_size}));
    const ArrayOf<Scalar> state =
        with_state ? exact.variables(part(h_0, o.num_layers, batch, o.hidden_size))
                   : ArrayOf<Scalar>();
    const auto result = reference::recurrent<Scalar>(cell, layers, from, state);
    exact.backward(
        reference::inner(result.output.exact,
                         array_of(values(ConstTensor(dy).select(0, b)), {steps, o.hidden_size})) +
        reference::inner(result.h_n.exact, part(dh, o.num_layers, batch, o.hidden_size)));
    const auto gradient = [&](const ArrayOf<Scalar>& of) {
      return of.given() ? exact.gradient(of).exact.values : std::vector<double>();
    };
    expect_close(values(in.gradient().select(0, b)), gradient(from), "x");
    if (with_state) {
      expect_close(
          attn_test::of_batch(values(before.gradient()), o.num_layers, batch, o.hidden_size, b),
          gradient(state), "h_0");
    }
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const std::string suffix = "_l" + std::to_string(l);
      add_to(sums["weight_ih" + suffix], gradient(layers[l].weight_ih));
      add_to(sums["weight_hh" + suffix], gradient(layers[l].weight_hh));
      if (!o.bias) continue;
      add_to(sums["bias_ih" + suffix], gradient(layers[l].bias_ih));
      add_to(sums["bias_hh" + suffix], gradient(layers[l].bias_hh));
    }
  }
  for (const auto& [name, sum] : sums) expect_close(values(tape.gradient(layer, name)), sum, name);
}

struct Sizes {
  std::int64_t batch, steps, input, hidden, layers;
  bool bias = true;
};
constexpr Sizes kSizes[] = {
    {1, 1, 1, 1, 1}, {2, 3, 5, 7, 1}, {3, 5, 4, 16, 2}, {1, 7, 3, 17, 3}, {5, 2, 33, 31, 1, false}};

TEST_P(TapedRecurrentTest, gradients_match_the_reference) {
  Random random;
  for (const Sizes& s : kSizes) {
    for (const bool with_state : {false, true}) {
      const attn::RecurrentOptions options{
          .input_size = s.input, .hidden_size = s.hidden, .num_layers = s.layers, .bias = s.bias};
      SCOPED_TRACE(s.hidden);
      attn::GRU gru(options);
      const RecurrentParameters of_gru(gru, options, random);
      expect_gradients_of_the_reference(gru, reference::Cell::kGru, of_gru, s.batch, s.steps,
                                        with_state, random, context());
      for (const auto activation :
           {attn::RecurrentActivation::kTanh, attn::RecurrentActivation::kRelu}) {
        attn::RNN rnn(options, activation);
        const RecurrentParameters of_rnn(rnn, options, random);
        expect_gradients_of_the_reference(rnn,
                                          activation == attn::RecurrentActivation::kTanh
                                              ? reference::Cell::kTanh
                                              : reference::Cell::kRelu,
                                          of_rnn, s.batch, s.steps, with_state, random, context());
      }
    }
  }
}

// A sequence of one step, where the gradients of the biases equal the gradients of the gates.
TEST_P(TapedRecurrentTest, a_step_is_within_the_stated_error) {
  Random random;
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1}, Sizes{1, 1, 67, 65, 1}, Sizes{1, 1, 129, 31, 1}}) {
    for (const float scale : {0.3F, 1.0F, 4.0F}) {
      const attn::RecurrentOptions options{.input_size = s.input, .hidden_size = s.hidden};
      attn::GRU gru(options);
      attn::RNN rnn(options);
      const RecurrentParameters of_gru(gru, options, random, scale);
      const RecurrentParameters of_rnn(rnn, options, random, scale);
      const OwnedTensor x = uniform_tensor({1, 1, s.input}, random);
      const OwnedTensor h_0 = uniform_tensor({1, 1, s.hidden}, random);
      const OwnedTensor dy = uniform_tensor({1, 1, s.hidden}, random);
      const auto check = [&](const auto& layer, reference::Cell cell,
                             const RecurrentParameters& parameters) {
        attn::Tape tape(context());
        tape.backward(layer.forward(tape.variable(x), tape.variable(h_0)), dy);
        reference::Tape exact;
        const auto layers = variables(exact, parameters.layers());
        const ArrayOf<Scalar> state = exact.variables(array_of(values(h_0), {1, s.hidden}));
        exact.backward(reference::inner(
            reference::recurrent<Scalar>(cell, layers,
                                         exact.variables(array_of(values(x), {1, s.input})), state)
                .output.exact,
            array_of(values(dy), {1, s.hidden})));
        const bool is_gru = cell == reference::Cell::kGru;
        for (const char* name : {"bias_ih_l0", "bias_hh_l0"}) {
          const bool from_input = name[5] == 'i';
          reference::Bounded wanted =
              exact.gradient(from_input ? layers[0].bias_ih : layers[0].bias_hh);
          const reference::RecurrentLayer weights = parameters.layers()[0];
          for (std::int64_t i = 0; i < wanted.exact.size(0); ++i) {
            // Sums the magnitudes of the terms of W·x + b and W·h + b over all gates of a column.
            const std::int64_t c = i % s.hidden;
            double delta = 0, candidate = 0;
            for (std::int64_t row = c; row < wanted.exact.size(0); row += s.hidden) {
              double sum =
                  std::abs(weights.bias_ih.at({row})) + std::abs(weights.bias_hh.at({row}));
              for (std::int64_t e = 0; e < s.input; ++e) {
                sum += std::abs(weights.weight_ih.at({row, e}) *
                                static_cast<double>(x.values()[static_cast<std::size_t>(e)]));
              }
              candidate = weights.bias_hh.at({row});
              for (std::int64_t k = 0; k < s.hidden; ++k) {
                const double h = static_cast<double>(h_0.values()[static_cast<std::size_t>(k)]);
                sum += std::abs(weights.weight_hh.at({row, k}) * h);
                candidate += weights.weight_hh.at({row, k}) * h;
              }
              delta = std::max(delta, static_cast<double>(s.input + s.hidden + 2) * 6e-8 * sum);
            }
            const auto column = static_cast<std::size_t>(c);
            const double m =
                1 + std::abs(static_cast<double>(h_0.values()[column])) + std::abs(candidate);
            const double dh = std::abs(static_cast<double>(dy.values()[column]));
            wanted.error.at({i}) = is_gru ? (3e-6 + 2 * delta) * m * m * dh : (1e-6 + delta) * dh;
          }
          EXPECT_TRUE(is_within(values(tape.gradient(layer, name)), wanted.exact, wanted.error))
              << name << ", hidden " << s.hidden << ", scale " << scale;
        }
      };
      check(gru, reference::Cell::kGru, of_gru);
      check(rnn, reference::Cell::kTanh, of_rnn);
    }
  }
}

TEST_P(TapedRecurrentTest, tokens_after_the_last_used_token_reach_no_gradient) {
  Random random;
  const attn::RecurrentOptions options{.input_size = 3, .hidden_size = 5, .num_layers = 2};
  attn::GRU gru(options);
  attn::RNN rnn(options, attn::RecurrentActivation::kRelu), with_tanh(options);
  const RecurrentParameters of_gru(gru, options, random), of_rnn(rnn, options, random),
      of_tanh(with_tanh, options, random);
  OwnedTensor x = uniform_tensor({2, 7, 3}, random), dy = uniform_tensor({2, 7, 5}, random);
  for (std::int64_t b = 0; b < 2; ++b) {
    std::fill_n(x.values().begin() + (b * 7 + 4) * 3, 9, std::numeric_limits<float>::quiet_NaN());
    std::fill_n(dy.values().begin() + (b * 7 + 4) * 5, 15, 0.0F);
  }
  const auto check = [&](const auto& layer) {
    attn::Tape padded(context()), shorter(context());
    const Variable a = padded.variable(x), b = shorter.variable(ConstTensor(x).slice(1, 0, 4));
    padded.backward(layer.forward(a), dy);
    shorter.backward(layer.forward(b), ConstTensor(dy).slice(1, 0, 4));
    for (const std::string& name : layer.parameter_names()) {
      const std::vector<float> wanted = values(shorter.gradient(layer, name));
      expect_close(values(padded.gradient(layer, name)),
                   std::vector<double>(wanted.begin(), wanted.end()), name);
    }
    for (std::int64_t s = 0; s < 2; ++s) {
      EXPECT_THAT(values(a.gradient().select(0, s).slice(0, 4, 7)), ::testing::Each(0.0F));
      EXPECT_TRUE(same_bits(values(a.gradient().select(0, s).slice(0, 0, 4)),
                            values(b.gradient().select(0, s))));
    }
  };
  check(gru);
  check(rnn);
  check(with_tanh);
}

TEST_P(TapedRecurrentTest, without_steps_the_states_are_unchanged) {
  Random random;
  const attn::GRU layer({.input_size = 3, .hidden_size = 4, .num_layers = 2});
  const OwnedTensor h_0 = uniform_tensor({2, 3, 4}, random), dh = uniform_tensor({2, 3, 4}, random);
  attn::Tape tape(context());
  const Variable x = tape.variable(OwnedTensor({3, 0, 3})), before = tape.variable(h_0);
  Variable after;
  layer.forward(x, before, &after);
  tape.backward(after, dh);
  EXPECT_TRUE(same_bits(values(after.value()), values(h_0)));
  EXPECT_TRUE(same_bits(values(before.gradient()), values(dh)));
}

TEST_P(TapedRecurrentTest, the_outputs_of_layers_can_be_watched) {
  Random random;
  const attn::RecurrentOptions options{.input_size = 3, .hidden_size = 5, .num_layers = 2};
  attn::GRU layer(options);
  const RecurrentParameters parameters(layer, options, random);
  const OwnedTensor x = uniform_tensor({2, 4, 3}, random), dy = uniform_tensor({2, 4, 5}, random);
  const std::vector<std::string> names = layer.intermediate_names();
  attn::Tape tape(context());
  tape.watch(layer, names);
  tape.backward(layer.forward(tape.variable(x)), dy);
  attn::Intermediates shown(names);
  OwnedTensor output({2, 4, 5});
  layer.forward(x, output, {}, context(), &shown);
  for (const std::string& name : names) {
    const Variable got = tape.intermediate(layer, name);
    EXPECT_TRUE(same_bits(values(got.value()), values(shown[name]))) << name;
    EXPECT_FALSE(got.gradient().is_none()) << name;
  }
}

TEST_P(TapedRecurrentTest, without_a_batch_and_in_parts_the_gradients_are_the_same) {
  Random random;
  const attn::RecurrentOptions options{.input_size = 5, .hidden_size = 9, .num_layers = 2};
  attn::GRU layer(options);
  const RecurrentParameters parameters(layer, options, random);
  const OwnedTensor x = uniform_tensor({6, 5}, random), dy = uniform_tensor({2, 9}, random);
  attn::Tape tape(context()), other(context());
  const Variable whole = tape.variable(x), a = other.variable(ConstTensor(x).slice(0, 0, 4)),
                 b = other.variable(ConstTensor(x).slice(0, 4, 6));
  tape.backward(attn::slice(layer.forward(whole), 0, 4, 6), dy);
  Variable state;
  layer.forward(a, {}, &state);
  EXPECT_THAT(state.shape(), ElementsAre(2, 9));
  other.backward(layer.forward(b, state), dy);
  const std::vector<float> got = values(a.gradient()), rest = values(b.gradient());
  std::vector<float> all = got;
  all.insert(all.end(), rest.begin(), rest.end());
  const std::vector<float> wanted = values(whole.gradient());
  expect_close(all, std::vector<double>(wanted.begin(), wanted.end()), "x");
}

TEST_P(TapedRecurrentTest, bits_and_memory_are_steady) {
  Random random;
  const attn::RecurrentOptions options{.input_size = 19, .hidden_size = 67, .num_layers = 2};
  attn::GRU layer(options);
  const RecurrentParameters parameters(layer, options, random);
  const OwnedTensor x = uniform_tensor({37, 11, 19}, random);
  const OwnedTensor dy = uniform_tensor({37, 11, 67}, random);
  const std::vector<std::string> names = layer.parameter_names();
  attn_test::expect_steady([&](int threads) -> attn::Context& { return context(threads); },
                           [&](attn::Tape& tape) {
                             tape.clear();
                             const Variable in = tape.variable(x);
                             const Variable y = layer.forward(in);
                             tape.backward(y, dy);
                             attn_test::Results results{values(y.value()), values(in.gradient())};
                             for (const std::string& name : names)
                               results.push_back(values(tape.gradient(layer, name)));
                             return results;
                           });
  // Each of the hundreds of allocations fails once.
  const OwnedTensor few = uniform_tensor({5, 3, 19}, random);
  const OwnedTensor d_few = uniform_tensor({5, 3, 67}, random);
  attn_test::expect_no_allocation(context(), [&](attn::Tape& tape) {
    tape.clear();
    Variable h_n;
    tape.backward(layer.forward(tape.variable(few), {}, &h_n), d_few);
  });
}

TEST(TapedRecurrentErrorTest, errors_explain_the_problem) {
  attn::Tape tape;
  const attn::GRU layer({.input_size = 3, .hidden_size = 4});
  const Variable x = tape.variable(OwnedTensor({2, 5, 3}));
  const Variable state = tape.variable(OwnedTensor({1, 3, 4}));
  EXPECT_EQ(error_of([&] { layer.forward(x, state); }),
            "shape_mismatch: h_0: got shape (1, 3, 4), needs shape (1, 2, 4)");
  EXPECT_EQ(error_of([&] { layer.forward(state); }),
            "shape_mismatch: x: got shape (1, 3, 4), needs shape (any, any, 3)");
}

}  // namespace
