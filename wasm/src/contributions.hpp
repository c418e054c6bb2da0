#pragma once

#include <vector>

#include "arrays.hpp"
#include "attn/layers/contributions.hpp"

namespace attn::wasm {

/// All numbers in one array: the embedding, the bias, the total, and the heads and the feed-forward
/// network of each layer.
inline Sizes flat(const Contributions& all) {
  std::vector<double> numbers = {all.embedding, all.bias, all.total};
  for (const Contributions::Layer& layer : all.layers) {
    numbers.insert(numbers.end(), layer.heads.begin(), layer.heads.end());
    numbers.push_back(layer.feed_forward);
  }
  return Sizes(numbers);
}

}  // namespace attn::wasm
