#pragma once

namespace attn::runtime {

/// Calls a function in every process that is forked while the hook exists, before fork() returns
/// there. The child has one thread, a copy of the one that forked, and everything that the other
/// threads of its parent were doing is unfinished. Where processes do not fork, on WebAssembly and
/// Windows, a hook does nothing.
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
