#include "layers/module_initialization.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "validation.hpp"

namespace attn {

void initialize_parameters(Module& module, const RandomStream& first, Context& context) {
  const std::vector<std::string> names = module.parameter_names();
  std::int64_t largest = 0;
  for (const std::string& name : names) {
    const std::int64_t count = validation::product(name, module.parameter(name).shape());
    largest = std::max(largest, count);
  }
  std::vector<float> values;
  values.resize(static_cast<std::size_t>(largest));
  RandomStream random = first;
  for (const std::string& name : names) {
    const ConstTensor parameter = module.parameter(name);
    const Tensor drawn(values.data(), parameter.shape());
    if (parameter.rank() < 2) {
      std::fill_n(values.data(), parameter.size(0), 0.0F);
    } else if (name == "embedding.weight") {
      fill_normal(drawn, random, 0, 1, context);
      ++random.stream;
    } else {
      double fans = static_cast<double>(parameter.size(0)) + static_cast<double>(parameter.size(1));
      for (int i = 2; i < parameter.rank(); ++i) fans *= static_cast<double>(parameter.size(i));
      const auto bound = static_cast<float>(std::sqrt(6 / fans));
      fill_uniform(drawn, random, -bound, bound, context);
      ++random.stream;
    }
    module.set_parameter(name, drawn);
  }
}

}  // namespace attn
