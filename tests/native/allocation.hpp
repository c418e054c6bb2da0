#pragma once

#include <cstdint>

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

}  // namespace attn_test
