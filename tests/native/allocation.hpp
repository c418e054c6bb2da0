#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>

#include "compare.hpp"

namespace attn_test {

/// Counts calls to operator new during its lifetime and makes them fail on demand.
class AllocationProbe {
 public:
  AllocationProbe();
  ~AllocationProbe();
  AllocationProbe(const AllocationProbe&) = delete;
  AllocationProbe& operator=(const AllocationProbe&) = delete;

  /// Number of calls to operator new since the probe was created.
  std::int64_t count() const;

  /// Lets the next `successes` calls succeed and makes all later calls throw std::bad_alloc until
  /// the probe ends.
  void fail_after(std::int64_t successes);
  /// Lets the next `successes` calls succeed, makes the following call throw std::bad_alloc, and
  /// lets all later calls succeed.
  void fail_once_after(std::int64_t successes);
};

/// Expects that a call allocates nothing once it has run a few times.
template <class F>
void expect_no_allocations(F&& call) {
  for (int i = 0; i < 3; ++i) call();
  const AllocationProbe probe;
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(probe.count(), 0);
}

/// True if a call succeeds with only `allowed` allocations. Otherwise the call must throw
/// std::bad_alloc; any other exception ends the test.
template <class F>
bool succeeds_with_allocations(std::int64_t allowed, F&& call) {
  AllocationProbe probe;
  probe.fail_after(allowed);
  try {
    call();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// Repeats a call until it succeeds, first with no allocation allowed, then with one, then two.
/// Whenever a call runs out of memory, check(allowed) must find that nothing has changed.
template <class Call, class Check>
void expect_unchanged_until_memory_suffices(Call&& call, Check&& check) {
  std::int64_t allowed = 0;
  for (; !succeeds_with_allocations(allowed, call); ++allowed) {
    ASSERT_LT(allowed, 1000);
    check(allowed);
  }
  EXPECT_GT(allowed, 0);
}

/// Returns "bad_alloc" if the call runs out of memory, and the result of error_of() otherwise.
template <class F>
std::string error_or_bad_alloc(F&& call) {
  try {
    return error_of(call);
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  }
}

/// Repeats a call, making its first allocation fail, then its second, and so on. Returns the number
/// of calls that throw std::bad_alloc. Any other exception ends the test.
template <class F>
int out_of_memory_failures(F&& call) {
  int failures = 0;
  for (std::int64_t allowed = 0; allowed < 10'000; ++allowed) {
    AllocationProbe probe;
    probe.fail_once_after(allowed);
    try {
      call();
      if (probe.count() <= allowed) return failures;
    } catch (const std::bad_alloc&) {
      ++failures;
    }
  }
  ADD_FAILURE() << "the call never stops requesting memory";
  return failures;
}

}  // namespace attn_test
