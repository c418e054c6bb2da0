#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

#include "attn/error.hpp"

namespace attn_test {

/// Counts what this thread asks of operator new while it lives, and makes it fail on demand.
class AllocationProbe {
 public:
  AllocationProbe();
  ~AllocationProbe();
  AllocationProbe(const AllocationProbe&) = delete;
  AllocationProbe& operator=(const AllocationProbe&) = delete;

  /// Calls of operator new since the probe was made.
  std::int64_t count() const;

  /// The next `successes` calls succeed, all later ones throw std::bad_alloc until the probe ends.
  void fail_after(std::int64_t successes);
};

/// Whether a call succeeds that gets memory only `allowed` times. If not, it has to say why.
template <class F>
bool succeeds_with_allocations(std::int64_t allowed, F&& call) {
  AllocationProbe probe;
  probe.fail_after(allowed);
  try {
    call();
    return true;
  } catch (const attn::Error& error) {
    EXPECT_EQ(error.code(), attn::ErrorCode::kOutOfMemory) << error.what();
  } catch (const std::bad_alloc&) {
    // Not even the message could be made.
  }
  return false;
}

}  // namespace attn_test
