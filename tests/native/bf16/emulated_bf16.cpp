#include "bf16/emulated_bf16.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "attn/instruction_set.hpp"
#include "bf16/emulated_quads.hpp"
#include "bf16/emulated_tiles.hpp"
#include "kernels/bf16/make_bf16_table.hpp"
#include "kernels/isa/scalar.hpp"
#include "runtime/dispatch.hpp"

namespace attn::kernels {
namespace {

/// Like vcvtne2ps2bf16: rounds to nearest even, flushes subnormal numbers to zero, and makes NaN
/// quiet.
std::uint32_t rounded(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(flushed(x));
  if (std::isnan(x)) return bits >> 16 | 0x40U;
  return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
}

float pair_of(float first, float second) noexcept {
  return std::bit_cast<float>(rounded(first) | rounded(second) << 16);
}

struct EmulatedIsa : Isa {
  using FloatIsa = Isa;
  using Lanes = float[4];

  static F dot(F a, F b, F c) noexcept {
    Lanes x, y, sum;
    a.store_unaligned(x);
    b.store_unaligned(y);
    c.store_unaligned(sum);
    for (int i = 0; i < 4; ++i) {
      sum[i] = multiply_add(second_of(x[i]), second_of(y[i]), sum[i]);
      sum[i] = multiply_add(first_of(x[i]), first_of(y[i]), sum[i]);
    }
    return F::load_unaligned(sum);
  }
  static F narrow(F a, F b) noexcept {
    Lanes x, y;
    a.store_unaligned(x);
    b.store_unaligned(y);
    return F(pair_of(x[0], x[1]), pair_of(x[2], x[3]), pair_of(y[0], y[1]), pair_of(y[2], y[3]));
  }
  static F pair(F a, F b) noexcept {
    Lanes x, y;
    a.store_unaligned(x);
    b.store_unaligned(y);
    return F(pair_of(x[0], y[0]), pair_of(x[1], y[1]), pair_of(x[2], y[2]), pair_of(x[3], y[3]));
  }
};

/// EmulatedIsa with bfloat16 products on tiles.
struct EmulatedTileIsa : EmulatedIsa {
  using Tiles = EmulatedTiles;
  static constexpr int kRows = 32;
};

/// Adds bfloat16 products of groups of four numbers (quads) to `Isa`.
struct QuadIsa : Isa {
  using FloatIsa = Isa;
  static constexpr int kRows = 12;
  static constexpr int kVectors = 2;
  static constexpr int kScoreRows = kRows;
  static constexpr int kScoreVectors = kVectors;
  static constexpr int kValueRows = kRows;
};

constexpr Bf16Table kPairTable = make_bf16_table<EmulatedIsa>();
constexpr Bf16Table kTileTable = make_bf16_table<EmulatedTileIsa>();
constexpr Bf16Table kQuadTable = make_bf16_table<EmulatedQuads<QuadIsa>>();

}  // namespace
}  // namespace attn::kernels

namespace attn_test {

const std::vector<Bf16Kernels>& bf16_kernels() {
  static const std::vector<Bf16Kernels> all = [] {
    using attn::InstructionSet;
    [[maybe_unused]] const auto *pairs = &attn::kernels::kPairTable,
                                *tiles = &attn::kernels::kTileTable,
                                *quads = &attn::kernels::kQuadTable;
    std::vector<Bf16Kernels> found{{"emulated neon_bf16", quads, quads, InstructionSet::kScalar}};
#if !defined(__aarch64__)
    found.push_back({"emulated avx512_bf16", pairs, pairs, InstructionSet::kScalar});
    found.push_back({"emulated amx_bf16", tiles, tiles, InstructionSet::kScalar});
#endif
    [[maybe_unused]] const auto add = [&](InstructionSet isa,
                                          const attn::kernels::Bf16Table* emulation) {
      if (const auto* table = attn::runtime::find_bf16_kernels(isa)) {
        found.push_back({to_string(isa), table, emulation, isa});
        return true;
      }
      std::printf("this machine cannot execute %s: only its emulation is tested\n", to_string(isa));
      return false;
    };
#if defined(__x86_64__)
    if (add(InstructionSet::kAvx512Bf16, pairs)) {
      found.push_back({"amx_bf16 with emulated tiles", &emulated_tiles_on_avx512(), tiles,
                       InstructionSet::kAvx512Bf16});
    }
    add(InstructionSet::kAmxBf16, tiles);
#elif defined(__aarch64__)
#if defined(ATTN_HAS_NEON_BF16)
    if (attn::runtime::find_bf16_kernels(InstructionSet::kNeonBf16)) {
      found.push_back({"neon_bf16 with emulated instructions", &emulated_quads_on_neon(), quads,
                       InstructionSet::kNeon});
    }
#endif
    add(InstructionSet::kNeonBf16, quads);
#endif
    return found;
  }();
  return all;
}

}  // namespace attn_test
