#include "training/attention_backward.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "attention/attention_plan.hpp"
#include "kernels/training/training_table.hpp"
#include "runtime/execution.hpp"
#include "runtime/training_dispatch.hpp"
#include "strided_rows.hpp"
#include "training/attention_backward_problem.hpp"
#include "training/attention_query_gradients.hpp"
#include "training/attention_shared_sums.hpp"
#include "validation.hpp"

namespace attn {
namespace training {
namespace {

using kernels::AttentionGradientHead;
using kernels::AttentionHead;
using kernels::KeyChunk;
using kernels::TrainingTable;

/// Copies rows with a stride of `row` floats to the first rows of a view.
void store_rows(const float* from, index row, index rows, const Tensor& to) noexcept {
  for (index i = 0; i < rows; ++i, from += row) {
    if (to.stride(1) == 1) {
      std::copy_n(from, to.size(1), to.pointer(i));
    } else {
      for (index d = 0; d < to.size(1); ++d) to(i, d) = from[d];
    }
  }
}

/// The working memory of one thread.
struct Worker {
  KeyChunk chunk;
  int thread = 0;
  float* distance_bias = nullptr;  ///< (Nq + Nk)
  float* scratch = nullptr;
};

/// Computes the gradients of all heads of a call, one chunk of keys at a time.
class Backward {
 public:
  Backward(const BackwardProblem& p, const AttentionPlan& plan, const TrainingTable& kernels,
           runtime::Execution& run)
      : p_(p),
        plan_(plan),
        kernels_(kernels),
        run_(run),
        key_row_(kernels.padded_row(p.head_dim)),
        value_row_(kernels.padded_row(p.value_dim)),
        chunks_(p, kernels, run),
        query_gradients_(plan, kernels.gradient_queries, chunks_, key_row_,
                         tasks(p.entries(), 0) * tasks(p.key_heads, 1) < run.num_threads(), run),
        sums_(p, kernels, chunks_, run) {
    const index rows = validation::product("query", {p.batch, p.query_heads, p.num_queries});
    delta_ = run.floats(rows, "attention deltas");
    log_sum_exp_ = run.floats(rows, "attention log-sum-exp");
    if (!p.options.relative_keys.is_none()) {
      relative_keys_ = run.floats(
          validation::product("relative_keys", {p.query_heads, p.num_distances(), key_row_}),
          "attention relative keys");
    }
    Worker worker;
    worker_size_ = lay_out(nullptr, worker);
    worker_memory_ = run.floats(worker_size_ * run.num_threads(), "attention gradients");
    list_tasks();
  }

  void compute() noexcept {
    prepare();
    std::atomic<index> next{0};
    run_.parallel_for(num_tasks_, [&](index, int thread) noexcept {
      Worker worker;
      worker.thread = thread;
      lay_out(worker_memory_ + thread * worker_size_, worker);
      // Tasks are taken in order, regardless of the order in which the loop calls its body, because
      // a task may wait for earlier tasks.
      const Task task = tasks_[next.fetch_add(1, std::memory_order_relaxed)];
      const index e_end = is_shared(0) ? p_.entries() : task.e + 1;
      const index h_end = is_shared(1) ? p_.key_heads : task.h + 1;
      for (index e = task.e; e < e_end; ++e) {
        const index c_end = is_shared(3) ? chunks_.count(e) : task.chunk + 1;
        for (index h = task.h; h < h_end; ++h) {
          for (index c = task.chunk; c < c_end; ++c) backpropagate_chunk(e, h, c, worker);
        }
      }
    });
    finish();
  }

 private:
  /// A task: head h and chunk `chunk` of entry e. If a bias is broadcast, several entries, heads or
  /// chunks form one task, which has the indices of the first.
  struct Task {
    index e, h, chunk;
  };

