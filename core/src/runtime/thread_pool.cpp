#include "runtime/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "runtime/threads.hpp"

namespace attn::runtime {
namespace {

/// Number of times that an idle worker looks for a new loop before it sleeps. The worker looks for
/// some tens of microseconds, so it is still awake when the next parallel loop of the same call
/// begins. In WebAssembly, ten times this number makes calls no faster.
constexpr int kSpinsBeforeSleep = 4000;
/// Number of checks after which a caller that waits for the other threads starts to yield to them.
constexpr int kSpinsBeforeYield = 500;

/// Alignment that separates data written by different threads.
constexpr std::size_t kCacheLine = 64;

inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

}  // namespace

// A loop is stored in `unclaimed`, `count` and `body`. Claiming an index is one subtraction from
// `unclaimed`. If `unclaimed` was positive before, the loop cannot end before the claimed index is
// done, so its body and its count may be read. Otherwise, there is nothing to claim, and no part of
// the loop may be read, because its caller may have returned long ago. A worker that has missed any
// number of loops therefore either helps with the current loop or touches no loop.
struct ThreadPool::Shared {
  struct alignas(kCacheLine) Seat {
    Sleeper sleeper;
  };

  std::vector<Thread> threads;
  /// A Sleeper for each thread that may be started; each Sleeper has its own cache line.
  std::unique_ptr<Seat[]> seats;
  /// The caller's threads, if the caller provides any.
  ParallelFor parallel_for;
  int most_helpers = 0;
  bool must_start = false;

  /// The number of unclaimed indices minus the number of failed attempts to claim an index.
  alignas(kCacheLine) std::atomic<std::int64_t> unclaimed{0};
  /// The number of indices that workers other than the caller have finished.
  alignas(kCacheLine) std::atomic<std::int64_t> done{0};
  /// Number of loops offered so far. Idle workers watch it.
  alignas(kCacheLine) std::atomic<std::uint32_t> loops{0};
  /// Number of workers that sleep or have announced a sleep, and have not been woken since.
  std::atomic<int> asleep{0};
  std::atomic<bool> stopping{false};
  std::int64_t count = 0;
  const Body* body = nullptr;

  /// Runs the body for all indices of the current loop that this worker can claim. Returns their
  /// number.
  std::int64_t work(int worker) noexcept {
    std::int64_t left = unclaimed.fetch_sub(1, std::memory_order_acquire);
    if (left <= 0) return 0;
    const std::int64_t total = count;
    const Body run = *body;
    std::int64_t finished = 0;
    do {
      run(total - left, worker);
      ++finished;
      left = unclaimed.fetch_sub(1, std::memory_order_relaxed);
    } while (left > 0);
    return finished;
  }

  void worker_loop(int worker) noexcept {
    std::uint32_t seen = 0;
    for (;;) {
      for (int i = 0; i < kSpinsBeforeSleep && loops.load(std::memory_order_acquire) == seen; ++i) {
        pause_briefly();
      }
      if (loops.load(std::memory_order_acquire) == seen) sleep_until_after(seen, worker);
      if (stopping.load(std::memory_order_acquire)) return;
      seen = loops.load(std::memory_order_acquire);
      const std::int64_t finished = work(worker);
      // This addition may complete the loop. The loop's owner may then destroy it, so do not access
      // the loop after this line.
      if (finished != 0) done.fetch_add(finished, std::memory_order_release);
    }
  }

  // Both offer() and this worker first write and then read, in one order that all threads agree on.
  // So either offer() finds this worker asleep, or the worker sees the new number of loops.

