#pragma once

#include <string>

namespace attn::runtime {

/// True if the program can have more than one thread. WebAssembly's variants share object files,
/// and some have no threads. This is known when a module is linked; without threads, the linker
/// drops all code for them.
bool has_threads() noexcept;

/// The number of threads that can run at the same time, at least 1: the processors that the calling
/// thread may use, but no more than the control groups of the process leave it time for.
int available_threads();

/// The number of whole processors that the quotas of control groups (version 1 or 2) leave a
/// process, at least 1; INT_MAX without a quota. `groups` is the path of a file as
/// /proc/self/cgroup, `root` the folder where control groups are mounted.
int processors_in_quota(const std::string& groups, const std::string& root);

}  // namespace attn::runtime
