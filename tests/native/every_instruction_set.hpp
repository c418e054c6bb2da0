#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/context.hpp"
#include "attn/instruction_set.hpp"

namespace attn_test {

/// The instruction sets that this build has kernels for, even if this machine cannot run them.
inline std::vector<attn::InstructionSet> instruction_sets_of_build() {
  using enum attn::InstructionSet;
#if defined(__x86_64__)
  return {kAvx512, kAvx2, kSse41, kScalar};
#elif defined(__aarch64__)
  return {kNeon, kScalar};
#else
  const auto supported = attn::supported_instruction_sets();
  return {supported.begin(), supported.end()};
#endif
}

/// Like instruction_sets_of_build(), plus the instruction sets that add only bfloat16 kernels.
inline std::vector<attn::InstructionSet> bf16_instruction_sets_of_build() {
  std::vector<attn::InstructionSet> sets = instruction_sets_of_build();
#if defined(__x86_64__)
  sets.insert(sets.begin(), {attn::InstructionSet::kAmxBf16, attn::InstructionSet::kAvx512Bf16});
#elif defined(__aarch64__)
  sets.insert(sets.begin(), attn::InstructionSet::kNeonBf16);
#endif
  return sets;
}

/// Like instruction_sets_of_build(), plus avx512_vnni and neon_dotprod, which differ from avx512
/// and neon only for int8 caches.
inline std::vector<attn::InstructionSet> int8_instruction_sets_of_build() {
  std::vector<attn::InstructionSet> sets = instruction_sets_of_build();
#if defined(__x86_64__)
  sets.insert(sets.begin(), attn::InstructionSet::kAvx512Vnni);
#elif defined(__aarch64__)
  sets.insert(sets.begin(), attn::InstructionSet::kNeonDotprod);
#endif
  return sets;
}

/// A fixture whose tests run once for each instruction set of the build. They are skipped for
/// instruction sets that this machine cannot execute. Example:
///
///   using LinearTest = attn_test::EveryInstructionSet;
///   INSTANTIATE_EVERY_INSTRUCTION_SET(LinearTest);
///   TEST_P(LinearTest, bias_is_added) { attn::linear(..., context()); }
///
/// The example defines the tests LinearTest.bias_is_added/avx2 and so on. To add members to a
/// fixture, derive it from this class.
class EveryInstructionSet : public ::testing::TestWithParam<attn::InstructionSet> {
 protected:
  void SetUp() override {
    if (std::ranges::count(attn::supported_instruction_sets(), GetParam()) == 0) {
      GTEST_SKIP() << "this machine cannot execute " << attn::to_string(GetParam());
    }
  }

  /// The context of the instruction set under test. Contexts are kept from test to test, so that
  /// their threads are started only once. In a build without threads every context has one thread.
  attn::Context& context(int num_threads = 2) const { return shared(GetParam(), num_threads); }

 private:
  static attn::Context& shared(attn::InstructionSet isa, int num_threads) {
    static std::map<std::pair<attn::InstructionSet, int>, std::unique_ptr<attn::Context>> contexts;
    std::unique_ptr<attn::Context>& context = contexts[{isa, num_threads}];
    if (!context) {
      context = std::make_unique<attn::Context>(
          attn::ContextOptions{.num_threads = num_threads, .instruction_set = isa});
    }
    return *context;
  }
};

inline std::string instruction_set_name(
    const ::testing::TestParamInfo<attn::InstructionSet>& info) {
  return attn::to_string(info.param);
}

}  // namespace attn_test

/// Like INSTANTIATE_EVERY_INSTRUCTION_SET, plus the instruction sets that add only bfloat16
/// kernels. For tests with bfloat16 tensors.
#define INSTANTIATE_EVERY_BF16_INSTRUCTION_SET(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(, Suite,                                                          \
                           ::testing::ValuesIn(attn_test::bf16_instruction_sets_of_build()), \
                           attn_test::instruction_set_name)

/// Like INSTANTIATE_EVERY_INSTRUCTION_SET, plus avx512_vnni and neon_dotprod. For tests with int8
/// caches.
#define INSTANTIATE_EVERY_INT8_INSTRUCTION_SET(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(, Suite,                                                          \
                           ::testing::ValuesIn(attn_test::int8_instruction_sets_of_build()), \
                           attn_test::instruction_set_name)

#define INSTANTIATE_EVERY_INSTRUCTION_SET(Suite)                                                 \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::ValuesIn(attn_test::instruction_sets_of_build()), \
                           attn_test::instruction_set_name)
