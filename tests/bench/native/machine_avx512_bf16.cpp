#include <immintrin.h>

#include "machine_loops.hpp"

namespace attn_bench {
namespace {

// The vector types have no operator that multiplies bfloat16 pairs and adds both products to each
// float.
struct Avx512Bf16 {
  static constexpr const char* kName = "avx512_bf16";
  typedef float Vector __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
  static constexpr int kChains = 24;
};

float multiply_add(std::int64_t steps, float seed) {
  // The numbers in `chain` stay constant or grow slowly, so no step meets a subnormal number or
  // infinity.
  const __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(seed), _mm512_set1_ps(seed));
  __m512 chain[Avx512Bf16::kChains];
  ATTN_BENCH_UNROLL
  for (int i = 0; i < Avx512Bf16::kChains; ++i) chain[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t step = 0; step < steps; ++step) {
    ATTN_BENCH_UNROLL
    for (int i = 0; i < Avx512Bf16::kChains; ++i) {
      chain[i] = _mm512_dpbf16_ps(chain[i], factor, factor);
    }
  }
  __m512 sum = _mm512_setzero_ps();
  ATTN_BENCH_UNROLL
  for (int i = 0; i < Avx512Bf16::kChains; ++i) sum = _mm512_add_ps(sum, chain[i]);
  return _mm512_reduce_add_ps(sum);
}

constexpr MachineLoops kLoops = {Avx512Bf16::kName, 4LL * Avx512Bf16::kChains * 16, &multiply_add,
                                 &Loops<Avx512Bf16>::read, &Loops<Avx512Bf16>::fill};

}  // namespace

const MachineLoops* avx512_bf16_loops() {
  return __builtin_cpu_supports("avx512bf16") ? &kLoops : nullptr;
}

}  // namespace attn_bench
