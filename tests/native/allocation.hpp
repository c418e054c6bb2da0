#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "attn/error.hpp"

namespace attn_test {

/// Counts what is asked of operator new while it lives, and makes it fail on demand.
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
  /// The next `successes` calls succeed, the one after them throws std::bad_alloc, later ones
  /// succeed.
  void fail_once_after(std::int64_t successes);
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

/// What a call says when the first, the second, … memory that it asks for cannot be had:
/// "code: message" of each error.
template <class F>
std::vector<std::string> out_of_memory_messages(F&& call) {
  std::vector<std::string> messages;
  for (std::int64_t allowed = 0; allowed < 10'000; ++allowed) {
    AllocationProbe probe;
    probe.fail_once_after(allowed);
    try {
      call();
      if (probe.count() <= allowed) return messages;
    } catch (const attn::Error& error) {
      messages.push_back(attn::to_string(error.code()) + std::string(": ") + error.what());
    } catch (const std::bad_alloc&) {
      messages.push_back("bad_alloc");
    }
  }
  ADD_FAILURE() << "asks for memory again and again";
  return messages;
}

}  // namespace attn_test
