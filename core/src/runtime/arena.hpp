#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace attn::runtime {

/// Scratch memory in stack order: going back to a mark releases everything allocated after it.
/// Blocks are kept, and merged into one when everything is released, so a steady loop of equal
/// calls stops requesting memory from the system.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  struct Mark {
    std::size_t block = 0;
    std::size_t used = 0;
  };

  Mark mark() const noexcept { return {current_, blocks_.empty() ? 0 : blocks_[current_].used}; }
  void rewind(Mark mark) noexcept;

  /// Returns `bytes` bytes aligned to kAlignment and followed by kAlignment readable bytes. Throws
  /// std::bad_alloc.
  void* take(std::size_t bytes);

  void release() noexcept;

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept {
      ::operator delete(p, std::align_val_t{kAlignment});
    }
  };
  struct Block {
    std::unique_ptr<std::byte, Free> data;
    std::size_t size = 0;
    std::size_t used = 0;
  };

  static Block make_block(std::size_t size);

  std::vector<Block> blocks_;
  std::size_t current_ = 0;
};

}  // namespace attn::runtime
