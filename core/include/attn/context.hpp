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

/// Calls function(0) … function(count − 1), each once and on any threads, even all on one, and
/// returns when all have returned. Must not throw.
using ParallelFor = std::function<void(int count, const std::function<void(int)>& function)>;

struct ContextOptions {
  /// Threads that share the work, including the calling one, at most 1024. 0 asks for as many as
  /// can run at the same time: one for each processor that the calling thread may use, but no more
  /// than the CPU quota of the program's container allows.
  int num_threads = 0;
  /// Kernels to use; by default ATTN_ISA from the environment (which WebAssembly has none of), else
  /// the best of the machine.
  std::optional<InstructionSet> instruction_set = {};
  /// Runs the work on the program's own threads: the context then starts none. It is called with a
  /// count of num_threads at most.
  ParallelFor parallel_for = {};
};

/// Where work is done: threads, an instruction set, and scratch memory that is kept between calls,
/// so that a steady loop of calls allocates nothing.
///
/// Results have the same bits for any number of threads, the context's or the caller's. Calls on
/// one context from several threads are safe and run one after the other; for independent calls
/// side by side make one context each.
///
/// A call never waits for a thread that has not begun a part of its work, so more threads than free
/// processors cost next to nothing.
///
/// After fork(), the child may use the contexts of its parent and make its own. A context starts
/// its threads again at the child's first call that shares work. If another thread of the parent
/// was in a call on the context, the child leaves the call's scratch memory unused.
///
/// A context that has been moved from can be destroyed or assigned to, and nothing else. Nobody may
/// use a context while it is moved.
class ATTN_API Context {
 public:
  /// Throws kInvalidArgument for a thread count out of range or an unknown name in ATTN_ISA,
  /// kUnsupported for an instruction set that this build or machine lacks, and std::bad_alloc.
  /// Threads that the system refuses to start are no error: see num_threads().
  explicit Context(const ContextOptions& options = {});
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Threads that share the work, the calling one included: fewer than asked for where the system
  /// refuses.
  int num_threads() const noexcept;
  InstructionSet instruction_set() const noexcept;

  /// Gives kept scratch memory back to the system; waits for a call that is running.
  void release_memory() noexcept;

  /// The context of calls that name none: made on first use, with ContextOptions{}, and never
  /// destroyed, so calls may run on other threads while the program exits. exit() ends its threads
  /// unless a call is running, and later calls run on the calling thread. Throws what the
  /// constructor does, and tries again at the next call.
  static Context& default_context();

 private:
  struct ATTN_LOCAL Impl;
  friend struct runtime::ContextAccess;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn
