#include "runtime/available_threads.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace {

using attn::runtime::available_threads;

TEST(AvailableThreadsTest, there_is_at_least_one) { EXPECT_GE(available_threads(), 1); }

#if !defined(__EMSCRIPTEN__)

using attn::runtime::processors_in_quota;

/// A folder that imitates the files through which Linux exposes control groups. The destructor
/// removes the folder.
class ControlGroupFiles {
 public:
  explicit ControlGroupFiles(const std::string& groups) {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("attn_groups_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    write("groups", groups);
  }
  ~ControlGroupFiles() { std::filesystem::remove_all(folder_); }
  ControlGroupFiles(const ControlGroupFiles&) = delete;
  ControlGroupFiles& operator=(const ControlGroupFiles&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  int processors() const {
    return processors_in_quota((folder_ / "groups").string(), folder_.string());
  }

 private:
  std::filesystem::path folder_;
};

TEST(AvailableThreadsTest, version_2_quota_is_rounded_down_to_whole_processors) {
  const ControlGroupFiles files("0::/app\n");
  files.write("app/cpu.max", "350000 100000\n");
  EXPECT_EQ(files.processors(), 3);
}

TEST(AvailableThreadsTest, version_2_without_a_quota_has_no_limit) {
  const ControlGroupFiles files("0::/app\n");
  files.write("app/cpu.max", "max 100000\n");
  EXPECT_EQ(files.processors(), INT_MAX);
}

TEST(AvailableThreadsTest, a_quota_of_less_than_a_processor_leaves_one_thread) {
  const ControlGroupFiles files("0::/\n");
  files.write("cpu.max", "25000 100000\n");
  EXPECT_EQ(files.processors(), 1);
}

TEST(AvailableThreadsTest, the_smallest_quota_of_all_outer_groups_counts) {
  const ControlGroupFiles files("0::/outer/middle/inner\n");
  files.write("outer/cpu.max", "600000 100000\n");
  files.write("outer/middle/cpu.max", "200000 100000\n");
  files.write("outer/middle/inner/cpu.max", "400000 100000\n");
  EXPECT_EQ(files.processors(), 2);
}

TEST(AvailableThreadsTest, version_1_quota_comes_from_the_cpu_controller) {
  const ControlGroupFiles files("5:cpuset:/app\n4:cpu,cpuacct:/app\n3:cpuacct_of_mine:/app\n");
  files.write("cpu,cpuacct/app/cpu.cfs_quota_us", "250000\n");
  files.write("cpu,cpuacct/app/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(files.processors(), 5);
}

TEST(AvailableThreadsTest, version_1_quota_of_minus_one_is_no_limit) {
  const ControlGroupFiles files("4:cpu:/\n");
  files.write("cpu/cpu.cfs_quota_us", "-1\n");
  files.write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(files.processors(), INT_MAX);
}

// In a container, a group may be mounted without its parent groups. The process's own group is then
// the mounted folder.
TEST(AvailableThreadsTest, a_group_that_is_not_mounted_is_the_mounted_folder) {
  const ControlGroupFiles files("4:cpu:/docker/0123\n");
  files.write("cpu/cpu.cfs_quota_us", "400000\n");
  files.write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(files.processors(), 4);
}

TEST(AvailableThreadsTest, files_that_are_missing_or_malformed_are_no_limit) {
  EXPECT_EQ(processors_in_quota("/nowhere/groups", "/nowhere"), INT_MAX);
  for (const char* text : {"", "100000", "100000 0", "many few", "0 100000", "-1 100000"}) {
    const ControlGroupFiles files("no colons\n0::/app\n");
    files.write("app/cpu.max", text);
    EXPECT_EQ(files.processors(), INT_MAX) << text;
  }
}

#if defined(__linux__)
TEST(AvailableThreadsTest, a_thread_that_is_pinned_to_a_processor_has_one_thread) {
  int pinned = 0;
  std::thread([&] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    pinned = available_threads();
  }).join();
  EXPECT_EQ(pinned, 1);
}
#endif

#endif

}  // namespace
