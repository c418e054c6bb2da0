#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "attn/context.hpp"
#include "attn/error.hpp"
#include "kernels/kernel_table.hpp"
#include "runtime/arena.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/fork_hook.hpp"
#include "runtime/thread_pool.hpp"
#include "runtime/threads.hpp"

namespace attn {

struct Context::Impl {
  Impl(int num_threads, const ParallelFor& parallel_for, InstructionSet isa,
       const kernels::KernelTable& table, const kernels::Bf16Table* bf16_table)
      : instruction_set(isa),
        kernels(table),
        bf16_kernels(bf16_table),
        pool(num_threads, parallel_for) {}

  InstructionSet instruction_set;
  const kernels::KernelTable& kernels;
  const kernels::Bf16Table* bf16_kernels;
  runtime::ThreadPool pool;
  runtime::Arena arena;
  /// The mutex is recursive, because layers call other public functions on the same context.
  runtime::RecursiveMutex mutex;
  int running_calls = 0;  ///< number of nested calls on the thread that holds the mutex
  /// The hook must be the last member, so that it is destroyed first, because it uses the other
  /// members.
  runtime::ForkHook fork_hook{[](void* impl) noexcept { static_cast<Impl*>(impl)->restore(); },
                              this};

  /// Makes the context usable again in a forked child.
  void restore() noexcept;
  /// Ends the threads and releases the scratch memory, unless a call is running. Later calls run on
  /// the calling thread.
  void end_threads_if_idle() noexcept;
};

}  // namespace attn

namespace attn::runtime {

/// Gives the library's own sources access to a context.
struct ContextAccess {
  using Impl = Context::Impl;
  static Impl& impl(Context& context) noexcept { return *context.impl_; }
};

/// One running call: locks the context, provides its kernels, scratch memory and threads, and
/// releases the memory at the end.
class Execution {
 public:
  explicit Execution(Context& context);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const kernels::KernelTable& kernels() const noexcept { return impl_.kernels; }
  /// Returns the kernels for products of bf16 pairs. If there are none, returns null, and bf16
  /// numbers are widened to float32. WebAssembly has neither these kernels nor the code that calls
  /// them.
  const kernels::Bf16Table* bf16_kernels() const noexcept {
#ifdef __EMSCRIPTEN__
    return nullptr;
#else
    return impl_.bf16_kernels;
#endif
  }
  int num_threads() const noexcept { return impl_.pool.num_threads(); }

  /// Scratch memory for `count` elements, aligned to a cache line, valid until this call ends.
  /// Throws std::bad_alloc, and kSizeOverflow with `purpose` as the argument.
  template <class T>
  T* take(std::int64_t count, const char* purpose) {
    static_assert(std::is_trivial_v<T>);
    return static_cast<T*>(take_bytes(count, sizeof(T), purpose));
  }

  float* floats(std::int64_t count, const char* purpose) { return take<float>(count, purpose); }

  /// Calls body(index, worker) for 0 … count-1 on the context's threads.
  void parallel_for(std::int64_t count, ThreadPool::Body body) noexcept {
    impl_.pool.run(count, body);
  }

  /// Like parallel_for() above, but the calling thread runs the whole loop if `multiply_adds`, the
  /// number of multiply-adds in the loop, is too small to be worth waking another thread.
  void parallel_for(std::int64_t count, double multiply_adds, ThreadPool::Body body) noexcept;

 private:
  void* take_bytes(std::int64_t count, std::size_t element_bytes, const char* purpose);

  ContextAccess::Impl& impl_;
  Lock<RecursiveMutex> lock_;
  Arena::Mark mark_;
};

}  // namespace attn::runtime
