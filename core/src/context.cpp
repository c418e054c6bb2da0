#include "attn/context.hpp"

#include <cstdlib>
#include <memory>
#include <string>

#include "attn/error.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

InstructionSet choose_instruction_set(const ContextOptions& options) {
  if (options.instruction_set) return *options.instruction_set;
#ifndef __EMSCRIPTEN__  // where a program has no environment
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
                     {"one that this build has and this machine runs"});
  }
  const int num_threads =
      options.num_threads == 0 ? runtime::hardware_threads() : options.num_threads;
  impl_ = std::make_unique<Impl>(num_threads, options.parallel_for, isa, *table,
                                 runtime::find_bf16_kernels(isa));
}

Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

int Context::num_threads() const noexcept { return impl_->pool.num_threads(); }

InstructionSet Context::instruction_set() const noexcept { return impl_->instruction_set; }

void Context::release_memory() noexcept {
  const std::lock_guard lock(impl_->mutex);
  impl_->arena.release();
}

Context& Context::default_context() {
  static Context context;
  return context;
}

}  // namespace attn
