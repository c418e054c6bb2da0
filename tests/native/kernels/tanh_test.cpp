// Tests the hyperbolic tangent of the kernels through softcap. With q = 1, a scale of 1, a cap of 1
// and keys of width 1, the keys are the arguments, and the capped scores are their hyperbolic
// tangents.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "measure.hpp"

namespace {

using attn_test::kInfinity;

class TanhTest : public attn_test::EveryInstructionSet {
 protected:
  static constexpr double kStated = 3e-7;

  std::vector<float> tanh_of(const std::vector<float>& x) const {
    const auto keys = static_cast<std::int64_t>(x.size());
    const std::vector<float> query{1, 1};
    std::vector<float> output(2), capped(2 * x.size());
    attn::AttentionOptions options;
    options.softcap = 1;
    options.capped_scores = {capped.data(), {1, 1, 2, keys}};
    attn::scaled_dot_product_attention({query.data(), {2, 1}}, {x.data(), {keys, 1}},
                                       {x.data(), {keys, 1}}, {output.data(), {2, 1}}, options,
                                       context());
    capped.resize(x.size());
    return capped;
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(TanhTest);

TEST_P(TanhTest, is_within_the_stated_error) {
  attn_test::LargestError largest("tanh", kStated);
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<float> x;
    for (std::uint32_t bits = std::bit_cast<std::uint32_t>(1e-20F);
         bits < std::bit_cast<std::uint32_t>(12.0F); bits += 49'999) {
      x.push_back(sign * std::bit_cast<float>(bits));
    }
    // Adds arguments near the boundary between the kernel's two formulas.
    for (float at = 0.59F; at < 0.61F; at += 1e-5F) x.push_back(sign * at);
    const std::vector<float> y = tanh_of(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest.add(y[i] / std::tanh(static_cast<double>(x[i])) - 1);
    }
  }
}

TEST_P(TanhTest, takes_every_number) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::vector<float> y = tanh_of({kInfinity, -kInfinity, kLargest, -kLargest, 20.0F, -20.0F,
                                        0.0F, 1e-40F, std::numeric_limits<float>::quiet_NaN()});
  const std::vector<float> expected{1, -1, 1, -1, 1, -1, 0, 1e-40F};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(y[i], expected[i]) << i;
  EXPECT_TRUE(std::isnan(y.back()));
}

}  // namespace
