#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/layers/rnn.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/recurrent.hpp"

namespace attn_test {

/// Draws the parameters of a recurrent layer and gives the same numbers to the reference.
class RecurrentParameters {
 public:
  RecurrentParameters(attn::Module& module, const attn::RecurrentOptions& options, Random& random,
                      float scale = 1)
      : options_(options) {
    const float deviation = scale / std::sqrt(static_cast<float>(options.hidden_size));
    for (const std::string& name : module.parameter_names()) {
      const attn::ConstTensor parameter = module.parameter(name);
      std::int64_t count = 1;
      for (const std::int64_t size : parameter.shape()) count *= size;
      values_[name] = random.normals(count, deviation);
      module.set_parameter(name, {values_[name].data(), parameter.shape()});
    }
  }

  std::vector<reference::RecurrentLayer> layers() const {
    std::vector<reference::RecurrentLayer> result;
    for (std::int64_t l = 0; l < options_.num_layers; ++l) {
      const std::int64_t input = l == 0 ? options_.input_size : options_.hidden_size;
      const std::string suffix = "_l" + std::to_string(l);
      result.push_back({array("weight_ih" + suffix, input),
                        array("weight_hh" + suffix, options_.hidden_size),
                        array("bias_ih" + suffix, 0), array("bias_hh" + suffix, 0)});
    }
    return result;
  }

 private:
  /// Returns the parameter `name` as (rows, cols), or as (rows) if `cols` is 0; empty for an
  /// unknown name.
  reference::Array array(const std::string& name, std::int64_t cols) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return {};
    const auto count = static_cast<std::int64_t>(found->second.size());
    if (cols == 0) return {{count}, found->second};
    return {{count / cols, cols}, found->second};
  }

  attn::RecurrentOptions options_;
  std::map<std::string, std::vector<float>> values_;
};

struct RecurrentResult {
  std::vector<float> output, h_n;
};

/// x is (B, N, E); h_0 is (layers, B, H) or empty.
template <class Layer>
RecurrentResult run_recurrent(const Layer& layer, const std::vector<float>& x,
                              const std::vector<float>& h_0, std::int64_t batch, std::int64_t steps,
                              attn::Context& context, Layout layout = Layout::kContiguous) {
  const attn::RecurrentOptions& o = layer.options();
  const FloatTensor input({batch, steps, o.input_size}, x, layout);
  FloatTensor output = FloatTensor::filled({batch, steps, o.hidden_size}, 77, layout);
  FloatTensor h_n = FloatTensor::filled({o.num_layers, batch, o.hidden_size}, 77, layout);
  FloatTensor first;
  if (!h_0.empty()) first = FloatTensor({o.num_layers, batch, o.hidden_size}, h_0, layout);
  layer.forward(input.view(), output.view(), {std::as_const(first).view(), h_n.view()}, context);
  EXPECT_TRUE(output.gaps_are_untouched());
  EXPECT_TRUE(h_n.gaps_are_untouched());
  return {output.values(), h_n.values()};
}

/// Returns the elements [:, b, :] of an array (outer, batch, inner).
inline std::vector<float> of_batch(const std::vector<float>& all, std::int64_t outer,
                                   std::int64_t batch, std::int64_t inner, std::int64_t b) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < outer; ++i) {
    const auto begin = all.begin() + (i * batch + b) * inner;
    result.insert(result.end(), begin, begin + inner);
  }
  return result;
}

/// Compares the layer with the reference, one batch entry at a time.
template <class Layer>
void expect_right(Layer& layer, reference::Cell cell, std::int64_t batch, std::int64_t steps,
                  bool with_state, Random& random, attn::Context& context) {
  const attn::RecurrentOptions& o = layer.options();
  SCOPED_TRACE(std::to_string(o.input_size) + " → " + std::to_string(o.hidden_size) + ", layers " +
               std::to_string(o.num_layers) + ", batch " + std::to_string(batch) + ", steps " +
               std::to_string(steps));
  const RecurrentParameters parameters(layer, o, random,
                                       cell == reference::Cell::kRelu ? 0.5F : 1.0F);
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
        cell, parameters.layers(),
        reference::Array({steps, o.input_size}, of_batch(x, 1, batch, steps * o.input_size, b)),
        state);
    EXPECT_TRUE(is_within(of_batch(got.output, 1, batch, steps * o.hidden_size, b),
                          want.output.exact, want.output.error));
    EXPECT_TRUE(is_within(of_batch(got.h_n, o.num_layers, batch, o.hidden_size, b), want.h_n.exact,
                          want.h_n.error));
  }
}