  /// Lists the tasks in the order in which threads take them. Heads are processed in groups. A
  /// group has as many heads as there are threads. Each group is processed chunk by chunk, so that
  /// threads that process different heads do not wait for each other.
  void list_tasks() {
    const index entries = tasks(p_.entries(), 0);
    const index heads = tasks(p_.key_heads, 1);
    const index abreast = run_.num_threads();
    tasks_ = run_.take<Task>(validation::product("key", {heads, chunks_.total()}),
                             "attention gradients");
    for (index first = 0; first < entries * heads; first += abreast) {
      const index end = std::min(first + abreast, entries * heads);
      bool any = true;
      for (index chunk = 0; any; ++chunk) {
        any = false;
        for (index i = first; i < end; ++i) {
          if (chunk >= tasks(chunks_.count(i / heads), 3)) continue;
          tasks_[num_tasks_++] = {i / heads, i % heads, chunk};
          any = true;
        }
      }
    }
  }

  /// True if the bias is broadcast over this dimension. Batch entries, heads or chunks then share
  /// elements of its gradient and form one task.
  bool is_shared(int dimension) const noexcept {
    const Tensor& bias = p_.gradients.bias;
    return !bias.is_none() && bias.stride(dimension) == 0;
  }
  index tasks(index count, int dimension) const noexcept {
    return is_shared(dimension) ? std::min<index>(count, 1) : count;
  }

  /// Lays out a thread's part of the scratch memory. Returns the size of this part, even if
  /// `memory` is null.
  index lay_out(float* memory, Worker& worker) const noexcept {
    index size = 0;
    const auto take = [&](float*& part, index count) {
      part = memory ? memory + size : nullptr;
      size += kernels::round_up(count, kernels::kPanelWidth);
    };
    take(worker.chunk.keys, chunks_.most_keys() * key_row_);
    take(worker.chunk.key_gradients, chunks_.most_keys() * key_row_);
    take(worker.chunk.values, chunks_.most_keys() * value_row_);
    take(worker.chunk.value_gradients, chunks_.most_keys() * value_row_);
    if (sums_.has_distance_bias()) take(worker.distance_bias, p_.num_queries + p_.num_keys);
    take(worker.scratch, kernels_.attention_gradient_scratch(plan_.first_head()));
    return size;
  }

  /// Index of the first query of an entry's head in an array (B, Hq, Nq).
  index row_of(index e, index h) const noexcept {
    return (p_.batch_of(e) * p_.query_heads + h) * p_.num_queries + p_.first_query(e);
  }

  /// Computes the numbers that all chunks read, and clears the sums that chunks add to.
  void prepare() noexcept {
    run_.parallel_for(p_.batch * p_.query_heads, [&](index task, int) noexcept {
      const index b = task / p_.query_heads, h = task % p_.query_heads;
      kernels::RowDotsArgs dots;
      dots.rows = p_.num_queries;
      dots.cols = p_.value_dim;
      dots.a = rows_at(p_.forward_output, b, h);
      dots.b = rows_at(p_.output_gradient, b, h);
      dots.sums = delta_ + row_of(b, h);
      kernels_.row_dots(dots);
      for (index i = 0; i < p_.num_queries; ++i) {
        log_sum_exp_[row_of(b, h) + i] = p_.log_sum_exp(b, h, i);
        // D − dlse replaces D, because dP − D + dlse = dP − (D − dlse).
        if (!p_.log_sum_exp_gradient.is_none()) {
          delta_[row_of(b, h) + i] -= p_.log_sum_exp_gradient(b, h, i);
        }
      }
      const AttentionGradients& g = p_.gradients;
      for (const Tensor* gradient : {&g.query, &g.scores, &g.weights}) {
        if (!gradient->is_none()) clear(gradient->select(0, b).select(0, h));
      }
    });
    clear(p_.gradients.bias);
    for (index h = 0; relative_keys_ && h < p_.query_heads; ++h) {
      for (index c = 0; c < p_.num_distances(); ++c) {
        float* row = relative_keys_ + (h * p_.num_distances() + c) * key_row_;
        for (index d = 0; d < p_.head_dim; ++d) {
          row[d] = p_.options.relative_keys(h, c, d);
          relative_keys_are_finite_ &= std::isfinite(row[d]);
        }
        std::fill(row + p_.head_dim, row + key_row_, 0.0F);
      }
    }
  }

