#pragma once

#include <string>
#include <vector>

#include "attn/layers/module.hpp"
#include "shape.hpp"

namespace attn_test {

/// Copies a parameter of a layer.
inline std::vector<float> values_of(const attn::Module& module, const std::string& name) {
  const attn::ConstTensor parameter = module.parameter(name);
  const Shape shape(parameter.shape().begin(), parameter.shape().end());
  return {parameter.data(), parameter.data() + count_of(shape)};
}

}  // namespace attn_test
