#pragma once

// Bare loops of multiply-adds, reads and writes. They measure the limits of the machine, and the
// benchmark compares the kernels with these limits. Each machine_*.cpp compiles them for one
// instruction set. They use the compiler's own vector types and share nothing with the kernels.

#include <cstdint>

/// Unrolls the following short loop over vectors, so that the vectors stay in registers.
#if defined(__clang__)
#define ATTN_BENCH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATTN_BENCH_UNROLL _Pragma("GCC unroll 32")
#endif

namespace attn_bench {

/// The loops of one instruction set.
struct MachineLoops {
  const char* name;
  /// Floating-point operations in one step of `multiply_add`.
  std::int64_t step_operations;
  /// Runs independent chains of multiply-adds and nothing else. Returns the sum of their results.
  float (*multiply_add)(std::int64_t steps, float seed);
  /// Returns the sum of `count` floats.
  float (*read)(const float* x, std::int64_t count);
  void (*fill)(float* x, std::int64_t count, float value);
};

/// Each function returns the loops of one instruction set, or null if this build or this machine
/// does not have the instruction set.
const MachineLoops* baseline_loops();
const MachineLoops* avx2_loops();
const MachineLoops* avx512_loops();
/// Returns loops whose multiply-adds operate on pairs of bfloat16 numbers.
const MachineLoops* avx512_bf16_loops();
/// Returns loops whose multiply-adds operate on tiles of bfloat16 pairs. Run the loops only if
/// Linux allows this process to use tiles. attn detects whether tiles are allowed.
const MachineLoops& amx_bf16_loops();
/// SIMD128 with separate multiplies and adds, or with the multiply-adds of relaxed SIMD, depending
/// on the build.
const MachineLoops* wasm_loops();

namespace {

/// `Target` describes the instruction set of a translation unit. It defines the vector of floats,
/// madd(a, b, c) = a·b + c, and the number of multiply-add chains: enough to hide the latency, but
/// few enough to fit into the registers.
template <class Target>
struct Loops {
  using Vector = typename Target::Vector;
  using Unaligned = typename Target::Unaligned;
  static constexpr int kLanes = static_cast<int>(sizeof(Vector) / sizeof(float));
  static constexpr int kChains = Target::kChains;

  static float total(Vector v) {
    float sum = 0;
    for (int i = 0; i < kLanes; ++i) sum += v[i];
    return sum;
  }

  static float multiply_add(std::int64_t steps, float seed) {
    Vector chain[kChains];
    // The numbers in `chain` approach 1, so no step meets a subnormal number or infinity.
    const Vector factor = Vector{} + (1.0F - seed);
    const Vector addend = Vector{} + seed;
    ATTN_BENCH_UNROLL
    for (int i = 0; i < kChains; ++i) chain[i] = Vector{} + static_cast<float>(i);
    for (std::int64_t step = 0; step < steps; ++step) {
      ATTN_BENCH_UNROLL
      for (int i = 0; i < kChains; ++i) chain[i] = Target::madd(chain[i], factor, addend);
    }
    Vector sum{};
    ATTN_BENCH_UNROLL
    for (int i = 0; i < kChains; ++i) sum += chain[i];
    return total(sum);
  }

  static float read(const float* x, std::int64_t count) {
    constexpr int kSums = 8;
    Vector sum[kSums] = {};
    std::int64_t i = 0;
    for (; i + kSums * kLanes <= count; i += kSums * kLanes) {
      ATTN_BENCH_UNROLL
      for (int j = 0; j < kSums; ++j) {
        sum[j] += *reinterpret_cast<const Unaligned*>(x + i + j * kLanes);
      }
    }
    Vector all{};
    ATTN_BENCH_UNROLL
    for (int j = 0; j < kSums; ++j) all += sum[j];
    float result = total(all);
    for (; i < count; ++i) result += x[i];
    return result;
  }

  static void fill(float* x, std::int64_t count, float value) {
    const Vector values = Vector{} + value;
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      ATTN_BENCH_UNROLL
      for (int j = 0; j < 4; ++j) *reinterpret_cast<Unaligned*>(x + i + j * kLanes) = values;
    }
    for (; i < count; ++i) x[i] = value;
  }

  static constexpr MachineLoops kLoops = {Target::kName, 2LL * kChains* kLanes, &multiply_add,
                                          &read, &fill};
};

}  // namespace
}  // namespace attn_bench
