#include "machine_loops.hpp"

namespace attn_bench {
namespace {

struct Wasm {
  typedef float Vector __attribute__((vector_size(16)));
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
  // x86-64 has 16 vector registers, and V8 reserves one of them.
  static constexpr int kChains = 12;
#if defined(__wasm_relaxed_simd__)
  static constexpr const char* kName = "relaxed SIMD";
  static Vector madd(Vector a, Vector b, Vector c) {
    return __builtin_wasm_relaxed_madd_f32x4(a, b, c);
  }
#else
  static constexpr const char* kName = "SIMD128";
  static Vector madd(Vector a, Vector b, Vector c) { return a * b + c; }
#endif
};

}  // namespace

const MachineLoops* wasm_loops() { return &Loops<Wasm>::kLoops; }

}  // namespace attn_bench
