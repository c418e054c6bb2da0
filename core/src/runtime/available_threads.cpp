#include "runtime/available_threads.hpp"

#include <algorithm>

#if defined(__EMSCRIPTEN__)
#include <emscripten/threading.h>
#else
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace attn::runtime {

bool has_threads() noexcept {
#if defined(__EMSCRIPTEN__)
  return emscripten_has_threading_support() != 0;
#else
  return true;
#endif
}

#if defined(__EMSCRIPTEN__)

int available_threads() { return has_threads() ? std::max(1, emscripten_num_logical_cores()) : 1; }

#else

namespace {

/// Number of processors that the calling thread may use. Threads that it starts inherit this limit.
int processors_of_this_thread() noexcept {
#if defined(__linux__)
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) return CPU_COUNT(&processors);
  // The call fails if the Linux kernel supports more processors than a cpu_set_t can hold.
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// The first two words of a file; a missing word is empty.
struct QuotaWords {
  std::string first, second;
  explicit QuotaWords(const std::string& path) { std::ifstream(path) >> first >> second; }
};

/// Number of whole processors that `quota` microseconds of time per `period` microseconds allow. A
/// text that is not a positive number means that there is no limit: "max", -1, or the empty text
/// of a missing file.
int whole_processors(const std::string& quota, const std::string& period) {
  const double time = std::atof(quota.c_str()), of = std::atof(period.c_str());
  if (!(time > 0) || !(of > 0)) return INT_MAX;
  return static_cast<int>(std::clamp(time / of, 1.0, double{INT_MAX}));
}

/// True if a list such as "cpu,cpuacct" contains "cpu".
bool lists_cpu(const std::string& controllers) {
  return (',' + controllers + ',').find(",cpu,") != std::string::npos;
}

}  // namespace

int processors_in_quota(const std::string& groups, const std::string& root) {
  int result = INT_MAX;
  std::ifstream lines(groups);
  // Each line of the file is "number:controllers:/group"; in version 2, the number is 0 and there
  // are no controllers.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && !lists_cpu(controllers)) continue;
    // The quota of a group also limits its subgroups. In a container, the outer groups of the path
    // may be missing, and the mounted folder itself is the container's group.
    std::string group = line.substr(second + 1);
    while (true) {
      if (is_version_2) {
        const QuotaWords limit(root + group + "/cpu.max");
        result = std::min(result, whole_processors(limit.first, limit.second));
      } else {
        for (const std::string& mount : {std::string("cpu"), controllers}) {
          const std::string folder = root + '/' + mount + group;
          result =
              std::min(result, whole_processors(QuotaWords(folder + "/cpu.cfs_quota_us").first,
                                                QuotaWords(folder + "/cpu.cfs_period_us").first));
        }
      }
      if (group.empty()) break;
      group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
  }
  return result;
}

int available_threads() {
  // The quota files are read once. Threads that arrive here at the same time read the same numbers.
  static constinit std::atomic<int> known_quota{0};
  int quota = known_quota.load(std::memory_order_relaxed);
  if (quota == 0) {
#if defined(__linux__)
    quota = processors_in_quota("/proc/self/cgroup", "/sys/fs/cgroup");
#else
    quota = INT_MAX;
#endif
    known_quota.store(quota, std::memory_order_relaxed);
  }
  return std::max(1, std::min(processors_of_this_thread(), quota));
}

#endif

}  // namespace attn::runtime
