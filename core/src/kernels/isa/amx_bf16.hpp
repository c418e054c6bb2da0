#pragma once

#include <cstdint>

#include "kernels/isa/avx512_bf16.hpp"

namespace attn::kernels {
namespace {

/// The instruction set AVX512-BF16 plus tile hardware, which computes products of several rows.
template <class Machine>
struct TileIsa : Bf16Isa {
  using FloatIsa = Isa;
  using Tiles = Machine;
  static constexpr InstructionSet kInstructionSet = InstructionSet::kAmxBf16;
  static constexpr int kRows = 32;
  static constexpr int kSoftmaxVectors = 2;
};

/// The tile instructions. For each step, tdpbf16ps computes two sums of products. One sum uses the
/// first number of each pair, and the other sum uses the second number. Each sum is formed by
/// multiply-adds that round once. The instruction then adds the two sums, and adds the result to C.
/// It rounds to nearest even and treats subnormal numbers as zero.
///
/// The code is inline assembly, because GCC's intrinsics accept a register's number only as a
/// literal, and do not declare that a load reads memory.
struct AmxInstructions {
  static ATTN_INLINE void configure(int rows) noexcept {
    struct alignas(64) {
      std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {};
    } tiles;
    static_assert(sizeof tiles == 64);
    for (int tile = 0; tile < 8; ++tile) {
      tiles.rows[tile] = static_cast<std::uint8_t>(tile < 6 ? rows : 16);
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(tiles));
  }
  static ATTN_INLINE void release() noexcept { __asm__ volatile("tilerelease" : : : "memory"); }

  template <int T>
  static ATTN_INLINE void zero() noexcept {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  static ATTN_INLINE void load(const void* from, index row_bytes) noexcept {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(from), "r"(row_bytes), "i"(T)
                     : "memory");
  }
  template <int T>
  static ATTN_INLINE void store(float* to, index row_bytes) noexcept {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(to), "r"(row_bytes), "i"(T)
                     : "memory");
  }
  template <int C, int A, int B>
  static ATTN_INLINE void dot() noexcept {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};

}  // namespace
}  // namespace attn::kernels
