#include "runtime/arena.hpp"

#include <algorithm>
#include <cstdint>

namespace attn::runtime {

Arena::Block Arena::make_block(std::size_t size) {
  return {std::unique_ptr<std::byte, Free>(
              static_cast<std::byte*>(::operator new(size, std::align_val_t{kAlignment}))),
          size, 0};
}

void* Arena::take(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  const std::size_t needed = (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;
  while (current_ < blocks_.size() && blocks_[current_].size - blocks_[current_].used < needed &&
         current_ + 1 < blocks_.size()) {
    ++current_;
  }
  if (blocks_.empty() || blocks_[current_].size - blocks_[current_].used < needed) {
    constexpr std::size_t kSmallestBlock = std::size_t{1} << 16;
    blocks_.push_back(make_block(std::max(needed, kSmallestBlock)));
    current_ = blocks_.size() - 1;
  }
  Block& block = blocks_[current_];
  void* result = block.data.get() + block.used;
  block.used += needed;
  return result;
}

void Arena::rewind(Mark mark) noexcept {
  for (std::size_t i = mark.block + 1; i < blocks_.size(); ++i) blocks_[i].used = 0;
  if (!blocks_.empty()) blocks_[mark.block].used = mark.used;
  current_ = mark.block;
  if (mark.block == 0 && mark.used == 0 && blocks_.size() > 1) {
    std::size_t total = 0;
    for (const Block& block : blocks_) total += block.size;
    blocks_.clear();
    try {
      blocks_.push_back(make_block(total));
    } catch (const std::bad_alloc&) {
      // Failing to allocate one large block is harmless: the next call allocates several blocks
      // again.
    }
  }
}

void Arena::release() noexcept {
  blocks_.clear();
  blocks_.shrink_to_fit();
  current_ = 0;
}

}  // namespace attn::runtime
