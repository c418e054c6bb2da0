#pragma once

namespace attn::runtime {

/// Calls a function in every child process that is forked while the hook exists, before fork()
/// returns in the child. The child has only one thread, a copy of the thread that called fork().
/// The work of the parent's other threads stays unfinished in the child. WebAssembly and Windows
/// cannot fork, so a hook does nothing there.
class ForkHook {
 public:
  using Function = void (*)(void* argument) noexcept;

  ForkHook(Function in_child, void* argument) noexcept;
  ~ForkHook();
  ForkHook(const ForkHook&) = delete;
  ForkHook& operator=(const ForkHook&) = delete;

  void call() const noexcept { in_child_(argument_); }
  const ForkHook* next() const noexcept { return next_; }

 private:
  Function in_child_;
  void* argument_;
  [[maybe_unused]] ForkHook* previous_ = nullptr;
  ForkHook* next_ = nullptr;
};

}  // namespace attn::runtime
