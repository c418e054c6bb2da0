#pragma once

#include <cstdint>
#include <memory>

#include "attn/context.hpp"
#include "function_ref.hpp"
#include "runtime/available_threads.hpp"

namespace attn::runtime {

/// A fixed set of threads that share loops: either the pool's own threads, or the threads of the
/// caller's parallel_for. The calling thread works too, so a pool of one worker starts no thread.
class ThreadPool {
 public:
  /// A loop body. It is called once per index, with the number of the worker that runs it: 0 …
  /// num_threads-1.
  using Body = FunctionRef<void(std::int64_t index, int worker)>;

  /// Uses fewer than `num_threads` threads if the system refuses to start so many. A loop wakes at
  /// most `most_helpers` of the pool's own threads, because more threads than processors would only
  /// take turns with the caller.
  explicit ThreadPool(int num_threads, ParallelFor parallel_for = {},
                      int most_helpers = available_threads() - 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The number of workers. It does not change after end_threads() or a fork.
  int num_threads() const noexcept { return num_threads_; }

  /// Runs `body` for 0 … count-1, in no particular order, and returns when all are done. Workers
  /// claim indices one at a time, so the caller waits only for indices that are already in progress
  /// on other threads. A thread that has not started an index never delays the caller. Must not be
  /// called by two threads at the same time.
  void run(std::int64_t count, Body body) noexcept;
  /// Like run(), but the calling thread does all the work.
  static void run_alone(std::int64_t count, Body body) noexcept;

  /// Ends the pool's own threads. Later loops run on the calling thread. Must not be called during
  /// a loop.
  void end_threads() noexcept;

  /// Forgets the pool's own threads, which a forked child does not have. The next loop starts new
  /// threads. Call this on the child's only thread, before anything else uses the pool.
  void restart_after_fork() noexcept;

 private:
  struct Shared;

  void start_threads() noexcept;

  std::unique_ptr<Shared> shared_;
  int num_threads_ = 1;
};

}  // namespace attn::runtime
