#include "runtime/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "runtime/threads.hpp"

#if defined(__EMSCRIPTEN__)
#include <emscripten/threading.h>
#endif

namespace attn::runtime {
namespace {

/// Times a waiting thread looks again before it sleeps: some tens of microseconds, so that the
/// parallel loops of one call follow each other without a wake-up in between.
constexpr int kSpins = 4000;

/// The variants for WebAssembly share this code, and some of them have no threads. Which is known
/// when a module is linked: where there are none, the linker drops all that is for them.
bool has_threads() noexcept {
#if defined(__EMSCRIPTEN__)
  return emscripten_has_threading_support() != 0;
#else
  return true;
#endif
}

inline void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

}  // namespace

struct ThreadPool::Shared {
  std::vector<Thread> threads;
  /// The caller's threads, if it has brought some, and how many it may take.
  ParallelFor parallel_for;
  int most_threads = 1;
  /// Counts the loops started; a worker that sees a new number joins that loop.
  std::atomic<std::uint32_t> generation{0};
  /// Workers that sleep, or are about to.
  std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  std::atomic<std::int64_t> next{0};
  std::atomic<int> busy{0};
  std::int64_t count = 0;
  const Body* body = nullptr;

  void work(int worker) noexcept {
    for (std::int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      (*body)(i, worker);
    }
  }

  void worker_loop(int worker) noexcept {
    std::uint32_t seen = 0;
    for (;;) {
      for (int i = 0; i < kSpins && generation.load(std::memory_order_acquire) == seen; ++i) {
        pause_briefly();
      }
      if (generation.load(std::memory_order_acquire) == seen) sleep_until_after(seen);
      if (stopping.load(std::memory_order_acquire)) return;
      ++seen;
      work(worker);
      busy.fetch_sub(1, std::memory_order_release);
    }
  }

  // Either announce() finds this worker among the sleepers, or the worker finds the new number:
  // both first write and then read, in one order that all threads agree on.

  void sleep_until_after(std::uint32_t seen) noexcept {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    while (generation.load(std::memory_order_seq_cst) == seen) sleep_while(generation, seen);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }

  void announce() noexcept {
    generation.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0) wake_all(generation);
  }
};

ThreadPool::ThreadPool(int num_threads, ParallelFor parallel_for)
    : shared_(std::make_unique<Shared>()) {
  if (parallel_for) {
    shared_->parallel_for = std::move(parallel_for);
    shared_->most_threads = num_threads;
    return;
  }
  if (!has_threads()) return;
  shared_->threads.reserve(static_cast<std::size_t>(num_threads - 1));
  try {
    for (int worker = 1; worker < num_threads; ++worker) {
      shared_->threads.emplace_back(
          [shared = shared_.get(), worker] { shared->worker_loop(worker); });
    }
  } catch (const std::exception&) {
    // No memory, or no further thread. Those that did start are enough: results do not depend on
    // their number.
  }
}

ThreadPool::~ThreadPool() {
  if (!has_threads()) return;
  shared_->stopping.store(true, std::memory_order_release);
  shared_->announce();
  for (Thread& thread : shared_->threads) thread.join();
}

int ThreadPool::num_threads() const noexcept {
  return shared_->parallel_for ? shared_->most_threads
                               : static_cast<int>(shared_->threads.size()) + 1;
}

void ThreadPool::run(std::int64_t count, Body body) noexcept {
  Shared& shared = *shared_;
  if (shared.parallel_for && count > 1 && shared.most_threads > 1) {
    shared.body = &body;
    shared.count = count;
    shared.next.store(0, std::memory_order_relaxed);
    const auto threads = static_cast<int>(std::min<std::int64_t>(count, shared.most_threads));
    shared.parallel_for(threads, [&shared](int worker) { shared.work(worker); });
    return;
  }
  if (!has_threads() || shared.threads.empty() || count < 2) {
    run_alone(count, body);
    return;
  }
  shared.body = &body;
  shared.count = count;
  shared.next.store(0, std::memory_order_relaxed);
  shared.busy.store(static_cast<int>(shared.threads.size()), std::memory_order_relaxed);
  shared.announce();
  shared.work(0);
  // Spins rather than sleeps: the others are in their last piece, and a browser's main thread may
  // not sleep.
  for (int i = 0; shared.busy.load(std::memory_order_acquire) != 0; ++i) {
    pause_briefly();
    if (i > kSpins) yield();
  }
}

void ThreadPool::run_alone(std::int64_t count, Body body) noexcept {
  for (std::int64_t i = 0; i < count; ++i) body(i, 0);
}

int hardware_threads() noexcept {
#if defined(__EMSCRIPTEN__)
  return has_threads() ? std::max(1, emscripten_num_logical_cores()) : 1;
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

}  // namespace attn::runtime
