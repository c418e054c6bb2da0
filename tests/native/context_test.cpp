#include "attn/context.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attention/attention_problem.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"

namespace {

using attn::Context;
using attn::InstructionSet;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::error_of;
using attn_test::Random;
using attn_test::same_bits;

/// True unless this program is one of the two WebAssembly variants without threads.
bool has_threads() { return Context({.num_threads = 2}).num_threads() == 2; }

#ifdef __EMSCRIPTEN__
constexpr bool kReadsEnvironment = false;
#else
constexpr bool kReadsEnvironment = true;
#endif

/// Sets the environment variable ATTN_ISA for as long as the object exists.
class InstructionSetVariable {
 public:
  explicit InstructionSetVariable(const char* value) {
    if (const char* old = std::getenv("ATTN_ISA")) old_ = old;
    set(value);
  }
  ~InstructionSetVariable() { set(old_ ? old_->c_str() : nullptr); }

 private:
  static void set(const char* value) {
#if defined(_WIN32)
    _putenv_s("ATTN_ISA", value ? value : "");
#else
    if (value) {
      setenv("ATTN_ISA", value, 1);
    } else {
      unsetenv("ATTN_ISA");
    }
#endif
  }
  std::optional<std::string> old_;
};

using ContextTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(ContextTest);

TEST_P(ContextTest, environment_chooses_the_instruction_set) {
  const InstructionSetVariable variable(to_string(GetParam()));
  EXPECT_EQ(Context({.num_threads = 1}).instruction_set(), GetParam());
}

TEST_P(ContextTest, option_takes_precedence_over_the_environment) {
  const InstructionSetVariable variable("no such thing");
  EXPECT_EQ(Context({.num_threads = 1, .instruction_set = GetParam()}).instruction_set(),
            GetParam());
}

TEST_P(ContextTest, scratch_memory_is_kept_between_calls) {
  Random random;
  const AttentionProblem p({.num_queries = 100, .num_keys = 700, .head_dim = 20, .value_dim = 17},
                           random);
  std::vector<float> output(100 * 17);
  Context context({.num_threads = 1, .instruction_set = GetParam()});
  const auto allocations = [&] {
    const attn_test::AllocationProbe probe;
    attn::scaled_dot_product_attention({p.query.data(), {100, 20}}, {p.key.data(), {700, 20}},
                                       {p.value.data(), {700, 17}}, {output.data(), {100, 17}}, {},
                                       context);
    return probe.count();
  };
  EXPECT_GT(allocations(), 0);
  EXPECT_EQ(allocations(), 0);
  EXPECT_EQ(allocations(), 0);
  context.release_memory();
  EXPECT_GT(allocations(), 0);
  EXPECT_EQ(allocations(), 0);
}

TEST_P(ContextTest, calls_from_many_threads_on_one_context_do_not_disturb_each_other) {
  if (!has_threads()) GTEST_SKIP() << "there are no threads";
  Random random;
  Context context({.num_threads = 2, .instruction_set = GetParam()});
  constexpr std::size_t kThreads = 4;
  std::vector<AttentionProblem> problems;
  std::vector<AttentionOutputs> expected(kThreads), got(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    problems.emplace_back(attn_test::AttentionSizes{.query_heads = 2,
                                                    .key_heads = 1,
                                                    .num_queries = 50 + static_cast<int>(t),
                                                    .num_keys = 100 + 97 * static_cast<int>(t),
                                                    .head_dim = 9,
                                                    .value_dim = 5},
                          random);
    expected[t] = attend(problems[t], context);
  }
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        got[t] = attend(problems[t], context);
        if (!same_bits(got[t].output, expected[t].output)) return;
        if (round == 5) context.release_memory();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t) {
    EXPECT_TRUE(same_bits(got[t].output, expected[t].output)) << t;
    EXPECT_TRUE(same_bits(got[t].weights, expected[t].weights)) << t;
  }
}