  AttentionGradientHead gradient_head(index e, index h, index chunk,
                                      const Worker& worker) const noexcept {
    const AttentionGradients& g = p_.gradients;
    const index b = p_.batch_of(e);
    AttentionGradientHead head;
    head.output_gradient = rows_at(p_.output_gradient, b, h, p_.first_query(e));
    head.log_sum_exp = log_sum_exp_ + row_of(e, h);
    head.delta = delta_ + row_of(e, h);
    if (relative_keys_) head.relative_keys = relative_keys_ + h * p_.num_distances() * key_row_;
    head.relative_keys_are_finite = relative_keys_are_finite_;
    if (!g.weights.is_none()) head.weights = rows_at(g.weights, b, h);
    if (!g.scores.is_none()) head.scores = rows_at(g.scores, b, h);
    if (!g.bias.is_none()) head.bias = rows_at(g.bias, b, h);
    if (worker.distance_bias) head.distance_bias = worker.distance_bias + p_.queries_of(e) - 1;
    const index at = chunks_.index_of(e, h, chunk);
    if (sums_.relative_keys) {
      head.relative_key_gradients = sums_.relative_keys + at * p_.num_distances() * key_row_;
    }
    if (sums_.relative_values) {
      head.relative_value_gradients = sums_.relative_values + at * p_.num_distances() * value_row_;
    }
    return head;
  }

  /// Processes one chunk of keys of a key head with all queries that read this head.
  void backpropagate_chunk(index e, index key_head, index c, Worker& worker) noexcept {
    const index group = p_.query_heads / p_.key_heads;
    KeyChunk& chunk = worker.chunk;
    chunk.key_begin = c * chunks_.keys(e);
    chunk.key_end = std::min(chunk.key_begin + chunks_.keys(e), p_.keys_of(e));
    const index keys = chunk.key_end - chunk.key_begin;
    kernels_.load_keys(plan_.head(e, key_head * group), chunk);
    std::fill_n(chunk.key_gradients, keys * key_row_, 0.0F);
    std::fill_n(chunk.value_gradients, keys * value_row_, 0.0F);
    for (index h = key_head * group; h < (key_head + 1) * group; ++h) {
      backpropagate_head(e, h, c, worker);
    }
    kernels_.scaled_difference(keys * key_row_, plan_.first_head().scale, chunk.key_gradients,
                               nullptr, chunk.key_gradients);
    const auto store = [&](const float* from, index row, const Tensor& to) {
      if (to.is_none()) return;
      const Tensor rows = to.select(0, p_.batch_of(e)).select(0, key_head);
      const index first = p_.first_key(e);
      store_rows(from, row, keys, rows.slice(0, first + chunk.key_begin, first + chunk.key_end));
    };
    store(chunk.key_gradients, key_row_, p_.gradients.key);
    store(chunk.value_gradients, value_row_, p_.gradients.value);
  }

  void backpropagate_head(index e, index h, index c, Worker& worker) noexcept {
    const AttentionHead head = plan_.head(e, h);
    const AttentionGradientHead gradient = gradient_head(e, h, c, worker);
    if (worker.distance_bias) {
      std::fill_n(worker.distance_bias, head.num_queries + head.num_keys, 0.0F);
    }
    for (index block = 0; block < query_gradients_.blocks(e); ++block) {
      if (!query_gradients_.may_attend(e, block, c)) continue;
      const index first = block * kernels_.gradient_queries;
      const index count = std::min(kernels_.gradient_queries, head.num_queries - first);
      QueryGradientPart& part = query_gradients_.open(worker.thread);
      part.is_zero = !kernels_.backpropagate_attention(head, gradient, first, count, worker.chunk,
                                                       part.rows, worker.scratch);
      query_gradients_.close(part, e, h, block, c, p_.gradients.query);
    }
    if (worker.distance_bias) sums_.add_distance_bias(e, h, c, worker.distance_bias);
  }

