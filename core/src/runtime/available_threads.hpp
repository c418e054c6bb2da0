#pragma once

#include <string>

namespace attn::runtime {

/// True if the program can have more than one thread. WebAssembly's variants share object files,
/// and some have no threads, so the answer is known only when a module is linked. If there are no
/// threads, the linker drops all code for them.
bool has_threads() noexcept;

/// The number of threads that can run at the same time, at least 1: the number of processors that
/// the calling thread may use, limited by the quotas of the process's control groups.
int available_threads();

/// The number of whole processors that the quotas of control groups (version 1 or 2) allow a
/// process, at least 1; INT_MAX without a quota. `groups` is the path of a file in the format of
/// /proc/self/cgroup, and `root` is the folder where control groups are mounted.
int processors_in_quota(const std::string& groups, const std::string& root);

}  // namespace attn::runtime
