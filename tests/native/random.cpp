#include "random.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace attn_test {

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* text = std::getenv("ATTN_TEST_SEED");
    return text && *text ? std::strtoull(text, nullptr, 0) : std::uint64_t{20170612};
  }();
  return value;
}

namespace {

/// The name of the running test; it ends with the test's parameter, as in "dropout/avx2".
std::string_view name_of_test() {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return test ? test->name() : "";
}

}  // namespace

Random::Random() : Random(name_of_test()) {}

Random Random::of_all_parameters() {
  const std::string_view name = name_of_test();
  return Random(name.substr(0, name.find('/')));
}

Random::Random(std::string_view name) {
  // Uses FNV-1a instead of std::hash, so that numbers are the same on every platform.
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  };
  if (const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info()) {
    mix(test->test_suite_name());
    mix(name);
  }
  std::seed_seq sequence{seed() & 0xffffffff, seed() >> 32, hash & 0xffffffff, hash >> 32};
  engine_.seed(sequence);
}

}  // namespace attn_test
