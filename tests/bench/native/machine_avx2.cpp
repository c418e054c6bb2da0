#include "machine_loops.hpp"

namespace attn_bench {
namespace {

struct Avx2 {
  static constexpr const char* kName = "avx2";
  typedef float Vector __attribute__((vector_size(32)));
  typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
  static constexpr int kChains = 12;
  static Vector madd(Vector a, Vector b, Vector c) { return a * b + c; }
};

}  // namespace

const MachineLoops* avx2_loops() {
  const bool is_supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return is_supported ? &Loops<Avx2>::kLoops : nullptr;
}

}  // namespace attn_bench
