#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/layers/rnn.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/recurrent.hpp"

namespace attn_test {

/// Draws the parameters of a recurrent layer, and gives the same numbers to the reference.
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
  /// (rows, cols), or (rows) for no columns; nothing for a name that is not there.
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

/// x (B, N, E), h_0 (layers, B, H) or none.
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

/// Row b of the middle dimension of (outer, batch, inner).
inline std::vector<float> of_batch(const std::vector<float>& all, std::int64_t outer,
                                   std::int64_t batch, std::int64_t inner, std::int64_t b) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < outer; ++i) {
    const auto begin = all.begin() + (i * batch + b) * inner;
    result.insert(result.end(), begin, begin + inner);
  }
  return result;
}

}  // namespace attn_test