TEST_P(ContextTest, contexts_work_side_by_side) {
  if (!has_threads()) GTEST_SKIP() << "there are no threads";
  Random random;
  const AttentionProblem p({.num_queries = 60, .num_keys = 300, .head_dim = 9, .value_dim = 5},
                           random);
  const AttentionOutputs expected = attend(p, context(1));
  std::vector<AttentionOutputs> got(3);
  std::vector<std::thread> threads;
  for (AttentionOutputs& outputs : got) {
    threads.emplace_back([&] {
      Context own({.num_threads = 2, .instruction_set = GetParam()});
      outputs = attend(p, own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const AttentionOutputs& outputs : got) {
    EXPECT_TRUE(same_bits(outputs.output, expected.output));
  }
}

/// Runs functions on threads that are created for each call.
void on_own_threads(int count, const std::function<void(int)>& function) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&function, i] { function(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ContextTest, the_callers_threads_give_the_same_bits) {
  Random random;
  const AttentionProblem p({.query_heads = 3,
                            .key_heads = 3,
                            .num_queries = 70,
                            .num_keys = 300,
                            .head_dim = 9,
                            .value_dim = 5},
                           random);
  const AttentionOutputs expected = attend(p, context(1));
  std::vector<int> counts;
  const auto one_after_the_other = [&](int count, const std::function<void(int)>& function) {
    counts.push_back(count);
    for (int i = count; i-- > 0;) function(i);
  };
  for (const bool threads : {false, true}) {
    if (threads && !has_threads()) continue;
    Context own({.num_threads = 3,
                 .instruction_set = GetParam(),
                 .parallel_for = threads ? attn::ParallelFor(on_own_threads)
                                         : attn::ParallelFor(one_after_the_other)});
    EXPECT_EQ(own.num_threads(), 3);
    const AttentionOutputs got = attend(p, own);
    EXPECT_TRUE(same_bits(got.output, expected.output));
    EXPECT_TRUE(same_bits(got.weights, expected.weights));
  }
  EXPECT_FALSE(counts.empty());
  EXPECT_THAT(counts, ::testing::Each(::testing::AllOf(::testing::Ge(2), ::testing::Le(3))));
}

TEST_P(ContextTest, can_be_moved) {
  Random random;
  const AttentionProblem p({.num_queries = 60, .num_keys = 300, .head_dim = 9, .value_dim = 5},
                           random);
  const AttentionOutputs expected = attend(p, context(1));
  Context first({.num_threads = 2, .instruction_set = GetParam()});
  const int num_threads = first.num_threads();
  Context second = std::move(first);
  EXPECT_EQ(second.num_threads(), num_threads);
  EXPECT_EQ(second.instruction_set(), GetParam());
  EXPECT_TRUE(same_bits(attend(p, second).output, expected.output));
  first = std::move(second);
  EXPECT_TRUE(same_bits(attend(p, first).output, expected.output));
  std::vector<Context> many;
  for (int i = 0; i < 3; ++i) many.emplace_back(attn::ContextOptions{.num_threads = 1});
  EXPECT_EQ(many.back().num_threads(), 1);
}

TEST(ContextThreadsTest, number_of_threads_is_as_requested) {
  if (!has_threads()) GTEST_SKIP() << "there are no threads";
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(Context({.num_threads = threads}).num_threads(), threads);
  }
}

TEST(ContextThreadsTest, zero_requests_as_many_threads_as_can_run) {
  // There is at most one thread per processor. Control groups and affinity may allow fewer.
  const int cores =
      has_threads() ? static_cast<int>(std::max(1U, std::thread::hardware_concurrency())) : 1;
  EXPECT_GE(Context().num_threads(), 1);
  EXPECT_LE(Context().num_threads(), cores);
}

TEST(ContextThreadsTest, numbers_of_threads_out_of_range_are_errors) {
  EXPECT_EQ(error_of([] { Context context({.num_threads = -1}); }),
            "invalid_argument: num_threads: got -1, needs 0 (one per core) to 1024");
  EXPECT_EQ(error_of([] { Context context({.num_threads = 1025}); }),
            "invalid_argument: num_threads: got 1025, needs 0 (one per core) to 1024");
}

TEST(ContextInstructionSetTest, is_the_best_of_the_machine_by_default) {
  const InstructionSetVariable variable(nullptr);
  EXPECT_EQ(Context({.num_threads = 1}).instruction_set(),
            attn::supported_instruction_sets().front());
}

TEST(ContextInstructionSetTest, an_empty_variable_counts_as_unset) {
  const InstructionSetVariable variable("");
  EXPECT_EQ(Context({.num_threads = 1}).instruction_set(),
            attn::supported_instruction_sets().front());
}

TEST(ContextInstructionSetTest, an_unknown_name_is_an_error_that_lists_the_known_names) {
  if (!kReadsEnvironment) GTEST_SKIP() << "there is no environment";
  const InstructionSetVariable variable("avx3");
  std::string known;
  for (const InstructionSet isa : attn::supported_instruction_sets()) {
    known += (known.empty() ? "" : ", ") + std::string(to_string(isa));
  }
  EXPECT_EQ(error_of([] { Context context({.num_threads = 1}); }),
            "invalid_argument: ATTN_ISA: got \"avx3\", needs one of: " + known);
}

TEST(ContextInstructionSetTest, a_set_that_the_machine_lacks_is_an_error) {
#if defined(__x86_64__) || defined(__EMSCRIPTEN__)
  const InstructionSet missing = InstructionSet::kNeon;
#else
  const InstructionSet missing = InstructionSet::kAvx2;
#endif
  const std::string message = "unsupported: instruction_set: got " +
                              std::string(to_string(missing)) +
                              ", needs one that this build contains and this machine supports";
  EXPECT_EQ(error_of([&] { Context context({.num_threads = 1, .instruction_set = missing}); }),
            message);
  if (!kReadsEnvironment) return;
  const InstructionSetVariable variable(to_string(missing));
  EXPECT_EQ(error_of([] { Context context({.num_threads = 1}); }), message);
}

TEST(DefaultContextTest, is_always_the_same_object) {
  EXPECT_EQ(&Context::default_context(), &Context::default_context());
  EXPECT_GE(Context::default_context().num_threads(), 1);
}

}  // namespace
