#include "attn/layers/rnn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "layers/recurrent_case.hpp"

namespace {

using attn::RecurrentActivation;
using attn::RecurrentOptions;
using attn::RNN;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::of_batch;
using attn_test::Random;
using attn_test::RecurrentParameters;
using attn_test::RecurrentResult;
using attn_test::run_recurrent;
using attn_test::same_bits;
using ::testing::ElementsAre;

void expect_right(const RecurrentOptions& o, RecurrentActivation activation, std::int64_t batch,
                  std::int64_t steps, bool with_state, Random& random, attn::Context& context) {
  SCOPED_TRACE(std::to_string(o.input_size) + " → " + std::to_string(o.hidden_size) + ", layers " +
               std::to_string(o.num_layers) + ", batch " + std::to_string(batch) + ", steps " +
               std::to_string(steps));
  RNN layer(o, activation);
  const bool relu = activation == RecurrentActivation::kRelu;
  const RecurrentParameters parameters(layer, o, random, relu ? 0.5F : 1.0F);
  const std::vector<float> x = random.normals(batch * steps * o.input_size);
  const std::vector<float> h_0 =
      random.normals(with_state ? o.num_layers * batch * o.hidden_size : 0);
  const RecurrentResult got = run_recurrent(layer, x, h_0, batch, steps, context);
  for (std::int64_t b = 0; b < batch; ++b) {
    reference::Array state;
    if (with_state) {
      state = reference::Array({o.num_layers, o.hidden_size},
                               of_batch(h_0, o.num_layers, batch, o.hidden_size, b));
    }
    const reference::RecurrentResult want = reference::recurrent(
        relu ? reference::Cell::kRelu : reference::Cell::kTanh, parameters.layers(),
        reference::Array({steps, o.input_size}, of_batch(x, 1, batch, steps * o.input_size, b)),
        state);
    EXPECT_TRUE(is_within(of_batch(got.output, 1, batch, steps * o.hidden_size, b),
                          want.output.exact, want.output.error));
    EXPECT_TRUE(is_within(of_batch(got.h_n, o.num_layers, batch, o.hidden_size, b), want.h_n.exact,
                          want.h_n.error));
  }
}

using RnnTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(RnnTest);

TEST_P(RnnTest, matches_the_reference) {
  Random random;
  for (const auto activation : {RecurrentActivation::kTanh, RecurrentActivation::kRelu}) {
    for (const std::int64_t hidden : {1, 3, 15, 16, 17, 40}) {
      for (const std::int64_t layers : {1, 3}) {
        expect_right({5, hidden, layers, hidden % 2 == 1}, activation, 2, 4, hidden != 3, random,
                     context());
      }
    }
    for (const std::int64_t input : {1, 16, 33}) {
      expect_right({input, 7, 2}, activation, 1, 6, true, random, context());
    }
    for (const std::int64_t batch : {1, 7, 300}) {
      expect_right({3, 18, 1}, activation, batch, 2, false, random, context());
    }
    expect_right({2, 4, 1}, activation, 1, 1, true, random, context());
  }
}

TEST_P(RnnTest, no_step_leaves_the_state_as_it_was) {
  Random random;
  RNN layer({2, 3, 2});
  const RecurrentParameters parameters(layer, layer.options(), random);
  const std::vector<float> h_0 = random.normals(2 * 2 * 3);
  EXPECT_TRUE(same_bits(run_recurrent(layer, {}, h_0, 2, 0, context()).h_n, h_0));
  EXPECT_TRUE(run_recurrent(layer, {}, {}, 0, 4, context()).output.empty());
}

TEST_P(RnnTest, a_sequence_in_parts_gives_the_bits_of_the_whole) {
  Random random;
  RNN layer({3, 20, 2});
  const RecurrentParameters parameters(layer, layer.options(), random);
  const std::vector<float> x = random.normals(7 * 3);
  const RecurrentResult whole = run_recurrent(layer, x, {}, 1, 7, context());
  std::vector<float> output(7 * 20), state(2 * 20);
  for (const auto& [begin, end] : {std::pair(0, 1), {1, 5}, {5, 7}}) {
    layer.forward({x.data() + begin * 3, {end - begin, 3}},
                  {output.data() + begin * 20, {end - begin, 20}},
                  {{state.data(), {2, 20}}, {state.data(), {2, 20}}}, context());
  }
  EXPECT_TRUE(same_bits(output, whole.output));
  EXPECT_TRUE(same_bits(state, whole.h_n));
}

TEST_P(RnnTest, any_number_of_threads_any_batch_and_layout_give_the_same_bits) {
  Random random;
  RNN layer({6, 37, 2});
  const RecurrentParameters parameters(layer, layer.options(), random);
  const std::vector<float> x = random.normals(5 * 4 * 6), h_0 = random.normals(2 * 5 * 37);
  const RecurrentResult one = run_recurrent(layer, x, h_0, 5, 4, context(1));
  const RecurrentResult two = run_recurrent(layer, x, h_0, 5, 4, context(2));
  EXPECT_TRUE(same_bits(two.output, one.output));
  EXPECT_TRUE(same_bits(two.h_n, one.h_n));
  const RecurrentResult alone =
      run_recurrent(layer, of_batch(x, 1, 5, 24, 3), of_batch(h_0, 2, 5, 37, 3), 1, 4, context());
  EXPECT_TRUE(same_bits(alone.output, of_batch(one.output, 1, 5, 4 * 37, 3)));
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    const RecurrentResult got = run_recurrent(layer, x, h_0, 5, 4, context(), layout);
    EXPECT_TRUE(same_bits(got.output, one.output));
    EXPECT_TRUE(same_bits(got.h_n, one.h_n));
  }
}

