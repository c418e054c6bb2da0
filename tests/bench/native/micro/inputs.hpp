#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace attn_bench {

/// Normally distributed floats, aligned to a cache line.
class Floats {
 public:
  explicit Floats(std::int64_t count, unsigned seed = 1) : memory_(count + 16) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (float& x : memory_) x = normal(generator);
  }
  float* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + -address % 64 / sizeof(float);
  }

 private:
  std::vector<float> memory_;
};

}  // namespace attn_bench
