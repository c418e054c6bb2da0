#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "random.hpp"
#include "reference/activation.hpp"
#include "reference/transformer.hpp"

namespace attn_test {

/// Gives every parameter random values of the size that Xavier's have; norms lie around 1.
inline void randomize(attn::Module& module, Random& random) {
  for (const std::string& name : module.parameter_names()) {
    const attn::ConstTensor old = module.parameter(name);
    const std::vector<std::int64_t> shape(old.shape().begin(), old.shape().end());
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const bool matrix = shape.size() == 2;
    std::vector<float> values =
        random.normals(count, matrix ? 1 / std::sqrt(static_cast<float>(shape.back())) : 0.3F);
    if (name.find("norm") != std::string::npos && name.ends_with("weight")) {
      for (float& value : values) value += 1;
    }
    module.set_parameter(name, {values.data(), shape});
  }
}

/// The parameters whose names begin with `prefix`, for the reference.
inline reference::TransformerLayer reference_of(const attn::Module& module,
                                                const std::string& prefix,
                                                const attn::TransformerLayerOptions& options) {
  reference::TransformerLayer layer;
  for (const std::string& name : module.parameter_names()) {
    if (!name.starts_with(prefix)) continue;
    const attn::ConstTensor values = module.parameter(name);
    reference::Array array(std::vector(values.shape().begin(), values.shape().end()));
    for (std::size_t i = 0; i < array.values.size(); ++i) array.values[i] = values.data()[i];
    layer.weights[name.substr(prefix.size())] = array;
  }
  layer.num_heads = options.num_heads;
  layer.num_kv_heads = options.num_kv_heads.value_or(options.num_heads);
  layer.activation = options.activation == attn::Activation::kRelu ? reference::Activation::kRelu
                     : options.activation == attn::Activation::kGelu
                         ? reference::Activation::kGelu
                         : reference::Activation::kGeluTanh;
  layer.eps = options.layer_norm_eps;
  layer.norm_first = options.norm_first;
  return layer;
}

}  // namespace attn_test
