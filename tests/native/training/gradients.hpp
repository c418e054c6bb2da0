#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "allocation.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "training/values.hpp"

namespace attn_test {

/// The values and gradients from a forward and a backward pass, for tests to compare.
using Results = std::vector<std::vector<float>>;

/// Checks that results are bit-identical for any number of threads, as required of every layer on a
/// tape. `pass` clears a tape, runs a forward and a backward pass on it, and returns the results.
/// `context(n)` has n threads.
inline void expect_steady(const std::function<attn::Context&(int)>& context,
                          const std::function<Results(attn::Tape&)>& pass) {
  attn::Tape tape(context(1));
  const Results wanted = pass(tape);
  for (const int threads : {2, 3, 7}) {
    if (context(threads).num_threads() == 1) break;  // a build without threads
    attn::Tape other(context(threads));
    const Results got = pass(other);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(same_bits(got[i], wanted[i])) << threads << " threads, result " << i;
    }
  }
}

/// Checks that a steady loop allocates nothing. `pass` works as in expect_steady(), except that it
/// returns nothing and allocates no memory itself.
inline void expect_no_allocation(attn::Context& context,
                                 const std::function<void(attn::Tape&)>& pass) {
  attn::Tape tape(context);
  for (int i = 0; i < 3; ++i) pass(tape);
  {
    const AllocationProbe probe;
    for (int i = 0; i < 3; ++i) pass(tape);
    EXPECT_EQ(probe.count(), 0) << "in a steady loop";
  }
  EXPECT_GT(out_of_memory_failures([&] {
              attn::Tape fresh(context);
              pass(fresh);
            }),
            0);
}

}  // namespace attn_test
