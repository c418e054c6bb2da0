#include <cstring>

#include "machine_loops.hpp"

namespace attn_bench {
namespace {

// The vector types have no operator for C += A·B on tiles of bfloat16 pairs. There are four
// independent tiles C of 16 × 16 sums. Each step adds 16 pairs of products to every sum.
struct AmxBf16 {
  static constexpr const char* kName = "amx_bf16";
  typedef float Vector __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
  static constexpr int kChains = 4;
};

float multiply_add(std::int64_t steps, float seed) {
  alignas(64) unsigned char setup[64] = {1};
  for (int tile = 0; tile < 8; ++tile) {
    setup[16 + 2 * tile] = 64;
    setup[48 + tile] = 16;
  }
  // Each bfloat16 pair is (0, upper half of `seed`), so the sums grow slowly.
  alignas(64) float numbers[256];
  for (float& x : numbers) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &seed, sizeof bits);
    bits &= 0xFFFF0000U;
    std::memcpy(&x, &bits, sizeof bits);
  }
  const std::int64_t row = 64;
  __asm__ volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"
      "tileloadd (%1,%2,1), %%tmm4\n\ttileloadd (%1,%2,1), %%tmm6"
      :
      : "m"(setup), "r"(numbers), "r"(row)
      : "memory");
  for (std::int64_t step = 0; step < steps; ++step) {
    __asm__ volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0\n\ttdpbf16ps %tmm6, %tmm4, %tmm1\n\t"
        "tdpbf16ps %tmm6, %tmm4, %tmm2\n\ttdpbf16ps %tmm6, %tmm4, %tmm3");
  }
  __asm__ volatile("tilestored %%tmm3, (%0,%1,1)\n\ttilerelease"
                   :
                   : "r"(numbers), "r"(row)
                   : "memory");
  return numbers[0];
}

constexpr MachineLoops kLoops = {AmxBf16::kName, 2LL * AmxBf16::kChains * 16 * 16 * 32,
                                 &multiply_add, &Loops<AmxBf16>::read, &Loops<AmxBf16>::fill};

}  // namespace

const MachineLoops& amx_bf16_loops() { return kLoops; }

}  // namespace attn_bench
