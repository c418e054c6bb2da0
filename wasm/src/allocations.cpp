// Allocates and frees memory for JavaScript's tensors.

#include "allocations.hpp"

#include <emscripten/bind.h>

#include <cstdlib>
#include <map>

namespace attn::wasm {
namespace {

#ifdef ATTN_CHECK_ADDRESSES
/// Sizes of allocations by address.
std::map<std::uintptr_t, std::size_t>& allocations() {
  static auto& sizes = *new std::map<std::uintptr_t, std::size_t>;
  return sizes;
}

/// Records an allocation. Discards the records of earlier allocations that begin inside the new
/// allocation.
void keep(std::uintptr_t address, std::size_t bytes) {
  auto& all = allocations();
  all.erase(all.lower_bound(address), all.lower_bound(address + bytes));
  all[address] = bytes;
}
#endif

/// Returns the address, or 0 if there is not enough memory.
std::uintptr_t allocate(std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
#ifdef ATTN_CHECK_ADDRESSES
  if (address) keep(address, bytes);
#endif
  return address;
}

void release(std::uintptr_t address) {
#ifdef ATTN_CHECK_ADDRESSES
  if (allocations().erase(address) == 0) std::abort();
#endif
  std::free(reinterpret_cast<void*>(address));
}

}  // namespace

#ifdef ATTN_CHECK_ADDRESSES
void check_address(std::uintptr_t address, std::size_t element_size,
                   std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || strides[d] < 0) std::abort();
    if (shape[d] == 0) return;
    last += (shape[d] - 1) * strides[d];
  }
  const auto after = allocations().upper_bound(address);
  if (after == allocations().begin()) std::abort();
  const auto& [start, size] = *std::prev(after);
  const std::uint64_t end = address - start + (static_cast<std::uint64_t>(last) + 1) * element_size;
  if (end > size || address % element_size != 0) std::abort();
}

void lend(const ConstTensor& tensor) {
  std::size_t bytes = sizeof(float);
  for (const std::int64_t size : tensor.shape()) bytes *= static_cast<std::size_t>(size);
  keep(reinterpret_cast<std::uintptr_t>(tensor.data()), bytes);
}
#endif

EMSCRIPTEN_BINDINGS(allocations) {
  emscripten::function("allocate", &allocate);
  emscripten::function("release", &release);
}

}  // namespace attn::wasm
