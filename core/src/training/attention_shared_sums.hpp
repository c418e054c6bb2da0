#pragma once

#include <algorithm>
#include <cmath>

#include "attention/attention_plan.hpp"
#include "kernels/training/training_table.hpp"
#include "runtime/execution.hpp"
#include "training/attention_backward_problem.hpp"
#include "validation.hpp"

namespace attn::training {

/// Sets every element to zero. Broadcast elements are set several times.
inline void clear(const Tensor& t) noexcept {
  if (t.is_none()) return;
  if (t.rank() == 1) {
    if (t.stride(0) == 1) {
      std::fill_n(t.data(), t.size(0), 0.0F);
    } else {
      for (index i = 0; i < t.size(0); ++i) t(i) = 0.0F;
    }
    return;
  }
  for (index i = 0; i < (t.stride(0) == 0 ? std::min<index>(t.size(0), 1) : t.size(0)); ++i) {
    clear(t.select(0, i));
  }
}

/// Gradients of the relative-position tables and slopes, which all queries share. Each head and
/// chunk of keys has its own sum, and these sums are then added in order.
struct SharedSums {
  SharedSums(const BackwardProblem& p, const kernels::TrainingTable& kernels,
             const KeyChunks& chunks, runtime::Execution& run)
      : p_(p),
        chunks_(chunks),
        key_row(kernels.padded_row(p.head_dim)),
        value_row(kernels.padded_row(p.value_dim)) {
    const auto take = [&](bool needed, index each) {
      if (!needed) return static_cast<float*>(nullptr);
      const index count = validation::product("query", {p.query_heads, chunks_.total(), each});
      float* sums = run.floats(count, "attention gradients");
      std::fill_n(sums, count, 0.0F);
      return sums;
    };
    buckets = p.gradients.t5_table.is_none() ? 0 : p.gradients.t5_table.size(0);
    relative_keys = take(!p.gradients.relative_keys.is_none(), p.num_distances() * key_row);
    relative_values = take(!p.gradients.relative_values.is_none(), p.num_distances() * value_row);
    slopes = take(!p.gradients.alibi_slopes.is_none(), 1);
    t5_table = take(buckets > 0, buckets);
  }

  bool has_distance_bias() const noexcept { return slopes || t5_table; }

  /// Adds sums per distance j − i, starting at −(Nq − 1), for keys [begin, end).
  void add_distance_bias(index e, index h, index chunk, const float* distance_bias) noexcept {
    const index before = p_.queries_of(e) - 1;
    const index begin = chunk * chunks_.keys(e) - before;
    const index end = std::min((chunk + 1) * chunks_.keys(e), p_.keys_of(e));
    const index offset = p_.offset_of(e);
    double slope = 0;
    for (index d = begin; d < end; ++d) {
      const float sum = distance_bias[d + before];
      slope -= static_cast<double>(std::abs(d - offset)) * static_cast<double>(sum);
      if (t5_table) {
        const index bucket = t5_bucket(d - offset, buckets, p_.options.t5_bias->max_distance,
                                       p_.options.t5_bias->bidirectional);
        t5_table[chunks_.index_of(e, h, chunk) * buckets + bucket] += sum;
      }
    }
    if (slopes) slopes[chunks_.index_of(e, h, chunk)] = static_cast<float>(slope);
  }

  void finish(float scale) noexcept {
    const AttentionGradients& g = p_.gradients;
    for (const Tensor* t : {&g.alibi_slopes, &g.t5_table, &g.relative_keys, &g.relative_values}) {
      clear(*t);
    }
    const auto add_table = [&](const float* sums, index row, index width, float factor,
                               const Tensor& to, index h, index at) {
      for (index c = 0; sums && c < p_.num_distances(); ++c) {
        for (index d = 0; d < width; ++d) {
          to(h, c, d) += factor * sums[(at * p_.num_distances() + c) * row + d];
        }
      }
    };
    for (index e = 0; e < p_.entries(); ++e) {
      for (index h = 0; h < p_.query_heads; ++h) {
        for (index chunk = 0; chunk < chunks_.count(e); ++chunk) {
          const index at = chunks_.index_of(e, h, chunk);
          if (slopes) g.alibi_slopes(h) += slopes[at];
          for (index bucket = 0; bucket < buckets; ++bucket) {
            g.t5_table(bucket, h) += t5_table[at * buckets + bucket];
          }
          add_table(relative_keys, key_row, p_.head_dim, scale, g.relative_keys, h, at);
          add_table(relative_values, value_row, p_.value_dim, 1.0F, g.relative_values, h, at);
        }
      }
    }
  }

 private:
  const BackwardProblem& p_;
  const KeyChunks& chunks_;

 public:
  index key_row, value_row;
  index buckets = 0;
  // Each of these pointers is null or has one array for each entry, query head and chunk of keys:
  float* relative_keys;    ///< (2k+1, head_dim rounded up to whole vectors)
  float* relative_values;  ///< (2k+1, value_dim rounded up to whole vectors)
  float* slopes;
  float* t5_table;  ///< (buckets)
};

}  // namespace attn::training
