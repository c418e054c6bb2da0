#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "attn/export.hpp"

namespace attn {

/// The instruction sets for which attn has kernels. A Context chooses one when it is created: the
/// best that the machine can run, unless ContextOptions or the environment variable ATTN_ISA (set
/// to one of the names below) selects another.
enum class InstructionSet : int {
  kScalar,           ///< "scalar": plain C++ that runs anywhere.
  kSse41,            ///< "sse4_1"
  kAvx2,             ///< "avx2": AVX2 with FMA and F16C.
  kAvx512,           ///< "avx512": AVX-512 F, CD, DQ, BW and VL.
  kNeon,             ///< "neon": aarch64.
  kWasmSimd128,      ///< "wasm_simd128"
  kWasmRelaxedSimd,  ///< "wasm_relaxed_simd": SIMD128 with relaxed multiply-add.
  kAvx512Bf16,       ///< "avx512_bf16": avx512_vnni plus products of bfloat16 pairs.
  kAmxBf16,          ///< "amx_bf16": avx512_vnni plus products of bfloat16 pairs in AMX tiles.
  kNeonBf16,         ///< "neon_bf16": neon_dotprod plus products of bfloat16 pairs.
  kAvx512Vnni,       ///< "avx512_vnni": avx512 plus products of bytes, for int8 caches.
  kNeonDotprod,      ///< "neon_dotprod": neon plus products of bytes, for int8 caches.
};

/// The name of an instruction set, as ATTN_ISA expects it.
ATTN_API const char* to_string(InstructionSet isa) noexcept;

/// The instruction set with this name, or std::nullopt if there is none.
ATTN_API std::optional<InstructionSet> parse_instruction_set(std::string_view name) noexcept;

/// The instruction sets that this build contains and this machine can execute, best first.
ATTN_API std::span<const InstructionSet> supported_instruction_sets() noexcept;

}  // namespace attn
