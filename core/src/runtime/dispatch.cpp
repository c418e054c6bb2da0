#include "runtime/dispatch.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(ATTN_HAS_AMX)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__)
#if defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

namespace attn {
namespace {

struct Implementation {
  InstructionSet isa;
  const char* name;
  /// Returns null if this build has no such kernels.
  const kernels::KernelTable* (*table)() noexcept;
  bool (*is_supported)() noexcept;
  const kernels::Bf16Table* (*bf16_table)() noexcept = nullptr;
};

bool always() noexcept { return true; }

#if defined(__x86_64__)
#define ATTN_X86_TABLE(function) &kernels::function
// The CPU detection of GCC and Clang also checks whether the operating system saves the registers.
bool has_sse4_1() noexcept { return __builtin_cpu_supports("sse4.1"); }
bool has_avx2() noexcept {
  // In Clang 14, __builtin_cpu_supports has no name for F16C.
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kF16c = 1U << 29;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __get_cpuid(1, &a, &b, &c, &d) && (c & kF16c) != 0;
}
bool has_avx512() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd") && has_avx2();
}
bool has_avx512_vnni() noexcept { return __builtin_cpu_supports("avx512vnni") && has_avx512(); }
// Every processor with AVX512-BF16 also has AVX512-VNNI.
bool has_avx512_bf16() noexcept {
  return __builtin_cpu_supports("avx512bf16") && has_avx512_vnni();
}

#if defined(ATTN_HAS_AMX)
#define ATTN_AMX_TABLE(function) &kernels::function
/// Requests the tile registers, 8 KB per thread. Linux gives them only to a process that requests
/// them; one request covers all threads of the process. Linux rejects the request if a thread's
/// alternative signal stack is too small for them, and versions before 5.16 do not support it.
bool may_use_tiles() noexcept {
  constexpr long kAskForState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}
bool has_amx_bf16() noexcept {
  if (!has_avx512_bf16()) return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1U << 22, kTile = 1U << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kBf16) == 0 || (d & kTile) == 0)
    return false;
  // Checks that the operating system saves the data and the configuration of tiles. The xgetbv
  // instruction is available on every machine with AVX-512.
  constexpr unsigned kStates = 3U << 17;
  unsigned states = 0, high = 0;
  __asm__("xgetbv" : "=a"(states), "=d"(high) : "c"(0));
  return (states & kStates) == kStates && may_use_tiles();
}
#else
#define ATTN_AMX_TABLE(function) nullptr
bool has_amx_bf16() noexcept { return false; }
#endif
#else
#define ATTN_X86_TABLE(function) nullptr
#define ATTN_AMX_TABLE(function) nullptr
bool has_sse4_1() noexcept { return false; }
bool has_avx2() noexcept { return false; }
bool has_avx512() noexcept { return false; }
bool has_avx512_vnni() noexcept { return false; }
bool has_avx512_bf16() noexcept { return false; }
bool has_amx_bf16() noexcept { return false; }
#endif

#if defined(__aarch64__)
#define ATTN_NEON_TABLE(function) &kernels::function
#if defined(__APPLE__)
bool has_feature(const char* name) noexcept {
  int has_it = 0;
  std::size_t size = sizeof has_it;
  return sysctlbyname(name, &has_it, &size, nullptr, 0) == 0 && has_it != 0;
}
bool has_neon_dotprod() noexcept { return has_feature("hw.optional.arm.FEAT_DotProd"); }
bool has_bf16() noexcept { return has_feature("hw.optional.arm.FEAT_BF16"); }
#elif defined(__linux__)
bool has_neon_dotprod() noexcept {
  constexpr unsigned long kDotprod = 1UL << 20;  // HWCAP_ASIMDDP
  return (getauxval(AT_HWCAP) & kDotprod) != 0;
}
bool has_bf16() noexcept {
  constexpr unsigned long kBf16 = 1UL << 14;  // HWCAP2_BF16
  return (getauxval(AT_HWCAP2) & kBf16) != 0;
}
#else
bool has_neon_dotprod() noexcept { return false; }
bool has_bf16() noexcept { return false; }
#endif
#else
#define ATTN_NEON_TABLE(function) nullptr
bool has_neon_dotprod() noexcept { return false; }
bool has_bf16() noexcept { return false; }
#endif
// The kernels of neon_bf16 use both kinds of instructions.
bool has_neon_bf16() noexcept { return has_bf16() && has_neon_dotprod(); }

#if defined(ATTN_HAS_NEON_BF16)
#define ATTN_NEON_BF16_TABLE(function) &kernels::function
#else
#define ATTN_NEON_BF16_TABLE(function) nullptr
#endif

