#pragma once

// Which keys a query may attend to. Key ranges (causal order, windows, lengths), the boolean mask
// and a bias of −∞ exclude keys. Kernels call `find_coverage` to find out whether none, some or all
// of the keys of a tile take part, and test single keys only if the answer is kSome.

#include <algorithm>
#include <cstdint>

#include "kernels/attention_args.hpp"
#include "kernels/softmax.hpp"

namespace attn::kernels {

/// A vector of elements of a mask.
template <class Isa>
using MaskBytes = xsimd::batch<std::uint8_t, typename Isa::Arch>;

/// How many of the scores of a tile take part in the softmax.
enum class Coverage { kNone, kSome, kAll };

/// True if query `row` may attend to `key`. The score alone does not show this, because an attended
/// key may also have a score of −∞.
template <class Isa>
ATTN_INLINE bool is_attended(const AttentionHead& head, index row, index key) noexcept {
  if (key < head.key_begin[row] || key >= head.key_end[row]) return false;
  if (head.mask && (key >= head.mask_cols || head.mask(row, key) == 0)) {
    return false;
  }
  return !head.bias || (key < head.bias_cols && head.bias(row, key) != kMinusInfinity);
}

/// True if the bias excludes all of the keys for queries [first, first + count). Returns false as
/// soon as it finds a key that is not excluded.
template <class Isa>
bool bias_excludes(const AttentionHead& head, index first, index count, index key0,
                   index keys) noexcept {
  const index within = std::clamp<index>(head.bias_cols - key0, 0, keys);
  for (index row = first; row < first + count; ++row) {
    const float* bias = head.bias.at(row, key0);
    for (index j = 0; j < within; ++j) {
      if (bias[j * head.bias.col] != kMinusInfinity) return false;
    }
  }
  return true;
}

/// The summary of a square of the mask: queries [first, first + count) and `keys` keys starting at
/// key0.
template <class Isa>
std::uint8_t summarize_square(const AttentionHead& head, index first, index count, index key0,
                              index keys) noexcept {
  if (head.bias && bias_excludes<Isa>(head, first, count, key0, keys)) return kHasExcluded;
  if (!head.mask) return kHasAttended;
  const index within = std::clamp<index>(head.mask_cols - key0, 0, keys);
  std::uint8_t any = 0;
  std::uint8_t least = within < keys ? 0 : 255;
  if (head.mask.col == 1 && within == kSummaryKeys) {
    using B = MaskBytes<Isa>;
    for (index j = 0; j < kSummaryKeys; j += B::size) {
      B any_of(std::uint8_t{0});
      B least_of(std::uint8_t{255});
      for (index row = first; row < first + count; ++row) {
        const B mask = B::load_unaligned(head.mask.at(row, key0 + j));
        any_of = any_of | mask;
        least_of = xsimd::min(least_of, mask);
      }
      if (xsimd::any(any_of != B(std::uint8_t{0}))) any = 1;
      if (xsimd::any(least_of == B(std::uint8_t{0}))) least = 0;
    }
  } else {
    for (index row = first; row < first + count; ++row) {
      for (index j = 0; j < within; ++j) {
        any |= head.mask(row, key0 + j);
        least = std::min(least, head.mask(row, key0 + j));
      }
    }
  }
  return (any != 0 ? kHasAttended : 0) | (least == 0 ? kHasExcluded : 0);
}

/// Writes the summary of queries [first, first + kSummaryQueries): one number for each square.
template <class Isa>
void summarize_mask(const AttentionHead& head, index first, std::uint8_t* summary) noexcept {
  const index count = std::min(kSummaryQueries, head.num_queries - first);
  for (index key0 = 0; key0 < head.num_keys; key0 += kSummaryKeys) {
    *summary++ = summarize_square<Isa>(head, first, count, key0,
                                       std::min(kSummaryKeys, head.num_keys - key0));
  }
}

/// Combines the summaries of all squares that contain queries [first, first + count) and keys
/// [key0, key0 + keys). The head must have a summary.
ATTN_INLINE unsigned combined_summary(const AttentionHead& head, index first, index count,
                                      index key0, index keys) noexcept {
  unsigned summary = 0;
  for (index i = first / kSummaryQueries; i * kSummaryQueries < first + count; ++i) {
    for (index j = key0 / kSummaryKeys; j * kSummaryKeys < key0 + keys; ++j) {
      summary |= head.mask_summary(i, j);
    }
  }
  return summary;
}

/// A range of keys; empty if `begin` is not below `end`.
struct KeyRange {
  index begin, end;
};

/// Returns the range from the first to the last key that any of the queries [first, first + count)
/// may attend to. The range may include more keys of a square of the mask's summary, because the
/// mask itself is not read.
template <class Isa>
KeyRange find_key_range(const AttentionHead& head, index first, index count) noexcept {
  KeyRange keys{head.num_keys, 0};
  for (index row = first; row < first + count; ++row) {
    if (head.key_begin[row] >= head.key_end[row]) continue;
    keys.begin = std::min<index>(keys.begin, head.key_begin[row]);
    keys.end = std::max<index>(keys.end, head.key_end[row]);
  }
  if (!head.mask_summary) return keys;
  const auto is_excluded = [&](index key) {
    return (combined_summary(head, first, count, key, 1) & kHasAttended) == 0;
  };
  while (keys.begin < keys.end && is_excluded(keys.begin)) {
    keys.begin = (keys.begin / kSummaryKeys + 1) * kSummaryKeys;
  }
  while (keys.begin < keys.end && is_excluded(keys.end - 1)) {
    keys.end = (keys.end - 1) / kSummaryKeys * kSummaryKeys;
  }
  return keys;
}

/// Returns whether queries [first, first + count) may attend to none, some or all of the keys
/// [key0, key0 + keys). The result may be kSome even if the queries may attend to none or all of
/// the keys, because the summary of the mask may cover more queries and keys. A bias that excludes
/// only some of the keys does not count, because adding the bias excludes them.
template <class Isa>
ATTN_INLINE Coverage find_coverage(const AttentionHead& head, index first, index count, index key0,
                                   index keys) noexcept {
  bool any = false;
  bool all = true;
  for (index row = first; row < first + count; ++row) {
    const index begin = head.key_begin[row];
    const index end = head.key_end[row];
    any |= std::max(begin, key0) < std::min(end, key0 + keys);
    all &= begin <= key0 && end >= key0 + keys;
  }
  if (any && head.mask_summary) {
    const unsigned summary = combined_summary(head, first, count, key0, keys);
    any = (summary & kHasAttended) != 0;
    all &= (summary & kHasExcluded) == 0;
  }
  return any ? all ? Coverage::kAll : Coverage::kSome : Coverage::kNone;
}

/// Sets the scores of excluded keys to −∞, and also the elements that pad the row to whole vectors.
template <class Isa>
ATTN_INLINE void exclude(const AttentionHead& head, index row, index key0, index keys,
                         float* scores) noexcept {
  if (head.mask && find_coverage<Isa>(head, row, 1, key0, keys) != Coverage::kAll) {
    const std::uint8_t* mask = head.mask.at(row, key0);
    const index within = std::clamp<index>(head.mask_cols - key0, 0, keys);
    for (index j = 0; j < within; ++j) {
      if (mask[j * head.mask.col] == 0) scores[j] = kMinusInfinity;
    }
    for (index j = within; j < keys; ++j) scores[j] = kMinusInfinity;
  }
  const index begin = std::clamp<index>(head.key_begin[row] - key0, 0, keys);
  const index end = std::clamp<index>(head.key_end[row] - key0, begin, keys);
  for (index j = 0; j < begin; ++j) scores[j] = kMinusInfinity;
  for (index j = end; j < round_up(keys, kWidth<Isa>); ++j) scores[j] = kMinusInfinity;
}

/// Number of keys whose exclusion is stored in the bits of a word.
inline constexpr index kWordKeys = 64;

/// Returns a word in which bit j is set if mask[j · col] is not zero, for j < count ≤ kWordKeys.
template <class Isa>
ATTN_INLINE std::uint64_t mask_bits(const std::uint8_t* mask, index col, index count) noexcept {
  using B = MaskBytes<Isa>;
  constexpr index kBytes = B::size;
  std::uint64_t bits = 0;
  index j = 0;
  for (; col == 1 && j + kBytes <= count; j += kBytes) {
    const auto attended = B::load_unaligned(mask + j) != B(std::uint8_t{0});
    bits |= static_cast<std::uint64_t>(attended.mask()) << j;
  }
  for (; j < count; ++j) bits |= std::uint64_t{mask[j * col] != 0} << j;
  return bits;
}

/// Returns a word in which bit j is set if key ranges and the mask let query `row` attend to key
/// key0 + j.
template <class Isa>
ATTN_INLINE std::uint64_t attended_bits(const AttentionHead& head, index row, index key0) noexcept {
  const index begin = std::max<index>(head.key_begin[row] - key0, 0);
  const index end = std::min<index>(head.key_end[row] - key0, kWordKeys);
  if (begin >= end) return 0;
  const std::uint64_t range = ~std::uint64_t{0} >> (kWordKeys - (end - begin)) << begin;
  if (!head.mask) return range;
  const index count = std::clamp<index>(head.mask_cols - key0, 0, kWordKeys);
  return range & mask_bits<Isa>(head.mask.at(row, key0), head.mask.col, count);
}

/// Sets the scores of excluded keys to −∞ in a tile, whose keys start at key0 and whose queries
/// start at `row`. Processes lanes [first, last), which form whole vectors. Only lanes [first,
/// count) contain queries.
template <class Isa>
void exclude_in_tile(const AttentionHead& head, index row, index first, index count, index last,
                     index key0, index keys, float* tile, index tile_row) noexcept {
  using F = Floats<Isa>;
  using I = xsimd::as_integer_t<F>;
  constexpr index kW = kWidth<Isa>;
  for (index i = first; i < last; i += kW) {
    for (index word = 0; word < keys; word += kWordKeys) {
      const index rows = std::min(kW, count - i);
      const Coverage coverage =
          find_coverage<Isa>(head, row + i, rows, key0 + word, std::min(kWordKeys, keys - word));
      if (coverage == Coverage::kAll) continue;
      std::int32_t bits[2][kW] = {};
      for (index r = 0; coverage == Coverage::kSome && r < rows; ++r) {
        const std::uint64_t attended = attended_bits<Isa>(head, row + i + r, key0 + word);
        bits[0][r] = static_cast<std::int32_t>(attended);
        bits[1][r] = static_cast<std::int32_t>(attended >> 32);
      }
      for (int half = 0; half < 2; ++half) {
        const I attended = I::load_unaligned(bits[half]);
        const index begin = word + half * 32;
        for (index j = begin; j < std::min(keys, begin + 32); ++j) {
          float* scores = tile + j * tile_row + i;
          const I bit(static_cast<std::int32_t>(std::uint32_t{1} << (j - begin)));
          xsimd::select(xsimd::batch_bool_cast<float>((attended & bit) == I(0)), F(kMinusInfinity),
                        F::load_unaligned(scores))
              .store_unaligned(scores);
        }
      }
    }
  }
}

}  // namespace attn::kernels
