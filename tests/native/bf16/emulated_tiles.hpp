#pragma once

// Emulates the tile instructions in plain C++, for kernels that use any type of vector. The code is
// in an anonymous namespace because each file that includes this header is compiled for a different
// instruction set.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kernels/kernel_table.hpp"

namespace attn::kernels {
namespace {

float flushed(float x) noexcept {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

/// a·b + c, rounded once, to nearest even. MinGW's std::fma rounds twice. Here the product is
/// exact, and the sum is rounded to odd, so that rounding it again gives the nearest float.
float fused_multiply_add(float a, float b, float c) noexcept {
  const double product = double{a} * double{b}, sum = product + double{c};
  const double part = sum - product;
  const double error = (product - (sum - part)) + (double{c} - part);
  if (!std::isfinite(sum) || error == 0) return static_cast<float>(sum);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return static_cast<float>(std::bit_cast<double>(bits));
}

/// a·b + c, rounded once, to nearest even. Subnormal operands and results become zero.
float multiply_add(float a, float b, float c) noexcept {
  return flushed(fused_multiply_add(flushed(a), flushed(b), flushed(c)));
}

float first_of(float pair) noexcept {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) << 16);
}
float second_of(float pair) noexcept {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) & 0xFFFF0000U);
}

/// Follows Intel's manual for ldtilecfg, tilerelease, tilezero, tileloadd, tilestored and
/// tdpbf16ps. Using registers that are not configured is a fault, as on real hardware.
struct EmulatedTiles {
  static void configure(int rows) noexcept {
    rows_ = rows;
    std::memset(registers_, 0, sizeof registers_);
  }
  static void release() noexcept {
    check();
    rows_ = 0;
  }
  template <int T>
  static void zero() noexcept {
    check();
    std::memset(registers_[T], 0, sizeof registers_[T]);
  }
  template <int T>
  static void load(const void* from, index row_bytes) noexcept {
    zero<T>();
    for (int row = 0; row < rows_of(T); ++row) {
      std::memcpy(registers_[T][row], static_cast<const char*>(from) + row * row_bytes, kRowBytes);
    }
  }
  template <int T>
  static void store(float* to, index row_bytes) noexcept {
    check();
    for (int row = 0; row < rows_of(T); ++row) {
      std::memcpy(reinterpret_cast<char*>(to) + row * row_bytes, registers_[T][row], kRowBytes);
    }
  }
  template <int C, int A, int B>
  static void dot() noexcept {
    check();
    multiply(registers_[C], registers_[A], registers_[B], rows_of(C));
  }

 private:
  static constexpr int kEdge = 16;
  static constexpr int kRowBytes = 64;
  using Register = float[kEdge][kEdge];

  static int rows_of(int tile) noexcept { return tile < 6 ? rows_ : kEdge; }
  static void check() noexcept {
    if (rows_ == 0) std::abort();
  }

  __attribute__((noinline)) static void multiply(Register& c, const Register& a, const Register& b,
                                                 int rows) noexcept {
    for (int m = 0; m < rows; ++m) {
      float first[kEdge] = {}, second[kEdge] = {};
      for (int k = 0; k < kEdge; ++k) {
        for (int n = 0; n < kEdge; ++n) {
          first[n] = multiply_add(first_of(a[m][k]), first_of(b[k][n]), first[n]);
          second[n] = multiply_add(second_of(a[m][k]), second_of(b[k][n]), second[n]);
        }
      }
      for (int n = 0; n < kEdge; ++n) {
        const float sum = flushed(first[n] + second[n]);
        c[m][n] = flushed(flushed(c[m][n]) + sum);
      }
    }
  }

  static inline thread_local int rows_ = 0;
  static inline thread_local Register registers_[8];
};

}  // namespace
}  // namespace attn::kernels
