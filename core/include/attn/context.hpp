#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "attn/export.hpp"
#include "attn/instruction_set.hpp"

namespace attn {

namespace runtime {
struct ContextAccess;
}

/// Calls function(0), …, function(count − 1), each exactly once and on any thread, possibly all on
/// the same one. Returns after all calls have returned. Must not throw.
using ParallelFor = std::function<void(int count, const std::function<void(int)>& function)>;

struct ContextOptions {
  /// The number of threads that share the work, including the calling thread; at most 1024. 0 means
  /// as many threads as can run at the same time: one for each processor that the calling thread
  /// may use, within the CPU quota of the program's container.
  int num_threads = 0;
  /// The instruction set of the kernels. If this option is not set, the environment variable
  /// ATTN_ISA selects the set, except in WebAssembly, which has no environment. If neither is set,
  /// the context uses the best instruction set that the machine can run.
  std::optional<InstructionSet> instruction_set = {};
  /// Runs the work on the program's own threads; the context then starts no threads. The function
  /// receives a `count` of at most num_threads.
  ParallelFor parallel_for = {};
};

/// The threads, the instruction set and the scratch memory that calls use. Scratch memory is kept
/// between calls, so a loop that repeats the same calls allocates nothing.
///
/// Results are bit-identical for any number of threads, whether the threads belong to the context
/// or to the caller. Calls on one context from several threads are safe and run one after another.
/// To run independent calls at the same time, give each call its own context.
///
/// A call never waits for a thread that has not yet started its part of the work, so having more
/// threads than free processors costs almost nothing.
///
/// After fork(), the child may use its parent's contexts and create its own. In the child, a
/// context starts its threads again at the first call that divides its work among threads. If
/// another thread of the parent was inside a call on the context, the child leaves that call's
/// scratch memory unused.
///
/// A moved-from context may only be destroyed or assigned to. Do not use a context while it is
/// being moved.
class ATTN_API Context {
 public:
  /// Throws kInvalidArgument for a thread count out of range or an unknown name in ATTN_ISA. Throws
  /// kUnsupported for an instruction set that this build or machine lacks. May also throw
  /// std::bad_alloc. It is not an error if the system refuses to start a thread; see num_threads().
  explicit Context(const ContextOptions& options = {});
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The number of threads that share the work, including the calling thread. It is lower than
  /// requested if the system refused to start some of them.
  int num_threads() const noexcept;
  InstructionSet instruction_set() const noexcept;

  /// Returns the scratch memory to the system, after waiting for any running call.
  void release_memory() noexcept;

  /// The context used by calls that do not pass one. It is created on first use, with
  /// ContextOptions{}, and never destroyed, so calls may run on other threads while the program
  /// exits. exit() ends the context's threads unless a call is running; later calls run on the
  /// calling thread. Throws the same errors as the constructor; the next call then tries again.
  static Context& default_context();

 private:
  struct ATTN_LOCAL Impl;
  friend struct runtime::ContextAccess;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn
