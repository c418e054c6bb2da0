#include "attn/instruction_set.hpp"

#include <gtest/gtest.h>

#include "every_instruction_set.hpp"

namespace {

using attn::InstructionSet;
using InstructionSetTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(InstructionSetTest);

constexpr InstructionSet kAll[] = {
    InstructionSet::kScalar,          InstructionSet::kSse41,      InstructionSet::kAvx2,
    InstructionSet::kAvx512,          InstructionSet::kNeon,       InstructionSet::kWasmSimd128,
    InstructionSet::kWasmRelaxedSimd, InstructionSet::kAvx512Bf16, InstructionSet::kAmxBf16,
    InstructionSet::kNeonBf16,        InstructionSet::kAvx512Vnni, InstructionSet::kNeonDotprod};

TEST_P(InstructionSetTest, can_be_chosen) { EXPECT_EQ(context(1).instruction_set(), GetParam()); }

TEST(InstructionSetNameTest, is_parsed_back) {
  for (const InstructionSet isa : kAll) {
    EXPECT_EQ(attn::parse_instruction_set(to_string(isa)), isa) << to_string(isa);
  }
}

TEST(InstructionSetNameTest, unknown_names_are_not_parsed) {
  EXPECT_EQ(attn::parse_instruction_set(""), std::nullopt);
  EXPECT_EQ(attn::parse_instruction_set("AVX2"), std::nullopt);
  EXPECT_EQ(attn::parse_instruction_set("avx"), std::nullopt);
  EXPECT_EQ(attn::parse_instruction_set("avx2 "), std::nullopt);
  EXPECT_EQ(attn::parse_instruction_set("unknown"), std::nullopt);
}

TEST(InstructionSetNameTest, a_number_out_of_range_has_no_name) {
  EXPECT_STREQ(to_string(static_cast<InstructionSet>(99)), "unknown");
}

TEST(SupportedInstructionSetsTest, has_at_least_one_and_the_fallback_last) {
  const auto supported = attn::supported_instruction_sets();
  ASSERT_FALSE(supported.empty());
#if defined(__EMSCRIPTEN__)
  EXPECT_EQ(supported.size(), 1U);  // a WebAssembly module contains only its variant's kernels
#else
  EXPECT_EQ(supported.back(), InstructionSet::kScalar);
#endif
}

}  // namespace
