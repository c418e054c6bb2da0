#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <span>
#include <string>

#include "attn/context.hpp"
#include "attn/instruction_set.hpp"

namespace attn_test {

/// A fixture whose tests run once for each instruction set that this machine can execute:
///
///   using LinearTest = attn_test::EveryInstructionSet;
///   INSTANTIATE_EVERY_INSTRUCTION_SET(LinearTest);
///   TEST_P(LinearTest, bias_is_added) { attn::linear(..., context()); }
///
/// gives LinearTest.bias_is_added/avx2 and so on. (A fixture with members derives from it instead.)
class EveryInstructionSet : public ::testing::TestWithParam<attn::InstructionSet> {
 protected:
  /// The context of the instruction set under test. Contexts are kept from test to test, so that
  /// threads are started once; a program without threads gives one thread whatever is asked for.
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

#define INSTANTIATE_EVERY_INSTRUCTION_SET(Suite)                                               \
  INSTANTIATE_TEST_SUITE_P(, Suite,                                                            \
                           ::testing::ValuesIn(attn::supported_instruction_sets().data(),      \
                                               attn::supported_instruction_sets().data() +     \
                                                   attn::supported_instruction_sets().size()), \
                           attn_test::instruction_set_name)
