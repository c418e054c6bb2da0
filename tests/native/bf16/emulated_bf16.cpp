#include "bf16/emulated_bf16.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "attn/instruction_set.hpp"
#include "kernels/bf16/make_bf16_table.hpp"
#include "kernels/isa/scalar.hpp"
#include "runtime/dispatch.hpp"

namespace attn::kernels {
namespace {

float flushed(float x) noexcept {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

/// a·b + c, rounded once, to nearest even, with zeros for subnormal numbers.
float multiply_add(float a, float b, float c) noexcept {
  return flushed(std::fma(flushed(a), flushed(b), flushed(c)));
}

/// As vcvtne2ps2bf16: to nearest even, zeros for subnormal numbers, NaN made quiet.
std::uint32_t rounded(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(flushed(x));
  if (std::isnan(x)) return bits >> 16 | 0x40U;
  return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
}

float first_of(float pair) noexcept {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) << 16);
}
float second_of(float pair) noexcept {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) & 0xFFFF0000U);
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

constexpr Bf16Table kTable = make_bf16_table<EmulatedIsa>();

}  // namespace
}  // namespace attn::kernels

namespace attn_test {

const attn::kernels::Bf16Table& emulated_bf16_table() noexcept { return attn::kernels::kTable; }

std::vector<const attn::kernels::Bf16Table*> bf16_tables() {
  std::vector<const attn::kernels::Bf16Table*> tables{&emulated_bf16_table()};
  for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
    if (const auto* table = attn::runtime::find_bf16_kernels(isa)) tables.push_back(table);
  }
  return tables;
}

}  // namespace attn_test
