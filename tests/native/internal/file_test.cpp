#include "io/file.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

// WebAssembly keeps files in memory, which is too small for this test.
#if !defined(__EMSCRIPTEN__)

namespace {

TEST(FileTest, reads_beyond_4_gigabytes) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "attn_reads_beyond_4_gigabytes";
  std::ofstream(path) << "start";
  constexpr std::int64_t k4Gigabytes = std::int64_t{1} << 32;
  // The file is sparse, so it takes no space on the disk.
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(k4Gigabytes + 1));
  {
    attn::InputFile file(path);
    EXPECT_EQ(file.size(), k4Gigabytes + 1);
    std::byte last{1};
    file.seek(k4Gigabytes);
    file.read(std::span(&last, 1));
    EXPECT_EQ(last, std::byte{0});
  }
  std::filesystem::remove(path);
}

}  // namespace

#endif
