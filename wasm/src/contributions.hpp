#pragma once

#include <vector>

#include "arrays.hpp"
#include "attn/layers/contributions.hpp"

namespace attn::wasm {

/// Returns all numbers in one array: embedding, bias and total, then for each layer its heads and
/// its feed-forward network.
inline Sizes flat(const Contributions& all) {
  std::vector<double> numbers = {all.embedding, all.bias, all.total};
  for (const Contributions::Layer& layer : all.layers) {
    numbers.insert(numbers.end(), layer.heads.begin(), layer.heads.end());
    numbers.push_back(layer.feed_forward);
  }
  return Sizes(numbers);
}

}  // namespace attn::wasm
