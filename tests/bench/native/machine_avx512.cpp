#include "machine_loops.hpp"

namespace attn_bench {
namespace {

struct Avx512 {
  static constexpr const char* kName = "avx512";
  typedef float Vector __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
  static constexpr int kChains = 24;
  static Vector madd(Vector a, Vector b, Vector c) { return a * b + c; }
};

}  // namespace

const MachineLoops* avx512_loops() {
  return __builtin_cpu_supports("avx512f") ? &Loops<Avx512>::kLoops : nullptr;
}

}  // namespace attn_bench