TEST_P(RnnTest, nan_comes_out_from_its_step_on) {
  Random random;
  for (const auto activation : {RecurrentActivation::kTanh, RecurrentActivation::kRelu}) {
    RNN layer({2, 5}, activation);
    const RecurrentParameters parameters(layer, layer.options(), random);
    std::vector<float> x = random.normals(2 * 4 * 2);
    x[2 * 2] = std::numeric_limits<float>::quiet_NaN();
    const RecurrentResult got = run_recurrent(layer, x, {}, 2, 4, context());
    for (std::size_t i = 0; i < got.output.size(); ++i) {
      EXPECT_EQ(std::isnan(got.output[i]), i / 20 == 0 && i / 5 >= 2) << i;
    }
  }
}

TEST_P(RnnTest, a_steady_loop_of_calls_allocates_nothing) {
  RNN layer({6, 37, 2});
  std::vector<float> x(5 * 4 * 6), output(5 * 4 * 37);
  const auto call = [&] {
    layer.forward({x.data(), {5, 4, 6}}, {output.data(), {5, 4, 37}}, {}, context());
  };
  call();
  call();
  const attn_test::AllocationProbe probe;
  call();
  EXPECT_EQ(probe.count(), 0);
}

// ---- Parameters and errors

TEST(RnnParametersTest, have_pytorch_names_and_shapes) {
  const RNN layer({3, 4, 2});
  EXPECT_THAT(layer.parameter_names(),
              ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0",
                          "weight_ih_l1", "weight_hh_l1", "bias_ih_l1", "bias_hh_l1"));
  EXPECT_THAT(layer.parameter("weight_ih_l0").shape(), ElementsAre(4, 3));
  EXPECT_THAT(layer.parameter("weight_hh_l0").shape(), ElementsAre(4, 4));
  EXPECT_THAT(layer.parameter("weight_ih_l1").shape(), ElementsAre(4, 4));
  EXPECT_THAT(layer.parameter("bias_hh_l1").shape(), ElementsAre(4));
  EXPECT_THAT(RNN({3, 4, 1, false}).parameter_names(), ElementsAre("weight_ih_l0", "weight_hh_l0"));
}

TEST(RnnErrorTest, sizes) {
  EXPECT_EQ(error_of([] { RNN({0, 1}); }), "invalid_argument: input_size: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { RNN({1, 0}); }), "invalid_argument: hidden_size: got 0, needs 1 or more");
  EXPECT_EQ(error_of([] { RNN({1, 1, -1}); }),
            "invalid_argument: num_layers: got -1, needs 1 or more");
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(
      attn_test::error_or_bad_alloc([] { RNN({1, kHuge}); }),
      ::testing::AnyOf(::testing::StartsWith("size_overflow: weight_hh_l0: "),
                       ::testing::StartsWith("size_overflow: weight_ih_l0: "), "bad_alloc"));
}

TEST(RnnErrorTest, shapes) {
  RNN layer({2, 3, 2});
  const std::vector<float> x(100);
  std::vector<float> y(100, 5.0F);
  using Shape = std::initializer_list<std::int64_t>;
  const auto error = [&](Shape in, Shape out, const attn::RecurrentStates& states = {}) {
    return error_of([&] { layer.forward({x.data(), in}, {y.data(), out}, states); });
  };
  EXPECT_EQ(error({2}, {3}),
            "shape_mismatch: x: got shape (2), needs rank 2 (N, input_size) or 3 (B, N, "
            "input_size)");
  EXPECT_EQ(error({4, 3}, {4, 3}), "shape_mismatch: x: got shape (4, 3), needs shape (any, 2)");
  EXPECT_EQ(error({1, 4, 2}, {4, 3}),
            "shape_mismatch: output: got shape (4, 3), needs shape (1, 4, 3)");
  EXPECT_EQ(error({4, 2}, {5, 3}), "shape_mismatch: output: got shape (5, 3), needs shape (4, 3)");
  EXPECT_EQ(error({4, 2}, {4, 3}, {.h_0 = {x.data(), {2, 1, 3}}}),
            "shape_mismatch: h_0: got shape (2, 1, 3), needs shape (2, 3)");
  EXPECT_EQ(error({5, 4, 2}, {5, 4, 3}, {.h_n = {y.data(), {1, 5, 3}}}),
            "shape_mismatch: h_n: got shape (1, 5, 3), needs shape (2, 5, 3)");
  EXPECT_EQ(error({4, 2}, {4, 3}, {.h_0 = {nullptr, {2, 3}}}),
            "invalid_argument: h_0: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { layer.forward({nullptr, {4, 2}}, {y.data(), {4, 3}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(
      error_of([&] { layer.set_parameter("weight_hr_l0", {x.data(), {3, 3}}); }).substr(0, 45),
      "not_found: name: got \"weight_hr_l0\", needs on");
  EXPECT_THAT(y, ::testing::Each(5.0F));
}

}  // namespace
