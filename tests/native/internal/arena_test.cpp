#include "runtime/arena.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "allocation.hpp"

namespace {

using attn::runtime::Arena;

TEST(ArenaTest, memory_is_aligned_and_readable_beyond_its_end) {
  Arena arena;
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 1000U, 100000U}) {
    void* memory = arena.take(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % Arena::kAlignment, 0U);
    // AddressSanitizer reports an error if the memory is shorter than the number of bytes written.
    std::memset(memory, 1, bytes + Arena::kAlignment);
  }
}

TEST(ArenaTest, pieces_do_not_overlap) {
  Arena arena;
  std::vector<std::pair<char*, std::size_t>> pieces;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t bytes = i * 37 % 5000;
    pieces.emplace_back(static_cast<char*>(arena.take(bytes)), bytes);
    std::memset(pieces.back().first, static_cast<int>(i), bytes);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t j = 0; j < pieces[i].second; ++j) {
      ASSERT_EQ(pieces[i].first[j], static_cast<char>(i));
    }
  }
}

TEST(ArenaTest, rewound_memory_is_used_again) {
  Arena arena;
  const Arena::Mark mark = arena.mark();
  void* first = arena.take(1000);
  arena.rewind(mark);
  EXPECT_EQ(arena.take(1000), first);
}

TEST(ArenaTest, memory_taken_before_a_mark_survives_rewinding) {
  Arena arena;
  char* outer = static_cast<char*>(arena.take(1000));
  std::memset(outer, 7, 1000);
  for (int round = 0; round < 3; ++round) {
    const Arena::Mark mark = arena.mark();
    for (int i = 0; i < 20; ++i) std::memset(arena.take(100000), 1, 100000);
    arena.rewind(mark);
  }
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(outer[i], 7);
}

TEST(ArenaTest, a_steady_loop_stops_asking_for_memory) {
  Arena arena;
  const auto round = [&] {
    const attn_test::AllocationProbe probe;
    const Arena::Mark outer = arena.mark();
    arena.take(1000);
    arena.take(300000);
    const Arena::Mark inner = arena.mark();
    arena.take(5000000);
    arena.take(70);
    arena.rewind(inner);
    arena.take(4000000);
    arena.rewind(outer);
    return probe.count();
  };
  EXPECT_GT(round(), 0);
  EXPECT_EQ(round(), 0);
  EXPECT_EQ(round(), 0);
}

TEST(ArenaTest, released_memory_is_requested_again) {
  Arena arena;
  const Arena::Mark mark = arena.mark();
  arena.take(100);
  arena.rewind(mark);
  arena.release();
  const attn_test::AllocationProbe probe;
  arena.take(100);
  EXPECT_GT(probe.count(), 0);
}

TEST(ArenaTest, too_large_a_request_throws_bad_alloc_and_leaves_the_arena_usable) {
  Arena arena;
  const Arena::Mark mark = arena.mark();
  EXPECT_THROW(arena.take(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(arena.take(SIZE_MAX / 2), std::bad_alloc);
  std::memset(arena.take(100), 1, 100);
  arena.rewind(mark);
}

TEST(ArenaTest, failing_to_merge_blocks_loses_nothing) {
  Arena arena;
  const Arena::Mark mark = arena.mark();
  arena.take(100000);
  arena.take(200000);
  {
    attn_test::AllocationProbe probe;
    probe.fail_after(0);
    arena.rewind(mark);
  }
  std::memset(arena.take(300000), 1, 300000);
  arena.rewind(mark);
}

}  // namespace
