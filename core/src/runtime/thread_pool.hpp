#pragma once

#include <cstdint>
#include <memory>

#include "attn/context.hpp"
#include "function_ref.hpp"

namespace attn::runtime {

/// A fixed set of threads that share loops: its own, or those of the caller's parallel_for. The
/// calling thread works too: a pool of one has no thread of its own.
class ThreadPool {
 public:
  /// A loop body: called once per index with the number, 0 … num_threads-1, of the worker it runs
  /// on.
  using Body = FunctionRef<void(std::int64_t index, int worker)>;

  /// Uses fewer threads when the system refuses to start as many.
  explicit ThreadPool(int num_threads, ParallelFor parallel_for = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const noexcept;

  /// Runs `body` for 0 … count-1, in no particular order, and returns when all are done. One caller
  /// at a time.
  void run(std::int64_t count, Body body) noexcept;
  /// The same, by the thread that calls.
  static void run_alone(std::int64_t count, Body body) noexcept;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

/// One thread per core; 1 where there are no threads.
int hardware_threads() noexcept;

}  // namespace attn::runtime
