// The threads of a module: as much of pthreads as the core uses, on workers that the loader has
// started. Emscripten's own library for them stays out of the module.

#include <emscripten/emmalloc.h>
#include <emscripten/emscripten.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace {

struct Block {
  void* address;
  std::size_t bytes;
};

/// Memory for what is local to a thread, which the state of exceptions is, and a stack above it.
Block make_thread_memory(std::size_t stack_bytes) {
  constexpr std::size_t kCacheLine = 64;
  const std::size_t lines = (__builtin_wasm_tls_size() + stack_bytes + kCacheLine - 1) / kCacheLine;
  return {std::aligned_alloc(kCacheLine, lines * kCacheLine), lines * kCacheLine};
}

}  // namespace

extern "C" {

/// The linker's.
void __wasm_init_tls(void* memory);

/// Gives a waiting worker its stack and what to run; in glue.js.
void attn_start_thread(void* stack, std::size_t stack_bytes, void* (*run)(void*), void* argument);

/// For the thread that loads the module: the first constructor but malloc's, which is 47.
[[gnu::constructor(48)]] void attn_init_thread_locals() {
  __wasm_init_tls(make_thread_memory(0).address);
}

bool attn_has_threads() { return true; }

/// The threads live as long as the module. There is nobody to join them.
int pthread_create(pthread_t* /*thread*/, const pthread_attr_t* /*attributes*/, void* (*run)(void*),
                   void* argument) {
  const Block memory = make_thread_memory(64 << 10);
  if (memory.address == nullptr) return EAGAIN;
  attn_start_thread(memory.address, memory.bytes, run, argument);
  return 0;
}

/// emmalloc adds a request to the address of a free block without looking for an overflow. There is
/// none where neither is above 2 GiB, as no block can be here.
void* malloc(std::size_t bytes) { return bytes >> 31 == 0 ? emmalloc_malloc(bytes) : nullptr; }

/// What the worker calls.
EMSCRIPTEN_KEEPALIVE void attn_run_thread(void* (*run)(void*), void* argument) { run(argument); }

}  // extern "C"
