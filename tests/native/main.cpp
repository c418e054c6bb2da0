#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "attn/instruction_set.hpp"
#include "random.hpp"

// Makes operator new throw under sanitizers, too, when a request exceeds the memory. The functions
// have default visibility, because sanitizers may be shared libraries that call them.
extern "C" {
[[gnu::visibility("default")]] const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
[[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
}

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (!GTEST_FLAG_GET(list_tests)) {
    std::printf("instruction sets under test:");
    for (const attn::InstructionSet isa : attn::supported_instruction_sets()) {
      std::printf(" %s", attn::to_string(isa));
    }
    std::printf("\nATTN_TEST_SEED=%" PRIu64 "\n", attn_test::seed());
    std::fflush(stdout);
  }
  return RUN_ALL_TESTS();
}
