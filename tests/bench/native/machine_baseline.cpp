// The instruction set that every machine of the architecture has: NEON, or SSE2 with separate
// multiplies and adds.
#include "machine_loops.hpp"

namespace attn_bench {
namespace {

struct Baseline {
  static constexpr const char* kName = "baseline";
  typedef float Vector __attribute__((vector_size(16)));
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
  static constexpr int kChains = 12;
  static Vector madd(Vector a, Vector b, Vector c) { return a * b + c; }
};

}  // namespace

const MachineLoops* baseline_loops() { return &Loops<Baseline>::kLoops; }

}  // namespace attn_bench
