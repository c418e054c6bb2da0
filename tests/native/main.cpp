#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "attn/instruction_set.hpp"
#include "random.hpp"

namespace attn_test {

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* text = std::getenv("ATTN_TEST_SEED");
    return text && *text ? std::strtoull(text, nullptr, 0) : std::uint64_t{20170612};
  }();
  return value;
}

Random::Random() {
  // FNV-1a rather than std::hash: the same numbers on every platform.
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  };
  if (const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info()) {
    mix(test->test_suite_name());
    mix(test->name());
  }
  std::seed_seq sequence{seed() & 0xffffffff, seed() >> 32, hash & 0xffffffff, hash >> 32};
  engine_.seed(sequence);
}

}  // namespace attn_test

// A request for more memory than there is shall throw, as without AddressSanitizer.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

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
