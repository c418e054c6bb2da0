#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/attention_plan.hpp"
#include "kernels/kernel_table.hpp"
#include "runtime/execution.hpp"
#include "runtime/threads.hpp"
#include "strided_rows.hpp"
#include "training/attention_backward_problem.hpp"
#include "validation.hpp"

namespace attn::training {

/// The part that a chunk of keys adds to the gradient of a block of queries.
struct QueryGradientPart {
  float* rows;  ///< gradients (queries of a block, head_dim rounded up to whole vectors)
  QueryGradientPart* next;
  std::int32_t turn;
  bool is_zero;
  std::int32_t is_waiting;  ///< true until this part has been added
};

/// Sums the gradients of queries. Each chunk of keys that a block of queries may attend to
/// contributes one part. The parts are added in the order of the chunks, so the sum is
/// bit-identical for any number of threads. A thread whose part is not next does not wait: it
/// leaves the part in a list, and the thread that adds the previous part adds this part as well.
class QueryGradients {
 public:
  /// If threads share heads, each thread gets memory for several parts, so that it can compute
  /// further parts while earlier parts wait to be added.
  QueryGradients(const AttentionPlan& plan, index block_queries, const KeyChunks& chunks, index row,
                 bool shares_heads, runtime::Execution& run)
      : problem_(plan.problem()), run_(run), block_queries_(block_queries), row_(row) {
    const index tables = problem_.tables();
    first_ = run.take<std::int32_t>(first_block(tables), "attention turns");
    end_ = run.take<std::int32_t>(first_block(tables), "attention turns");
    const index sums =
        validation::product("query", {first_block(problem_.entries()), problem_.query_heads});
    sums_ = run.take<Sum>(sums, "attention turns");
    std::fill_n(sums_, sums, Sum{});
    for (index e = 0; e < tables; ++e) {
      for (index block = 0; block < blocks(e); ++block) {
        index begin = problem_.keys_of(e), end = 0;
        const index first = block * block_queries;
        for (index i = first; i < std::min(first + block_queries, problem_.queries_of(e)); ++i) {
          if (plan.key_begin(e, i) >= plan.key_end(e, i)) continue;
          begin = std::min(begin, plan.key_begin(e, i));
          end = std::max(end, plan.key_end(e, i));
        }
        first_[first_block(e) + block] = static_cast<std::int32_t>(begin / chunks.keys(e));
        end_[first_block(e) + block] =
            begin < end ? static_cast<std::int32_t>(kernels::ceil_divide(end, chunks.keys(e))) : 0;
      }
    }
    // With causal attention, each chunk begins this many blocks later than the previous chunk.
    constexpr index kMostParts = 64;
    const index threads = run.num_threads();
    const index ahead =
        std::min(2 * threads * kernels::ceil_divide(chunks.most_keys(), block_queries), kMostParts);
    const index blocks = kernels::ceil_divide(problem_.num_queries, block_queries);
    parts_per_thread_ = shares_heads ? std::max<index>(std::min(blocks, ahead), 1) : 1;
    const index parts = threads * parts_per_thread_;
    parts_ = run.take<QueryGradientPart>(parts, "attention gradients");
    const index size = block_queries * row;
    float* rows = run.floats(validation::product("query", {parts, size}), "attention gradients");
    for (index i = 0; i < parts; ++i) parts_[i] = {rows + i * size, nullptr, 0, true, 0};
  }

  /// The number of blocks of queries of entry e.
  index blocks(index e) const noexcept {
    return kernels::ceil_divide(problem_.queries_of(e), block_queries_);
  }

  /// True if a block of queries may attend to keys of a chunk.
  bool may_attend(index e, index block, index chunk) const noexcept {
    const index at = first_block(problem_.table_of(e)) + block;
    return first_[at] <= chunk && chunk < end_[at];
  }

  /// Returns a free QueryGradientPart of this thread. If none is free, waits until parts of earlier
  /// chunks have been added. The tasks of earlier chunks started before the task of this chunk, so
  /// those tasks will finish.
  QueryGradientPart& open(int thread) noexcept {
    QueryGradientPart* const parts = parts_ + thread * parts_per_thread_;
    while (true) {
      for (index i = 0; i < parts_per_thread_; ++i) {
        if (__atomic_load_n(&parts[i].is_waiting, __ATOMIC_ACQUIRE) == 0) return parts[i];
      }
      runtime::yield();
    }
  }

  /// Hands over a filled part, which is added to `gradient` (B, Hq, Nq, D) when its turn comes. If
  /// its `is_zero` is true, there is nothing to add.
  void close(QueryGradientPart& part, index e, index h, index block, index chunk,
             const Tensor& gradient) noexcept {
    Sum& sum = sums_[first_block(e) * problem_.query_heads + h * blocks(e) + block];
    part.turn =
        static_cast<std::int32_t>(chunk) - first_[first_block(problem_.table_of(e)) + block];
    part.is_waiting = 1;
    // std::atomic_ref is missing from the standard library of Emscripten 3.1.
    while (__atomic_exchange_n(&sum.is_held, 1, __ATOMIC_ACQUIRE) != 0) runtime::yield();
    part.next = sum.waiting;
    sum.waiting = &part;
    for (QueryGradientPart** link = &sum.waiting; *link;) {
      QueryGradientPart& next = **link;
      if (next.turn != sum.turn) {
        link = &next.next;
        continue;
      }
      *link = next.next;
      if (!next.is_zero && !gradient.is_none()) add(next, e, h, block, gradient);
      ++sum.turn;
      __atomic_store_n(&next.is_waiting, 0, __ATOMIC_RELEASE);
      link = &sum.waiting;
    }
    __atomic_store_n(&sum.is_held, 0, __ATOMIC_RELEASE);
  }

 private:
  /// The state of the gradient sum for one block of a head's queries.
  struct Sum {
    QueryGradientPart* waiting;
    std::int32_t turn;  ///< number of chunks added so far
    std::int32_t is_held;
  };

  /// An upper bound of the number of blocks of all entries before entry e. Each packed sequence has
  /// at most one block that is not full.
  index first_block(index e) const noexcept {
    if (!problem_.is_packed())
      return e * kernels::ceil_divide(problem_.num_queries, block_queries_);
    return problem_.options.cu_seqlens(e) / block_queries_ + e;
  }

  void add(const QueryGradientPart& part, index e, index h, index block,
           const Tensor& to) const noexcept {
    const index first = block * block_queries_;
    kernels::ElementwiseArgs sum;
    sum.rows = std::min(block_queries_, problem_.queries_of(e) - first);
    sum.cols = problem_.head_dim;
    sum.a = sum.out = rows_at(to, problem_.batch_of(e), h, problem_.first_query(e) + first);
    sum.b = {part.rows, row_};
    run_.kernels().add(sum);
  }

  const AttentionProblem& problem_;
  runtime::Execution& run_;
  index block_queries_, row_;
  index parts_per_thread_;
  std::int32_t* first_;       ///< (tables, blocks): the first chunk that adds to the block
  std::int32_t* end_;         ///< (tables, blocks): one past the last chunk that adds to the block
  Sum* sums_;                 ///< (entries, Hq, blocks)
  QueryGradientPart* parts_;  ///< (threads, parts_per_thread)
};

}  // namespace attn::training
