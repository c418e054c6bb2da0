#include "attn/context.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "attn/error.hpp"
#include "runtime/available_threads.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

InstructionSet choose_instruction_set(const ContextOptions& options) {
  if (options.instruction_set) return *options.instruction_set;
#ifndef __EMSCRIPTEN__  // WebAssembly programs have no environment variables
  if (const char* name = std::getenv("ATTN_ISA"); name && *name) {
    if (const auto isa = parse_instruction_set(name)) return *isa;
    std::string known;
    for (const InstructionSet isa : supported_instruction_sets()) {
      known += known.empty() ? "" : ", ";
      known += to_string(isa);
    }
    throw Error(ErrorCode::kInvalidArgument, "ATTN_ISA", '"' + std::string(name) + '"',
                "one of: " + known);
  }
#endif
  return supported_instruction_sets().front();
}

}  // namespace

void Context::Impl::restore() noexcept {
  pool.restart_after_fork();
#ifndef __EMSCRIPTEN__
  // If another thread of the parent was in a call, that call does not continue in the child and
  // never unlocks the mutex. The call's scratch memory is in an unknown state, so the child neither
  // uses nor frees it.
  if (mutex.try_lock()) {
    mutex.unlock();
  } else {
    new (&mutex) runtime::RecursiveMutex();
    new (&arena) runtime::Arena();
    running_calls = 0;
  }
#endif
}

void Context::Impl::end_threads_if_idle() noexcept {
  if (!mutex.try_lock()) return;
  if (running_calls == 0) {
    pool.end_threads();
    arena.release();
  }
  mutex.unlock();
}

Context::Context(const ContextOptions& options) {
  constexpr int kMostThreads = 1024;
  if (options.num_threads < 0 || options.num_threads > kMostThreads) {
    validation::fail_value("num_threads", options.num_threads,
                           {"0 (one per core) to ", kMostThreads});
  }
  const InstructionSet isa = choose_instruction_set(options);
  const kernels::KernelTable* table = runtime::find_kernels(isa);
  if (!table) {
    validation::fail(ErrorCode::kUnsupported, "instruction_set", {to_string(isa)},
                     {"one that this build contains and this machine supports"});
  }
  const int num_threads =
      options.num_threads == 0 ? runtime::available_threads() : options.num_threads;
  impl_ = std::make_unique<Impl>(num_threads, options.parallel_for, isa, *table,
                                 runtime::find_bf16_kernels(isa));
}

Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

int Context::num_threads() const noexcept { return impl_->pool.num_threads(); }

InstructionSet Context::instruction_set() const noexcept { return impl_->instruction_set; }

void Context::release_memory() noexcept {
  const runtime::Lock<runtime::RecursiveMutex> lock(impl_->mutex);
  impl_->arena.release();
}

Context& Context::default_context() {
  // This context is never destroyed, because other threads may use it while the program ends. It is
  // created without a lock, because a lock might stay locked forever in a forked child.
  static constinit std::atomic<Context*> shared{nullptr};
  if (Context* const context = shared.load(std::memory_order_acquire)) return *context;
  auto made = std::make_unique<Context>();
  Context* context = nullptr;
  if (!shared.compare_exchange_strong(context, made.get(), std::memory_order_acq_rel)) {
    return *context;  // another thread has already created the context
  }
  // Ends the threads of the default context when the library is unloaded, because they run the
  // library's code.
  std::atexit([] { shared.load(std::memory_order_acquire)->impl_->end_threads_if_idle(); });
  return *made.release();
}

}  // namespace attn
