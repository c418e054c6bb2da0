#pragma once

#include "kernels/simd.hpp"

namespace attn::kernels {
namespace {

struct Isa : IsaVectors<xsimd::emulated<128>> {
  static constexpr InstructionSet kInstructionSet = InstructionSet::kScalar;
  static constexpr int kRows = 4;
  static constexpr int kVectors = 1;
  static constexpr int kScoreRows = 4;
  static constexpr int kScoreVectors = 1;
  static constexpr int kSoftmaxVectors = kScoreVectors;
  static constexpr int kValueRows = 4;
  static constexpr index kTileKeys = 64;
  static constexpr int kSteps = 2;

  static ATTN_INLINE F madd(F a, F b, F c) noexcept { return a * b + c; }
  static ATTN_INLINE D madd(D a, D b, D c) noexcept { return a * b + c; }
  static ATTN_INLINE D msub(D a, D b, D c) noexcept { return a * b - c; }
  static ATTN_INLINE W multiply_wide(W a, W b) noexcept {
    return (a & W(0xFFFFFFFFU)) * (b & W(0xFFFFFFFFU));
  }
  static ATTN_INLINE F narrow(D a, D b) noexcept {
    return F(static_cast<float>(a.get(0)), static_cast<float>(a.get(1)),
             static_cast<float>(b.get(0)), static_cast<float>(b.get(1)));
  }
  static ATTN_INLINE F at_least(F x, F low) noexcept { return xsimd::select(x < low, low, x); }
  static ATTN_INLINE U load_words(const void* from) noexcept {
    std::uint16_t x[4];
    __builtin_memcpy(x, from, sizeof x);
    return U(std::uint32_t{x[0]}, std::uint32_t{x[1]}, std::uint32_t{x[2]}, std::uint32_t{x[3]});
  }
  static ATTN_INLINE I load_bytes(const void* from) noexcept {
    std::int8_t x[4];
    __builtin_memcpy(x, from, sizeof x);
    return I(std::int32_t{x[0]}, std::int32_t{x[1]}, std::int32_t{x[2]}, std::int32_t{x[3]});
  }
};

}  // namespace
}  // namespace attn::kernels