/// Compares layers of many sizes with the reference. `make` creates a layer from its options.
template <class Make>
void expect_right_at_every_size(Make&& make, reference::Cell cell, attn::Context& context) {
  Random random;
  const auto check = [&](const attn::RecurrentOptions& options, std::int64_t batch,
                         std::int64_t steps, bool with_state) {
    auto layer = make(options);
    expect_right(layer, cell, batch, steps, with_state, random, context);
  };
  for (const std::int64_t hidden : {1, 3, 15, 16, 17, 40}) {
    for (const std::int64_t layers : {1, 3}) {
      check({5, hidden, layers, hidden % 2 == 1}, 2, 4, hidden != 3);
    }
  }
  for (const std::int64_t input : {1, 16, 33}) check({input, 7, 2}, 1, 6, true);
  for (const std::int64_t batch : {1, 7, 300}) check({3, 18, 1}, batch, 2, false);
  check({2, 4, 1}, 1, 1, true);
}

template <class Layer>
void expect_parts_give_the_bits_of_the_whole(attn::Context& context) {
  Random random;
  Layer layer({3, 20, 2});
  const RecurrentParameters parameters(layer, layer.options(), random);
  const std::vector<float> x = random.normals(7 * 3);
  const RecurrentResult whole = run_recurrent(layer, x, {}, 1, 7, context);
  std::vector<float> output(7 * 20), state(2 * 20);
  for (const auto& [begin, end] : {std::pair(0, 1), {1, 5}, {5, 7}}) {
    layer.forward({x.data() + begin * 3, {end - begin, 3}},
                  {output.data() + begin * 20, {end - begin, 20}},
                  {{state.data(), {2, 20}}, {state.data(), {2, 20}}}, context);
  }
  EXPECT_TRUE(same_bits(output, whole.output));
  EXPECT_TRUE(same_bits(state, whole.h_n));
}

template <class Layer>
void expect_same_bits_for_any_threads_batch_and_layout(attn::Context& one_thread,
                                                       attn::Context& two_threads) {
  Random random;
  Layer layer({6, 37, 2});
  const RecurrentParameters parameters(layer, layer.options(), random);
  const std::vector<float> x = random.normals(5 * 4 * 6), h_0 = random.normals(2 * 5 * 37);
  const RecurrentResult one = run_recurrent(layer, x, h_0, 5, 4, one_thread);
  const RecurrentResult two = run_recurrent(layer, x, h_0, 5, 4, two_threads);
  EXPECT_TRUE(same_bits(two.output, one.output));
  EXPECT_TRUE(same_bits(two.h_n, one.h_n));
  const RecurrentResult alone =
      run_recurrent(layer, of_batch(x, 1, 5, 24, 3), of_batch(h_0, 2, 5, 37, 3), 1, 4, one_thread);
  EXPECT_TRUE(same_bits(alone.output, of_batch(one.output, 1, 5, 4 * 37, 3)));
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    const RecurrentResult got = run_recurrent(layer, x, h_0, 5, 4, one_thread, layout);
    EXPECT_TRUE(same_bits(got.output, one.output));
    EXPECT_TRUE(same_bits(got.h_n, one.h_n));
  }
}

/// `layer` must have an input size of 2 and a hidden size of 5.
template <class Layer>
void expect_nan_from_its_step_on(Layer& layer, attn::Context& context) {
  Random random;
  const RecurrentParameters parameters(layer, layer.options(), random);
  std::vector<float> x = random.normals(2 * 4 * 2);
  x[2 * 2] = std::numeric_limits<float>::quiet_NaN();
  const RecurrentResult got = run_recurrent(layer, x, {}, 2, 4, context);
  for (std::size_t i = 0; i < got.output.size(); ++i) {
    EXPECT_EQ(std::isnan(got.output[i]), i / 20 == 0 && i / 5 >= 2) << i;
  }
}

}  // namespace attn_test
