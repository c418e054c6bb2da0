#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/tensor_view.hpp"
#include "random.hpp"

namespace attn_test {

/// The elements of a row-major view.
inline std::vector<float> values(const attn::ConstTensor& view) {
  std::int64_t count = 1;
  for (const std::int64_t size : view.shape()) count *= size;
  return {view.data(), view.data() + count};
}

/// All parameters of a layer, in order.
inline std::vector<float> parameters(const attn::Module& module) {
  std::vector<float> all;
  module.visit_parameters([&](const attn::ConstParameter& p) {
    const std::vector<float> more = values(p.values);
    all.insert(all.end(), more.begin(), more.end());
  });
  return all;
}

/// Uniform values in [−1, 1].
inline attn::OwnedTensor uniform_tensor(std::initializer_list<std::int64_t> shape, Random& random) {
  attn::OwnedTensor result(shape);
  for (float& x : result.values()) x = random.uniform(-1, 1);
  return result;
}

}  // namespace attn_test
