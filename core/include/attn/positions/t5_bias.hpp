#pragma once

#include <cstdint>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// T5's relative position bias (Raffel et al. 2020, arXiv:1910.10683, section 2.1). For each head
/// and each bucket of distances, it adds one learned number to the scores.
struct T5Bias {
  ConstTensor table;  ///< (num_buckets, Hq), the layout of T5's torch.nn.Embedding
  /// True in encoders: half of the buckets are for keys after the query.
  bool bidirectional = true;
  std::int64_t max_distance = 128;  ///< this distance and all larger distances share a bucket
};

/// The bucket for `distance` = key position − query position.
///
/// If not `bidirectional`, let n = num_buckets and a = max(0, −distance). For a below n/2, the
/// bucket is a itself. For larger a, buckets become logarithmically wider up to max_distance: the
/// bucket is n/2 + ⌊ln(a / (n/2)) / ln(max_distance / (n/2)) · n/2⌋, but at most n − 1. If
/// `bidirectional`, n is halved, a = |distance|, and keys after the query use the upper half of the
/// buckets. With T5's default options, the buckets are the same as in Hugging Face's T5, which
/// computes the logarithm in float32.
///
/// Throws kInvalidArgument unless num_buckets ≥ 2 (≥ 4 and even if `bidirectional`) and
/// max_distance is larger than the number of buckets that cover a single distance.
ATTN_API std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets,
                                std::int64_t max_distance, bool bidirectional);

}  // namespace attn
