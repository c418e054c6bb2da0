#include "attn/layers/initialization.hpp"

#include <cmath>

#include "validation.hpp"

namespace attn {

void xavier_uniform(const Tensor& weight, const RandomStream& random, float gain,
                    Context& context) {
  validation::require_shape("weight", weight, {-1, -1});
  if (weight.size(0) < 1 || weight.size(1) < 1) {
    validation::fail(ErrorCode::kInvalidArgument, "weight", {"shape ", weight.shape()},
                     {"sizes of at least 1"});
  }
  validation::require_data("weight", weight);
  validation::require_finite_at_least_zero("gain", gain);
  const double fans = static_cast<double>(weight.size(0)) + static_cast<double>(weight.size(1));
  const auto bound = static_cast<float>(gain * std::sqrt(6 / fans));
  fill_uniform(weight, random, -bound, bound, context);
}

}  // namespace attn
