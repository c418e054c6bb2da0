// Tests contexts when a process ends or forks. Each test runs in a separate process.

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "attention/attention_problem.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/context.hpp"
#include "attn/element_type.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/random.hpp"
#include "compare.hpp"
#include "random.hpp"

#if defined(GTEST_HAS_DEATH_TEST) && !defined(__EMSCRIPTEN__) && !defined(_WIN32)

#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#endif

namespace {

bool is_forked_child = false;

}  // namespace

/// When a program ends, LeakSanitizer calls __lsan_is_turned_off() to ask whether to skip its
/// report. A forked child has none of its parent's threads, so nothing refers to the memory that
/// std::thread allocated for them.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() { return is_forked_child; }

namespace {

using attn::Context;
using attn_test::attend;
using attn_test::AttentionOutputs;
using attn_test::AttentionProblem;
using attn_test::Random;
using attn_test::same_bits;

/// Time limit in seconds after which a hanging process is killed. No test depends on its value.
constexpr unsigned kSecondsToHang = 300;

/// A problem whose work is divided among all threads of a context.
const AttentionProblem& shared_problem() {
  static const AttentionProblem& problem = []() -> const AttentionProblem& {
    Random random;
    return *new AttentionProblem({.query_heads = 4,
                                  .key_heads = 4,
                                  .num_queries = 60,
                                  .num_keys = 300,
                                  .head_dim = 16,
                                  .value_dim = 16},
                                 random);
  }();
  return problem;
}

bool computes_the_same(Context& context, const AttentionOutputs& expected) {
  return same_bits(attend(shared_problem(), context).output, expected.output);
}

/// Number of calls made so far by the thread that compute_for_ever() starts.
std::atomic<long> calls_so_far{0};

void wait_for_calls(long more) {
  const long wanted = calls_so_far + more;
  while (calls_so_far < wanted) std::this_thread::yield();
}

/// Starts a thread that makes calls forever, and returns once the second call has begun. From then
/// on the thread allocates nothing. If it allocated during a fork, it could hold a lock of
/// AddressSanitizer's allocator, and the child would inherit that lock.
void compute_for_ever(Context& context) {
  std::thread([&context] {
    attn::OwnedTensor x({1, 4, 300, 16}), output(x.shape());
    attn::fill_normal(x, {.seed = 1}, 0, 1, context);
    for (;; ++calls_so_far) attn::scaled_dot_product_attention(x, x, x, output, {}, context);
  }).detach();
  wait_for_calls(1);
}

/// Forks and returns the exit status of the child, which is success if `child` returns true.
int status_of_child(const std::function<bool()>& child) {
  const pid_t id = fork();
  if (id == 0) {
    is_forked_child = true;
    alarm(kSecondsToHang);
    std::exit(child() ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = -1;
  waitpid(id, &status, 0);
  return status;
}

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  /// Runs `statements` in a new process, which must exit successfully.
  static void in_a_process(const std::function<void()>& statements) {
    EXPECT_EXIT(
        {
          alarm(kSecondsToHang);
          statements();
        },
        ::testing::ExitedWithCode(EXIT_SUCCESS), "");
  }
};

/// Calls a function when the program ends, after all objects that a test created have been
/// destroyed.
struct AtTheEnd {
  std::function<void()> function;
  ~AtTheEnd() {
    if (function) function();
  }
};
AtTheEnd at_the_end;

TEST_F(ProcessTest, may_exit_while_a_thread_computes_with_the_default_context) {
  in_a_process([] {
    compute_for_ever(Context::default_context());
    at_the_end.function = [] { wait_for_calls(3); };
    std::exit(EXIT_SUCCESS);
  });
}

TEST_F(ProcessTest, may_exit_while_the_default_context_has_nothing_to_do) {
  in_a_process([] {
    attend(shared_problem(), Context::default_context());
    std::exit(EXIT_SUCCESS);
  });
}

TEST_F(ProcessTest, may_use_the_default_context_in_a_destructor_at_the_end) {
  in_a_process([] {
    const AttentionOutputs expected = attend(shared_problem(), Context::default_context());
    at_the_end.function = [expected] {
      if (!computes_the_same(Context::default_context(), expected)) std::_Exit(EXIT_FAILURE);
    };
    std::exit(EXIT_SUCCESS);
  });
}

TEST_F(ProcessTest, a_forked_child_may_exit) {
  in_a_process([] {
    Context own({.num_threads = 3});
    attend(shared_problem(), own);
    attend(shared_problem(), Context::default_context());
    std::_Exit(status_of_child([] { return true; }) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
  });
}

#if defined(__x86_64__) && defined(__linux__)

/// Number of CPUID instructions that `function` executes in a single-stepped child process.
int cpuids_of(const std::function<void()>& function) {
  const pid_t id = fork();
  if (id == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) std::_Exit(EXIT_FAILURE);
    std::raise(SIGSTOP);
    function();
    std::raise(SIGSTOP);
    std::_Exit(EXIT_SUCCESS);
  }
  int status = 0, count = 0;
  waitpid(id, &status, 0);
  for (bool runs = WIFSTOPPED(status); runs;) {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, id, nullptr, &registers);
    constexpr long kCpuid = 0xa20f, kTwoBytes = 0xffff;
    count += (ptrace(PTRACE_PEEKTEXT, id, registers.rip, nullptr) & kTwoBytes) == kCpuid;
    ptrace(PTRACE_SINGLESTEP, id, nullptr, nullptr);
    waitpid(id, &status, 0);
    runs = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }
  if (WIFSTOPPED(status)) {
    kill(id, SIGKILL);
    waitpid(id, &status, 0);
  }
  return count;
}

TEST(DispatchTest, detects_the_machine_once) {
  const auto compute = [] {
    Context context({.num_threads = 1});
    attn::KeyValueCache cache(1, 4, 16, 16, 2, attn::ElementType::kInt8);
    const attn::OwnedTensor row({1, 4, 1, 16});
    attn::OwnedTensor output(row.shape());
    cache.append(row, row);
    attn::scaled_dot_product_attention(row, cache, output, {}, context);
  };
  compute();
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (cpuids_of([&] { __cpuid(1, a, b, c, d); }) == 0) GTEST_SKIP() << "cannot trace a child";
  EXPECT_EQ(cpuids_of(compute), 0);
}

#endif

#if defined(__SANITIZE_THREAD__)
#define ATTN_TEST_FORKED_THREADS 0
#elif defined(__has_feature)
#define ATTN_TEST_FORKED_THREADS !__has_feature(thread_sanitizer)
#else
#define ATTN_TEST_FORKED_THREADS 1
#endif
#if ATTN_TEST_FORKED_THREADS  // ThreadSanitizer does not support threads that a forked child starts

TEST_F(ProcessTest, a_forked_child_computes_with_contexts_of_its_parent_and_its_own) {
  in_a_process([] {
    Context::default_context();
    auto parents = std::make_unique<Context>(attn::ContextOptions{.num_threads = 3});
    const AttentionOutputs expected = attend(shared_problem(), *parents);
    const int status = status_of_child([&] {
      bool same = computes_the_same(*parents, expected) && parents->num_threads() == 3;
      same = computes_the_same(Context::default_context(), expected) && same;
      parents.reset();
      Context own({.num_threads = 3});
      same = computes_the_same(own, expected) && same;
      // A child may fork again.
      return status_of_child([&] {
               return computes_the_same(own, expected) &&
                      computes_the_same(Context::default_context(), expected);
             }) == 0 &&
             same;
    });
    const bool parent_goes_on = computes_the_same(*parents, expected);
    std::exit(status == 0 && parent_goes_on ? EXIT_SUCCESS : EXIT_FAILURE);
  });
}

TEST_F(ProcessTest, a_child_forked_during_a_call_of_another_thread_can_compute) {
  in_a_process([] {
    Context own({.num_threads = 1});
    const AttentionOutputs expected = attend(shared_problem(), own);
    compute_for_ever(Context::default_context());
    for (int round = 0; round < 20; ++round) {
      // The child ends without exit(), because in the child LeakSanitizer would report the memory
      // of the parent's other thread as leaked.
      const int status = status_of_child([&]() -> bool {
        const bool same = computes_the_same(Context::default_context(), expected);
        std::_Exit(same ? EXIT_SUCCESS : EXIT_FAILURE);
      });
      if (status != 0) std::_Exit(EXIT_FAILURE);
    }
    std::exit(EXIT_SUCCESS);
  });
}

#endif

}  // namespace

#endif
