#include "runtime/fork_hook.hpp"

#if !defined(__EMSCRIPTEN__) && !defined(_WIN32)

#include <pthread.h>

namespace attn::runtime {
namespace {

// The list of all hooks. fork() waits for its mutex, so no hook is added or removed during a fork.
// The two variables have no destructors, so a program may create and destroy contexts with static
// storage duration at any time before it ends.
pthread_mutex_t fork_hooks_mutex = PTHREAD_MUTEX_INITIALIZER;
constinit ForkHook* first_fork_hook = nullptr;

void lock_fork_hooks() noexcept { pthread_mutex_lock(&fork_hooks_mutex); }
void unlock_fork_hooks() noexcept { pthread_mutex_unlock(&fork_hooks_mutex); }

void call_fork_hooks() noexcept {
  for (const ForkHook* hook = first_fork_hook; hook; hook = hook->next()) hook->call();
  unlock_fork_hooks();
}

}  // namespace

ForkHook::ForkHook(Function in_child, void* argument) noexcept
    : in_child_(in_child), argument_(argument) {
  lock_fork_hooks();
  static constinit bool is_registered = false;
  if (!is_registered) {
    is_registered = pthread_atfork(&lock_fork_hooks, &unlock_fork_hooks, &call_fork_hooks) == 0;
  }
  next_ = first_fork_hook;
  if (next_) next_->previous_ = this;
  first_fork_hook = this;
  unlock_fork_hooks();
}

ForkHook::~ForkHook() {
  lock_fork_hooks();
  (previous_ ? previous_->next_ : first_fork_hook) = next_;
  if (next_) next_->previous_ = previous_;
  unlock_fork_hooks();
}

}  // namespace attn::runtime

#else

namespace attn::runtime {

ForkHook::ForkHook(Function in_child, void* argument) noexcept
    : in_child_(in_child), argument_(argument) {}
ForkHook::~ForkHook() = default;

}  // namespace attn::runtime

#endif
