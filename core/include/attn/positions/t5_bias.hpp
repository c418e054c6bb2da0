#pragma once

#include <cstdint>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// Relative position bias of T5 (Raffel et al. 2020, arXiv:1910.10683, section 2.1): a learned
/// number per head and bucket of distances, added to the scores.
struct T5Bias {
  ConstTensor table;                ///< (num_buckets, Hq), as torch.nn.Embedding in T5 holds it
  bool bidirectional = true;        ///< encoder: half of the buckets for keys after the query
  std::int64_t max_distance = 128;  ///< all distances from here on share a bucket
};

/// The bucket of a key at `distance` = key position − query position.
///
/// One-sided, with n = num_buckets and a = max(0, −distance): a itself below n/2, then
/// logarithmically wider buckets up to max_distance: n/2 + ⌊ln(a / (n/2)) / ln(max_distance /
/// (n/2)) · n/2⌋, at most n − 1. Two-sided: n is halved, a = |distance|, and keys after the query
/// take the upper half. The same buckets as Hugging Face's T5, whose logarithm in float32 is exact
/// enough for its defaults.
///
/// Throws kInvalidArgument unless num_buckets ≥ 2 (4 and even when two-sided) and max_distance is
/// more than the number of exact buckets.
ATTN_API std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets,
                                std::int64_t max_distance, bool bidirectional);

}  // namespace attn
