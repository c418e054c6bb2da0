// This file is compiled separately, because windows.h defines macros such as `far`.

#include <windows.h>

#include "runtime/threads.hpp"

namespace attn::runtime {

// The wait() of GCC 12's standard library misses wake-ups on Windows.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  auto* address = const_cast<std::atomic<std::uint32_t>*>(&word);
  WaitOnAddress(address, &value, sizeof value, INFINITE);
}

void wake(std::atomic<std::uint32_t>& word) noexcept { WakeByAddressAll(&word); }

}  // namespace attn::runtime
