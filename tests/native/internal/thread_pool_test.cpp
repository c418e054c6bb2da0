#include "runtime/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace {

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
  std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(pool.num_threads()));
  std::atomic<int> clashes{0};
  pool.run(5000, [&](std::int64_t, int worker) {
    if (worker < 0 || worker >= pool.num_threads()) {
      ++clashes;
      return;
    }
    const auto w = static_cast<std::size_t>(worker);
    if (busy[w].exchange(true)) ++clashes;
    busy[w] = false;
  });
  EXPECT_EQ(clashes, 0);
}

TEST(ThreadPoolTest, what_the_workers_wrote_is_seen_after_the_loop) {
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
  for (int round = 0; round < 20; ++round) ThreadPool pool(3);
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

TEST(ThreadPoolTest, there_is_at_least_one_thread) {
  EXPECT_EQ(ThreadPool(1).num_threads(), 1);
  EXPECT_GE(attn::runtime::hardware_threads(), 1);
}

}  // namespace