// A WebAssembly module contains only the table of its variant, to stay small. The machine can run
// this table, because otherwise the module would not have loaded.
#if defined(__wasm_relaxed_simd__)
#define ATTN_RELAXED_TABLE &kernels::wasm_relaxed_simd_table
#define ATTN_SIMD128_TABLE nullptr
#define ATTN_SCALAR_TABLE nullptr
#elif defined(__wasm_simd128__)
#define ATTN_RELAXED_TABLE nullptr
#define ATTN_SIMD128_TABLE &kernels::wasm_simd128_table
#define ATTN_SCALAR_TABLE nullptr
#else
#define ATTN_RELAXED_TABLE nullptr
#define ATTN_SIMD128_TABLE nullptr
#define ATTN_SCALAR_TABLE &kernels::scalar_table
#endif

/// Best first.
constexpr std::array kImplementations{
    Implementation{InstructionSet::kAmxBf16, "amx_bf16", ATTN_AMX_TABLE(avx512_vnni_table),
                   &has_amx_bf16, ATTN_AMX_TABLE(amx_bf16_table)},
    Implementation{InstructionSet::kAvx512Bf16, "avx512_bf16", ATTN_X86_TABLE(avx512_vnni_table),
                   &has_avx512_bf16, ATTN_X86_TABLE(avx512_bf16_table)},
    Implementation{InstructionSet::kAvx512Vnni, "avx512_vnni", ATTN_X86_TABLE(avx512_vnni_table),
                   &has_avx512_vnni},
    Implementation{InstructionSet::kAvx512, "avx512", ATTN_X86_TABLE(avx512_table), &has_avx512},
    Implementation{InstructionSet::kAvx2, "avx2", ATTN_X86_TABLE(avx2_table), &has_avx2},
    Implementation{InstructionSet::kSse41, "sse4_1", ATTN_X86_TABLE(sse4_1_table), &has_sse4_1},
    Implementation{InstructionSet::kNeonBf16, "neon_bf16", ATTN_NEON_BF16_TABLE(neon_dotprod_table),
                   &has_neon_bf16, ATTN_NEON_BF16_TABLE(neon_bf16_table)},
    Implementation{InstructionSet::kNeonDotprod, "neon_dotprod",
                   ATTN_NEON_TABLE(neon_dotprod_table), &has_neon_dotprod},
    Implementation{InstructionSet::kNeon, "neon", ATTN_NEON_TABLE(neon_table), &always},
    Implementation{InstructionSet::kWasmRelaxedSimd, "wasm_relaxed_simd", ATTN_RELAXED_TABLE,
                   &always},
    Implementation{InstructionSet::kWasmSimd128, "wasm_simd128", ATTN_SIMD128_TABLE, &always},
    Implementation{InstructionSet::kScalar, "scalar", ATTN_SCALAR_TABLE, &always},
};

/// The features of the machine. They are queried only once per process, because in a virtual
/// machine each CPUID instruction calls the hypervisor and takes longer than many operations.
struct DetectedSets {
  std::array<bool, kImplementations.size()> runs{};
  /// The instruction sets that this machine can run, best first.
  std::array<InstructionSet, kImplementations.size()> isa{};
  std::size_t count = 0;
};

const DetectedSets& detected_sets() noexcept {
  static const DetectedSets detected = [] {
    DetectedSets found;
    for (std::size_t i = 0; i < kImplementations.size(); ++i) {
      const Implementation& implementation = kImplementations[i];
      found.runs[i] = implementation.table && implementation.is_supported();
      if (found.runs[i]) found.isa[found.count++] = implementation.isa;
    }
    return found;
  }();
  return detected;
}

/// Returns null if this build lacks the kernels or the machine cannot run them.
const Implementation* find_implementation(InstructionSet isa) noexcept {
  for (std::size_t i = 0; i < kImplementations.size(); ++i) {
    if (kImplementations[i].isa == isa && detected_sets().runs[i]) return &kImplementations[i];
  }
  return nullptr;
}

}  // namespace

const char* to_string(InstructionSet isa) noexcept {
  for (const Implementation& implementation : kImplementations) {
    if (implementation.isa == isa) return implementation.name;
  }
  return "unknown";
}

std::optional<InstructionSet> parse_instruction_set(std::string_view name) noexcept {
  for (const Implementation& implementation : kImplementations) {
    if (name == implementation.name) return implementation.isa;
  }
  return std::nullopt;
}

std::span<const InstructionSet> supported_instruction_sets() noexcept {
  const DetectedSets& detected = detected_sets();
  return {detected.isa.data(), detected.count};
}

namespace runtime {

const kernels::KernelTable* find_kernels(InstructionSet isa) noexcept {
  const Implementation* const implementation = find_implementation(isa);
  return implementation ? implementation->table() : nullptr;
}

const kernels::Bf16Table* find_bf16_kernels(InstructionSet isa) noexcept {
  const Implementation* const implementation = find_implementation(isa);
  return implementation && implementation->bf16_table ? implementation->bf16_table() : nullptr;
}

const kernels::KernelTable& best_kernels() noexcept {
  return *find_kernels(supported_instruction_sets().front());
}

}  // namespace runtime
}  // namespace attn
