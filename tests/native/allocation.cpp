#include "allocation.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace attn_test {
namespace {

#if defined(_WIN32)
void* allocate_aligned(std::size_t alignment, std::size_t size) {
  return _aligned_malloc(size, alignment);
}
void free_aligned(void* memory) { _aligned_free(memory); }
#else
void* allocate_aligned(std::size_t alignment, std::size_t size) {
  return std::aligned_alloc(alignment, size);
}
void free_aligned(void* memory) { std::free(memory); }
#endif

// Not thread_local: in WebAssembly, variants with and without threads share object files, and in
// variants without threads a thread_local variable would overlap other data.
std::atomic<std::int64_t> allocations = 0;
std::atomic<std::int64_t> allowed = -1;  // negative: no limit
std::atomic<bool> only_once = false;

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (allowed == 0) {
    if (only_once) allowed = -1;
    throw std::bad_alloc();
  }
  if (allowed > 0) --allowed;
  // aligned_alloc requires a multiple of the alignment.
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = nullptr;
  // Do not request a size beyond the address space, because valgrind would report it.
  if (rounded >= size && rounded <= PTRDIFF_MAX) {
    memory = allocate_aligned(alignment, rounded == 0 ? alignment : rounded);
  }
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

AllocationProbe::AllocationProbe() {
  allocations = 0;
  allowed = -1;
  only_once = false;
}
AllocationProbe::~AllocationProbe() { allowed = -1; }
std::int64_t AllocationProbe::count() const { return allocations; }
void AllocationProbe::fail_after(std::int64_t successes) { allowed = successes; }
void AllocationProbe::fail_once_after(std::int64_t successes) {
  allowed = successes;
  only_once = true;
}

}  // namespace attn_test

// The array forms of operator new and delete call the operators below, except with
// AddressSanitizer, which has its own array forms.
void* operator new(std::size_t size) {
  return attn_test::allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return attn_test::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return attn_test::allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { attn_test::free_aligned(memory); }
void operator delete(void* memory, std::size_t) noexcept { attn_test::free_aligned(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { attn_test::free_aligned(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  attn_test::free_aligned(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  attn_test::free_aligned(memory);
}
