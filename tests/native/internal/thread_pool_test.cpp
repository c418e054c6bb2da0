#include "runtime/thread_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/threads.hpp"

namespace {

using attn::runtime::Sleeper;
using attn::runtime::ThreadPool;

TEST(ThreadPoolTest, every_index_is_visited_once) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {0, 1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      pool.run(count, [&](std::int64_t i, int) { ++visits[static_cast<std::size_t>(i)]; });
      for (std::size_t i = 0; i < visits.size(); ++i) {
        ASSERT_EQ(visits[i], 1) << i << " of " << count << " on " << threads;
      }
    }
  }
}

TEST(ThreadPoolTest, a_worker_does_one_thing_at_a_time) {
  ThreadPool pool(3);
  // These flags are integers, because on RISC-V an atomic exchange of a single byte would need
  // another library.
  std::vector<std::atomic<int>> busy(static_cast<std::size_t>(pool.num_threads()));
  std::atomic<int> clashes{0};
  pool.run(5000, [&](std::int64_t, int worker) {
    if (worker < 0 || worker >= pool.num_threads()) {
      ++clashes;
      return;
    }
    const auto w = static_cast<std::size_t>(worker);
    if (busy[w].exchange(1) != 0) ++clashes;
    busy[w] = 0;
  });
  EXPECT_EQ(clashes, 0);
}

TEST(ThreadPoolTest, writes_of_the_workers_are_visible_after_the_loop) {
  ThreadPool pool(3);
  std::vector<std::int64_t> squares(1000);  // plain memory: ThreadSanitizer checks the order
  for (int round = 0; round < 200; ++round) {
    pool.run(std::ssize(squares),
             [&](std::int64_t i, int) { squares[static_cast<std::size_t>(i)] = i * i + round; });
    for (std::int64_t i = 0; i < std::ssize(squares); ++i) {
      ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i + round);
    }
  }
}

TEST(ThreadPoolTest, many_short_loops_lose_no_index) {
  ThreadPool pool(2);
  std::atomic<std::int64_t> sum{0};
  for (int round = 0; round < 5000; ++round) {
    pool.run(3, [&](std::int64_t i, int) { sum += i; });
  }
  EXPECT_EQ(sum, 3 * 5000);
}

TEST(ThreadPoolTest, starts_and_stops_without_a_loop) {
  for (int round = 0; round < 100; ++round) ThreadPool pool(3);
}

TEST(ThreadPoolTest, pools_work_inside_each_other) {
  ThreadPool outer(2);
  std::atomic<int> count{0};
  outer.run(4, [&](std::int64_t, int) {
    ThreadPool inner(2);
    inner.run(10, [&](std::int64_t, int) { ++count; });
  });
  EXPECT_EQ(count, 40);
}

TEST(ThreadPoolTest, there_is_at_least_one_thread) { EXPECT_EQ(ThreadPool(1).num_threads(), 1); }

TEST(ThreadPoolTest, a_woken_helper_takes_part) {
  if (!attn::runtime::has_threads()) GTEST_SKIP() << "there are no threads";
  ThreadPool pool(2, {}, 1);
  // The call for each index waits until both calls have begun, so the calling thread cannot run
  // both.
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> begun{0};
    pool.run(2, [&](std::int64_t, int) {
      ++begun;
      while (begun != 2) std::this_thread::yield();
    });
    EXPECT_EQ(begun, 2);
  }
}

// The pool cannot tell a thread that is never woken from a thread that the system does not
// schedule.
TEST(ThreadPoolTest, a_loop_ends_without_threads_that_have_not_begun) {
  if (!attn::runtime::has_threads()) GTEST_SKIP() << "there are no threads";
  ThreadPool pool(64, {}, 0);  // wakes none of them
  std::atomic<std::int64_t> sum{0};
  for (int round = 0; round < 1000; ++round) {
    pool.run(12, [&](std::int64_t i, int) { sum += i; });
  }
  EXPECT_EQ(sum, 66 * 1000);
}

// Each loop has its own body and memory, and both are destroyed when the loop ends. If a late
// worker used the body or memory of an earlier loop, the counts of a later loop would be wrong, or
// a sanitizer would report the access.
TEST(ThreadPoolTest, late_workers_touch_nothing_of_a_loop_that_has_ended) {
  if (!attn::runtime::has_threads()) GTEST_SKIP() << "there are no threads";
  constexpr int kThreads = 6;  // more than many machines have, so that some are late
  ThreadPool pool(kThreads, {}, kThreads - 1);
  for (int round = 0; round < 20000; ++round) {
    const std::int64_t count = 1 + round % 7;
    const auto visits = std::make_unique<int[]>(static_cast<std::size_t>(count));
    const auto scratch = std::make_unique<int[]>(kThreads);
    pool.run(count, [&, round](std::int64_t i, int worker) {
      scratch[static_cast<std::size_t>(worker)] = round;
      visits[static_cast<std::size_t>(i)] += 1 + scratch[static_cast<std::size_t>(worker)];
    });
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(visits[static_cast<std::size_t>(i)], 1 + round) << i << " of " << count;
    }
  }
}

TEST(ThreadPoolTest, workers_that_fall_asleep_are_woken_again) {
  if (!attn::runtime::has_threads()) GTEST_SKIP() << "there are no threads";
  ThreadPool pool(3, {}, 2);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> begun{0};
    pool.run(3, [&](std::int64_t, int) {
      ++begun;
      while (begun != 3) std::this_thread::yield();
    });
    ASSERT_EQ(begun, 3);
    // Idle workers fall asleep after some tens of microseconds. In some rounds, they are about to
    // sleep when the next parallel loop begins.
    const auto next = std::chrono::steady_clock::now() + std::chrono::microseconds(2 * round);
    while (std::chrono::steady_clock::now() < next) {
    }
  }
}

TEST(SleeperTest, a_sleeper_is_woken_or_sees_the_work_offered_before) {
  if (!attn::runtime::has_threads()) GTEST_SKIP() << "there are no threads";
  constexpr int kRounds = 1000;
  Sleeper sleeper;
  std::atomic<int> begun{0}, ended{0}, offered{0};
  bool sees_work = false;
  std::thread worker([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (begun.load(std::memory_order_acquire) != round) std::this_thread::yield();
      sleeper.announce();
      sees_work = offered == round;
      ended.store(round, std::memory_order_release);
    }
  });
  int missed = 0;
  for (int round = 1; round <= kRounds; ++round) {
    begun.store(round, std::memory_order_release);
    offered.fetch_add(1);
    const bool wakes = sleeper.wake();
    while (ended.load(std::memory_order_acquire) != round) std::this_thread::yield();
    if (!wakes && !sees_work) ++missed;
    sleeper.wake();
  }
  worker.join();
  EXPECT_EQ(missed, 0);
}

TEST(ThreadPoolTest, a_pool_whose_threads_have_ended_uses_the_calling_thread) {
  ThreadPool pool(3, {}, 2);
  const int num_threads = pool.num_threads();
  pool.end_threads();
  pool.end_threads();
  std::vector<int> workers(10, -1);
  pool.run(10, [&](std::int64_t i, int worker) { workers[static_cast<std::size_t>(i)] = worker; });
  EXPECT_EQ(std::ranges::count(workers, 0), 10);
  EXPECT_EQ(pool.num_threads(), num_threads);
}

}  // namespace
