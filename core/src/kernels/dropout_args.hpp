#pragma once

#include <cstdint>

#include "kernels/sizes.hpp"

namespace attn::kernels {

/// out[i] = 0 where words[i] >> 8 < drop_below, else factor · x[i]. out may be x.
struct DropoutArgs {
  index count = 0;
  const std::uint32_t* words = nullptr;
  std::uint32_t drop_below = 0;  ///< at most 2^24
  float factor = 1;
  const float* x = nullptr;
  index x_col = 1;
  float* out = nullptr;
  index out_col = 1;
};

}  // namespace attn::kernels