  void sleep_until_after(std::uint32_t seen, int worker) noexcept {
    Sleeper& sleeper = seats[worker - 1].sleeper;
    asleep.fetch_add(1, std::memory_order_seq_cst);
    sleeper.announce();
    if (loops.load(std::memory_order_seq_cst) == seen) {
      sleeper.sleep();
    } else if (sleeper.wake()) {
      asleep.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  /// Announces a loop to idle workers, and wakes sleeping workers if fewer than `helpers` are
  /// awake. Workers that were woken but have not run yet count as awake, so that a busy machine is
  /// not asked to wake them again for each loop.
  void offer(int helpers) noexcept {
    loops.fetch_add(1, std::memory_order_seq_cst);
    const auto workers = static_cast<int>(threads.size());
    int missing = helpers - (workers - asleep.load(std::memory_order_seq_cst));
    for (int i = 0; missing > 0 && i < workers; ++i) {
      if (!seats[i].sleeper.wake()) continue;
      asleep.fetch_sub(1, std::memory_order_relaxed);
      --missing;
    }
  }
};

ThreadPool::ThreadPool(int num_threads, ParallelFor parallel_for, int most_helpers)
    : shared_(std::make_unique<Shared>()) {
  if (parallel_for) {
    shared_->parallel_for = std::move(parallel_for);
    num_threads_ = num_threads;
    return;
  }
  if (!has_threads() || num_threads == 1) return;
  shared_->most_helpers = most_helpers;
  shared_->threads.reserve(static_cast<std::size_t>(num_threads - 1));
  shared_->seats = std::make_unique<Shared::Seat[]>(static_cast<std::size_t>(num_threads - 1));
  num_threads_ = num_threads;
  start_threads();
  num_threads_ = static_cast<int>(shared_->threads.size()) + 1;
}

void ThreadPool::start_threads() noexcept {
  Shared* const shared = shared_.get();
  try {
    for (int worker = 1; worker < num_threads_; ++worker) {
      shared->threads.emplace_back([shared, worker] { shared->worker_loop(worker); });
    }
  } catch (const std::exception&) {
    // The system is out of memory or threads. The threads that did start are enough, because
    // results do not depend on their number.
  }
}

ThreadPool::~ThreadPool() { end_threads(); }

void ThreadPool::end_threads() noexcept {
  Shared& shared = *shared_;
  shared.must_start = false;
  if (!has_threads() || shared.threads.empty()) return;
  shared.stopping.store(true, std::memory_order_release);
  shared.offer(static_cast<int>(shared.threads.size()));
  for (Thread& thread : shared.threads) thread.join();
  shared.threads.clear();
}

void ThreadPool::restart_after_fork() noexcept {
#if !defined(__EMSCRIPTEN__)
  Shared& shared = *shared_;
  if (shared.threads.empty()) return;
  // The child has none of these threads, so joining them would wait forever.
  for (Thread& thread : shared.threads) new (&thread) Thread();
  shared.threads.clear();
  for (int i = 0; i + 1 < num_threads_; ++i) new (&shared.seats[i]) Shared::Seat();
  shared.loops.store(0, std::memory_order_relaxed);
  shared.asleep.store(0, std::memory_order_relaxed);
  shared.must_start = true;
#endif
}

void ThreadPool::run(std::int64_t count, Body body) noexcept {
  Shared& shared = *shared_;
  if (count < 2 || num_threads_ == 1) return run_alone(count, body);
  if (shared.must_start) {
    shared.must_start = false;
    start_threads();
  }
  const auto workers = static_cast<std::int64_t>(
      shared.parallel_for ? num_threads_ - 1 : static_cast<int>(shared.threads.size()));
  if (workers == 0) return run_alone(count, body);
  shared.body = &body;
  shared.count = count;
  shared.done.store(0, std::memory_order_relaxed);
  shared.unclaimed.store(count, std::memory_order_release);
  if (shared.parallel_for) {
    shared.parallel_for(static_cast<int>(std::min(count, workers + 1)),
                        [&shared](int worker) { shared.work(worker); });
    return;
  }
  shared.offer(static_cast<int>(std::min<std::int64_t>(count - 1, shared.most_helpers)));
  const std::int64_t others = count - shared.work(0);
  // Spins instead of sleeping, because the other threads are finishing their last index, and a
  // browser's main thread may not sleep.
  for (int i = 0; shared.done.load(std::memory_order_acquire) != others; ++i) {
    pause_briefly();
    if (i > kSpinsBeforeYield) yield();
  }
}

void ThreadPool::run_alone(std::int64_t count, Body body) noexcept {
  for (std::int64_t i = 0; i < count; ++i) body(i, 0);
}

}  // namespace attn::runtime
