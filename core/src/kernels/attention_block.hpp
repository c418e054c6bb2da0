#pragma once

// The start and end of a block of queries. Before the first tile of keys, queries are transposed
// and running sums are initialised. After the last tile, outputs, log-sum-exp and requested stages
// are written. Queries that tiles cannot handle are recomputed: queries with NaN or infinity in
// their output, and queries whose scores are too large.

#include <algorithm>
#include <cmath>

#include "kernels/attention_tile.hpp"

namespace attn::kernels {

/// Maximum and sum of a query before its first key. At that point, they contain only the sink.
struct SoftmaxStart {
  float max;
  float sum;
};

template <class Isa>
ATTN_INLINE SoftmaxStart start_from_sink(const AttentionHead& head) noexcept {
  if (head.sink == kMinusInfinity) return {kMinusInfinity, 0.0F};
  const double sink = head.sink * 1.4426950408889634;
  const double max = std::nearbyint(sink);
  return {static_cast<float>(max), static_cast<float>(exp2_near_zero<Isa>(sink - max))};
}

/// Starts a block of queries [first, first + count).
template <class Tiles>
QueryBlock begin_block(const typename Tiles::Head& head, index first, index count,
                       const typename Tiles::Scratch& scratch) noexcept {
  using Isa = typename Tiles::Isa;
  QueryBlock block{first, count, round_up(count, kLanes<Isa>)};
  Tiles::load_queries(head, block, scratch);
  const SoftmaxStart start = start_from_sink<Isa>(head);
  for (index r = 0; r < block.lanes; ++r) {
    scratch.max[r] = start.max;
    scratch.sum[r] = start.sum;
  }
  Tiles::begin(head, block, start.sum, scratch);
  const KeyRange keys = find_key_range<Isa>(head, first, count);
  block.key_begin = keys.begin / Tiles::kKeyStep * Tiles::kKeyStep;
  block.key_end = keys.end;
  return block;
}

/// True if tiles can handle query r: it attends to no key, or subtracting its largest score changes
/// only exponents. The largest score may be −∞ even if the query attends to keys: some masks
/// exclude with a number near the lowest float, and scores are converted to units of ln 2, in which
/// such a number overflows.
template <class Scratch>
ATTN_INLINE bool has_exponent(const AttentionHead& head, const QueryBlock& block, index r,
                              const Scratch& scratch) noexcept {
  if (scratch.max[r] != kMinusInfinity) return std::abs(scratch.max[r]) < kLargestExponent;
  const index row = block.first + r;
  for (index key = head.key_begin[row]; key < head.key_end[row]; ++key) {
    if (is_attended<typename Scratch::Isa>(head, row, key)) return false;
  }
  return true;
}

template <class Isa>
float compute_log_sum_exp(const AttentionHead& head, float max, float sum) noexcept {
  const SoftmaxStart start = start_from_sink<Isa>(head);
  if (max == start.max && sum == start.sum) return head.sink;  // no key has changed the sums
  return static_cast<float>(max * 0.6931471805599453 + natural_log<Isa>(sum));
}

/// Writes output and log-sum-exp of query r of a block. Returns true if all numbers are finite.
template <class Tiles>
bool finish_query(const AttentionHead& head, const QueryBlock& block, index r,
                  const typename Tiles::Scratch& scratch) noexcept {
  using Isa = typename Tiles::Isa;
  const index row = block.first + r;
  const float* accumulator = Tiles::finish_accumulator(head, r, scratch);
  if (head.log_sum_exp) {
    head.log_sum_exp[row * head.log_sum_exp_row] =
        compute_log_sum_exp<Isa>(head, scratch.max[r], scratch.sum[r]);
  }
  return write_output<Isa>(head, row, accumulator,
                           reciprocal_sum<Isa>(Tiles::total_weight(r, scratch)));
}

/// Recomputes the selected queries of [first, first + count), because their outputs are not finite:
/// a weight of zero may have been multiplied by an infinity or NaN at an excluded key.
template <class Tiles>
QueryBlock recompute_queries(const typename Tiles::Head& head, index first, index count,
                             const bool* selected,
                             const typename Tiles::Scratch& scratch) noexcept {
  const QueryBlock block = begin_block<Tiles>(head, first, count, scratch);
  attend_blocks<Tiles>(head, &block, 1, selected,
                       [&](index) -> const typename Tiles::Scratch& { return scratch; });
  Tiles::finish(head, block, scratch);
  for (index r = 0; r < count; ++r) {
    if (selected[r]) finish_query<Tiles>(head, block, r, scratch);
  }
  return block;
}

/// Writes the requested stages of a block whose outputs are already written. Processes queries row
/// by row if their scores do not suit tiles.
template <class Tiles>
void finish_scores(const typename Tiles::Head& head, const QueryBlock& block,
                   const ScoreOutput* outputs, int num_outputs,
                   const typename Tiles::Scratch& scratch) noexcept {
  Tiles::write_scores(head, block, outputs, num_outputs, scratch);
  for (index r = 0; r < block.count; ++r) {
    if (!has_exponent(head, block, r, scratch)) {
      Tiles::attend_row(head, block.first + r, outputs, num_outputs, scratch.row_memory);
    }
  }
}

/// Writes all requested results of a block that has processed all of its keys.
template <class Tiles>
void finish_block(const typename Tiles::Head& head, const QueryBlock& block,
                  const ScoreOutput* outputs, int num_outputs,
                  const typename Tiles::Scratch& scratch) noexcept {
  bool not_finite[Tiles::kQueries];
  bool any_not_finite = false;
  Tiles::finish(head, block, scratch);
  for (index r = 0; r < block.count; ++r) {
    not_finite[r] = !finish_query<Tiles>(head, block, r, scratch);
    any_not_finite |= not_finite[r];
  }
  if (any_not_finite) recompute_queries<Tiles>(head, block.first, block.count, not_finite, scratch);
  finish_scores<Tiles>(head, block, outputs, num_outputs, scratch);
}

}  // namespace attn::kernels