  /// True if query i attends to at least one key. Batch entry b may contain packed sequences.
  bool attends(index b, index h, index i) const noexcept {
    const ConstMask& mask = p_.options.mask;
    const ConstTensor& bias = p_.options.bias;
    for (index j = plan_.key_begin(b, i); j < plan_.key_end(b, i); ++j) {
      if (!mask.is_none() && (j >= mask.size(3) || mask(b, h, i, j) == 0)) continue;
      if (!bias.is_none() && (j >= bias.size(3) || bias(b, h, i, j) == -INFINITY)) continue;
      return true;
    }
    return false;
  }

  void finish() noexcept {
    sums_.finish(plan_.first_head().scale);
    const Tensor& sinks = p_.gradients.sinks;
    for (index h = 0; !sinks.is_none() && h < p_.query_heads; ++h) {
      double sum = 0;
      for (index b = 0; b < p_.batch; ++b) {
        for (index i = row_of(b, h); i < row_of(b, h) + p_.num_queries; ++i) {
          // A row without keys whose sink is −∞ has no weights.
          if (!std::isfinite(log_sum_exp_[i])) continue;
          if (!std::isfinite(delta_[i]) && !attends(b, h, i - row_of(b, h))) continue;
          sum -= std::exp(static_cast<double>(p_.options.sinks(h)) - log_sum_exp_[i]) * delta_[i];
        }
      }
      sinks(h) = static_cast<float>(sum);
    }
  }

  const BackwardProblem& p_;
  const AttentionPlan& plan_;
  const TrainingTable& kernels_;
  runtime::Execution& run_;
  index key_row_, value_row_;
  KeyChunks chunks_;
  QueryGradients query_gradients_;
  SharedSums sums_;
  float* delta_;                    ///< (B, Hq, Nq): D
  float* log_sum_exp_;              ///< (B, Hq, Nq), contiguous
  float* relative_keys_ = nullptr;  ///< (Hq, 2k+1, head_dim rounded up to whole vectors)
  bool relative_keys_are_finite_ = true;
  index worker_size_;
  float* worker_memory_;
  Task* tasks_ = nullptr;
  index num_tasks_ = 0;
};

}  // namespace

void attention_backward(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
                        const ConstTensor& output, const ConstTensor& log_sum_exp,
                        const ConstTensor& output_gradient, const ConstTensor& log_sum_exp_gradient,
                        const AttentionGradients& gradients, const AttentionOptions& options,
                        Context& context) {
  BackwardProblem problem =
      check_backward(query, key, value, output, log_sum_exp, output_gradient, gradients, options);
  problem.log_sum_exp_gradient = log_sum_exp_gradient;
  runtime::Execution run(context);
  const TrainingTable& kernels = *runtime::find_training_kernels(context.instruction_set());
  const AttentionPlan plan(problem, kernels.padded_row(problem.value_dim), run);
  Backward(problem, plan, kernels, run).compute();
}

}  // namespace training

void scaled_dot_product_attention_backward(const ConstTensor& query, const ConstTensor& key,
                                           const ConstTensor& value, const ConstTensor& output,
                                           const ConstTensor& log_sum_exp,
                                           const ConstTensor& output_gradient,
                                           const AttentionGradients& gradients,
                                           const AttentionOptions& options, Context& context) {
  training::attention_backward(query, key, value, output, log_sum_exp, output_gradient, {},
                               gradients, options, context);
}

}  // namespace attn
