#include "training/attention_backward.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "attention/attention_plan.hpp"
#include "attention/check_attention.hpp"
#include "kernels/training/training_table.hpp"
#include "runtime/execution.hpp"
#include "runtime/threads.hpp"
#include "runtime/training_dispatch.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::AttentionGradientHead;
using kernels::AttentionHead;
using kernels::index;
using kernels::KeyChunk;
using kernels::kGradientKeys;
using kernels::TrainingTable;

constexpr index pieces(index count, index piece) { return (count + piece - 1) / piece; }

/// A checked call.
struct BackwardProblem : AttentionProblem {
  ConstTensor forward_output;        ///< (B, Hq, Nq, Dv)
  ConstTensor output_gradient;       ///< the same
  ConstTensor log_sum_exp;           ///< (B, Hq, Nq)
  ConstTensor log_sum_exp_gradient;  ///< the same, or none
  /// Those of query, key and value of rank 4; that of the bias broadcast to (B, Hq, Nq, its own
  /// last size), those of relative keys and values to (Hq, 2k+1, D). What is summed has stride 0.
  AttentionGradients gradients;
};

template <class T>
void check_gradient(const char* name, const Tensor& gradient, const TensorView<T>& of) {
  if (gradient.is_none()) return;
  if (of.is_none()) {
    validation::fail_shape(name, gradient.shape(), {"none: the call has no such option"});
  }
  validation::require_same_shape(name, gradient, of);
  validation::require_data(name, gradient);
}

/// A gradient seen as what it is the gradient of is seen.
Tensor seen_as(const char* name, const Tensor& gradient, const ConstTensor& broadcast) {
  if (gradient.is_none()) return gradient;
  const auto strides =
      validation::broadcast_strides(name, gradient.shape(), gradient.strides(), broadcast.shape());
  return Tensor(gradient.data(), broadcast.shape(),
                std::span(strides).first(broadcast.shape().size()));
}

BackwardProblem check_backward(const ConstTensor& query, const ConstTensor& key,
                               const ConstTensor& value, const ConstTensor& output,
                               const ConstTensor& log_sum_exp, const ConstTensor& output_gradient,
                               const AttentionGradients& gradients,
                               const AttentionOptions& options) {
  AttentionOptions inputs = options;
  inputs.scaled_scores = inputs.capped_scores = inputs.biased_scores = inputs.weights =
      inputs.log_sum_exp = {};
  BackwardProblem p{check_attention_inputs(query, key, value, inputs), {}, {}, {}, {}, gradients};
  check_attention_output("output", output, query.rank(), p);
  check_attention_output("output_gradient", output_gradient, query.rank(), p);
  validation::require_shape("log_sum_exp", log_sum_exp, {p.batch, p.query_heads, p.num_queries});
  validation::require_data("log_sum_exp", log_sum_exp);
  p.forward_output = with_heads(output);
  p.output_gradient = with_heads(output_gradient);
  p.log_sum_exp = log_sum_exp;

  AttentionGradients& g = p.gradients;
  check_gradient("gradients.query", g.query, query);
  check_gradient("gradients.key", g.key, key);
  check_gradient("gradients.value", g.value, value);
  check_gradient("gradients.bias", g.bias, options.bias);
  check_gradient("gradients.alibi_slopes", g.alibi_slopes, options.alibi_slopes);
  check_gradient("gradients.t5_table", g.t5_table,
                 options.t5_bias ? options.t5_bias->table : ConstTensor());
  check_gradient("gradients.relative_keys", g.relative_keys, options.relative_keys);
  check_gradient("gradients.relative_values", g.relative_values, options.relative_values);
  check_gradient("gradients.sinks", g.sinks, options.sinks);
  for (const auto& [name, gradient] :
       {std::pair("gradients.scores", &g.scores), std::pair("gradients.weights", &g.weights)}) {
    if (gradient->is_none()) continue;
    validation::require_shape(name, *gradient, {p.batch, p.query_heads, p.num_queries, p.num_keys});
    validation::require_data(name, *gradient);
  }
  g.query = with_heads(g.query);
  g.key = with_heads(g.key);
  g.value = with_heads(g.value);
  g.bias = seen_as("gradients.bias", g.bias, p.options.bias);
  g.relative_keys = seen_as("gradients.relative_keys", g.relative_keys, p.options.relative_keys);
  g.relative_values =
      seen_as("gradients.relative_values", g.relative_values, p.options.relative_values);
  return p;
}

/// Sets every element to zero, those that are repeated more than once.
void clear(const Tensor& t) noexcept {
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

/// Stores rows that are `row` floats apart in the first rows of a view.
void store_rows(const float* from, index row, index rows, const Tensor& to) noexcept {
  for (index i = 0; i < rows; ++i, from += row) {
    if (to.stride(1) == 1) {
      std::copy_n(from, to.size(1), to.pointer(i));
    } else {
      for (index d = 0; d < to.size(1); ++d) to(i, d) = from[d];
    }
  }
}

/// Who comes when in adding to the gradient of a block of queries: the chunks of keys that it may
/// attend to, in order. That is what makes the sum's bits independent of the number of threads.
class Turns {
 public:
  Turns(const AttentionPlan& plan, index block_queries, runtime::Execution& run)
      : problem_(plan.problem()), blocks_(pieces(problem_.num_queries, block_queries)) {
    const index tables = problem_.tables();
    first_ = run.take<std::int32_t>(tables * blocks_, "attention turns");
    end_ = run.take<std::int32_t>(tables * blocks_, "attention turns");
    next_ = run.take<std::int32_t>(
        validation::product("query", {problem_.batch, problem_.query_heads, blocks_}),
        "attention turns");
    std::fill_n(next_, problem_.batch * problem_.query_heads * blocks_, 0);
    for (index b = 0; b < tables; ++b) {
      for (index block = 0; block < blocks_; ++block) {
        index begin = problem_.num_keys, end = 0;
        const index first = block * block_queries;
        for (index i = first; i < std::min(first + block_queries, problem_.num_queries); ++i) {
          if (plan.key_begin(b, i) >= plan.key_end(b, i)) continue;
          begin = std::min(begin, plan.key_begin(b, i));
          end = std::max(end, plan.key_end(b, i));
        }
        first_[b * blocks_ + block] = static_cast<std::int32_t>(begin / kGradientKeys);
        end_[b * blocks_ + block] =
            begin < end ? static_cast<std::int32_t>(pieces(end, kGradientKeys)) : 0;
      }
    }
  }

  index blocks() const noexcept { return blocks_; }

  /// Whether a block of queries may attend to keys of a chunk.
  bool takes_part(index b, index block, index chunk) const noexcept {
    const index at = problem_.table_of(b) * blocks_ + block;
    return first_[at] <= chunk && chunk < end_[at];
  }

  /// Waits for the chunks before this one. They have begun before it did, so they will end.
  void wait(index b, index h, index block, index chunk) noexcept {
    const std::int32_t turn =
        static_cast<std::int32_t>(chunk) - first_[problem_.table_of(b) * blocks_ + block];
    while (__atomic_load_n(next(b, h, block), __ATOMIC_ACQUIRE) != turn) runtime::yield();
  }
  void end(index b, index h, index block) noexcept {
    __atomic_fetch_add(next(b, h, block), 1, __ATOMIC_RELEASE);
  }

 private:
  // std::atomic_ref is missing from the standard library of Emscripten 3.1.
  std::int32_t* next(index b, index h, index block) noexcept {
    return next_ + (b * problem_.query_heads + h) * blocks_ + block;
  }

  const AttentionProblem& problem_;
  index blocks_;
  std::int32_t* first_;  ///< (tables, blocks): the first chunk
  std::int32_t* end_;    ///< and the one after the last
  std::int32_t* next_;   ///< (B, Hq, blocks): how many chunks have added
};

/// Gradients of what all queries share: a sum for each head and chunk of keys, which are then added
/// in order.
struct SharedSums {
  SharedSums(const BackwardProblem& p, const TrainingTable& kernels, index chunks,
             runtime::Execution& run)
      : p_(p),
        chunks_(chunks),
        key_row(kernels.padded_row(p.head_dim)),
        value_row(kernels.padded_row(p.value_dim)) {
    const auto take = [&](bool wanted, index each) {
      if (!wanted) return static_cast<float*>(nullptr);
      const index count =
          validation::product("query", {p.batch, p.query_heads, std::max<index>(chunks, 1), each});
      float* sums = run.floats(count, "attention gradients");
      std::fill_n(sums, count, 0.0F);
      return sums;
    };
    buckets = p.gradients.t5_table.is_none() ? 0 : p.gradients.t5_table.size(0);
    relative_keys = take(!p.gradients.relative_keys.is_none(), p.distances() * key_row);
    relative_values = take(!p.gradients.relative_values.is_none(), p.distances() * value_row);
    slopes = take(!p.gradients.alibi_slopes.is_none(), 1);
    t5_table = take(buckets > 0, buckets);
  }

  bool by_distance() const noexcept { return slopes || t5_table; }
  index place(index b, index h, index chunk) const noexcept {
    return (b * p_.query_heads + h) * chunks_ + chunk;
  }

  /// Adds what was summed per distance j − i, from −(Nq − 1) on, of keys [begin, end).
  void add_distances(index b, index h, index chunk, const float* distances) noexcept {
    const index begin = chunk * kGradientKeys - (p_.num_queries - 1);
    const index end = std::min((chunk + 1) * kGradientKeys, p_.num_keys);
    const index offset = p_.offset_of(b);
    double slope = 0;
    for (index d = begin; d < end; ++d) {
      const float sum = distances[d + p_.num_queries - 1];
      slope -= static_cast<double>(std::abs(d - offset)) * static_cast<double>(sum);
      if (t5_table) {
        const index bucket = t5_bucket(d - offset, buckets, p_.options.t5_bias->max_distance,
                                       p_.options.t5_bias->bidirectional);
        t5_table[place(b, h, chunk) * buckets + bucket] += sum;
      }
    }
    if (slopes) slopes[place(b, h, chunk)] = static_cast<float>(slope);
  }

  void finish(float scale) noexcept {
    const AttentionGradients& g = p_.gradients;
    for (const Tensor* t : {&g.alibi_slopes, &g.t5_table, &g.relative_keys, &g.relative_values}) {
      clear(*t);
    }
    const auto add_table = [&](const float* sums, index row, index width, float factor,
                               const Tensor& to, index h, index at) {
      for (index c = 0; sums && c < p_.distances(); ++c) {
        for (index d = 0; d < width; ++d) {
          to(h, c, d) += factor * sums[(at * p_.distances() + c) * row + d];
        }
      }
    };
    for (index b = 0; b < p_.batch; ++b) {
      for (index h = 0; h < p_.query_heads; ++h) {
        for (index chunk = 0; chunk < chunks_; ++chunk) {
          const index at = place(b, h, chunk);
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
  index chunks_;

 public:
  index key_row, value_row;
  index buckets = 0;
  // For each batch entry, query head and chunk of keys, or null:
  float* relative_keys;    ///< (2k+1, head_dim in whole vectors)
  float* relative_values;  ///< (2k+1, value_dim in whole vectors)
  float* slopes;
  float* t5_table;  ///< (buckets)
};

/// What a thread computes with.
struct Worker {
  KeyChunk chunk;
  float* query_gradients = nullptr;
  float* distances = nullptr;  ///< (Nq + Nk)
  float* scratch = nullptr;
};

/// Walks over the heads of a call in chunks of keys.
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
        chunks_(pieces(p.num_keys, kGradientKeys)),
        turns_(plan, kernels.gradient_queries, run),
        sums_(p, kernels, chunks_, run) {
    const index rows = validation::product("query", {p.batch, p.query_heads, p.num_queries});
    delta_ = run.floats(rows, "attention deltas");
    log_sum_exp_ = run.floats(rows, "attention log-sum-exp");
    if (!p.options.relative_keys.is_none()) {
      relative_keys_ =
          run.floats(validation::product("relative_keys", {p.query_heads, p.distances(), key_row_}),
                     "attention relative keys");
    }
    Worker worker;
    worker_size_ = lay_out(nullptr, worker);
    worker_memory_ = run.floats(worker_size_ * run.num_threads(), "attention gradients");
  }

  void compute() noexcept {
    prepare();
    // Tasks that share a gradient's elements are one: a bias that broadcasts over heads or the
    // batch, and one that broadcasts over the keys.
    const Tensor& bias = p_.gradients.bias;
    const auto shared = [&](int dimension) {
      return !bias.is_none() && bias.stride(dimension) == 0;
    };
    const index batches = shared(0) ? 1 : p_.batch;
    const index heads = shared(1) ? 1 : p_.key_heads;
    const index chunks = shared(3) ? std::min<index>(chunks_, 1) : chunks_;
    // As many heads as threads go side by side, chunk by chunk: a chunk waits for the one before it
    // of its own head, and threads with heads of their own do not wait for each other.
    const index abreast = std::min<index>(run_.num_threads(), batches * heads);
    std::atomic<index> next{0};
    run_.parallel_for(batches * heads * chunks, [&](index, int thread) noexcept {
      Worker worker;
      lay_out(worker_memory_ + thread * worker_size_, worker);
      // In order, whatever order the loop has: a task waits for those before it.
      const index task = next.fetch_add(1, std::memory_order_relaxed);
      const index first = task / (abreast * chunks) * abreast;
      const index of_group = task - first * chunks;
      const index group = std::min(abreast, batches * heads - first);
      const index chunk = of_group / group;
      const index b = (first + of_group % group) / heads;
      const index h = (first + of_group % group) % heads;
      for (index bb = b; bb < (shared(0) ? p_.batch : b + 1); ++bb) {
        for (index hh = h; hh < (shared(1) ? p_.key_heads : h + 1); ++hh) {
          for (index c = chunk; c < (shared(3) ? chunks_ : chunk + 1); ++c) {
            meet_chunk(bb, hh, c, worker);
          }
        }
      }
    });
    finish();
  }

 private:
  /// Lays a thread's part of the scratch memory out; without memory, tells its size.
  index lay_out(float* memory, Worker& worker) const noexcept {
    index size = 0;
    const auto take = [&](float*& part, index count) {
      part = memory ? memory + size : nullptr;
      size += kernels::round_up(count, kernels::kPanelWidth);
    };
    take(worker.chunk.keys, kGradientKeys * key_row_);
    take(worker.chunk.key_gradients, kGradientKeys * key_row_);
    take(worker.chunk.values, kGradientKeys * value_row_);
    take(worker.chunk.value_gradients, kGradientKeys * value_row_);
    take(worker.query_gradients, kernels_.gradient_queries * key_row_);
    if (sums_.by_distance()) take(worker.distances, p_.num_queries + p_.num_keys);
    take(worker.scratch, kernels_.attention_gradient_scratch(plan_.head(0, 0)));
    return size;
  }

  index row_of(index b, index h) const noexcept {
    return (b * p_.query_heads + h) * p_.num_queries;
  }

  /// What all chunks read, and zeros for what they add to.
  void prepare() noexcept {
    run_.parallel_for(p_.batch * p_.query_heads, [&](index task, int) noexcept {
      const index b = task / p_.query_heads, h = task % p_.query_heads;
      kernels::RowDotsArgs dots;
      dots.rows = p_.num_queries;
      dots.cols = p_.value_dim;
      dots.a = p_.forward_output.pointer(b, h);
      dots.a_row = p_.forward_output.stride(2);
      dots.a_col = p_.forward_output.stride(3);
      dots.b = p_.output_gradient.pointer(b, h);
      dots.b_row = p_.output_gradient.stride(2);
      dots.b_col = p_.output_gradient.stride(3);
      dots.sums = delta_ + row_of(b, h);
      kernels_.row_dots(dots);
      for (index i = 0; i < p_.num_queries; ++i) {
        log_sum_exp_[row_of(b, h) + i] = p_.log_sum_exp(b, h, i);
        // dP − D + dlse is dP − (D − dlse).
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
      for (index c = 0; c < p_.distances(); ++c) {
        float* row = relative_keys_ + (h * p_.distances() + c) * key_row_;
        for (index d = 0; d < p_.head_dim; ++d) {
          row[d] = p_.options.relative_keys(h, c, d);
          relative_keys_are_finite_ &= std::isfinite(row[d]);
        }
        std::fill(row + p_.head_dim, row + key_row_, 0.0F);
      }
    }
  }

  AttentionGradientHead gradient_head(index b, index h, index chunk,
                                      const Worker& worker) const noexcept {
    const AttentionGradients& g = p_.gradients;
    AttentionGradientHead head;
    head.output_gradient = p_.output_gradient.pointer(b, h);
    head.output_gradient_row = p_.output_gradient.stride(2);
    head.output_gradient_col = p_.output_gradient.stride(3);
    head.log_sum_exp = log_sum_exp_ + row_of(b, h);
    head.delta = delta_ + row_of(b, h);
    if (relative_keys_) head.relative_keys = relative_keys_ + h * p_.distances() * key_row_;
    head.relative_keys_are_finite = relative_keys_are_finite_;
    if (!g.weights.is_none()) {
      head.weights = g.weights.pointer(b, h);
      head.weight_row = g.weights.stride(2);
      head.weight_col = g.weights.stride(3);
    }
    if (!g.scores.is_none()) {
      head.scores = g.scores.pointer(b, h);
      head.score_row = g.scores.stride(2);
      head.score_col = g.scores.stride(3);
    }
    if (!g.bias.is_none()) {
      head.bias = g.bias.pointer(b, h);
      head.bias_row = g.bias.stride(2);
      head.bias_col = g.bias.stride(3);
    }
    if (worker.distances) head.distances = worker.distances + p_.num_queries - 1;
    const index at = sums_.place(b, h, chunk);
    if (sums_.relative_keys) {
      head.relative_key_gradients = sums_.relative_keys + at * p_.distances() * key_row_;
    }
    if (sums_.relative_values) {
      head.relative_value_gradients = sums_.relative_values + at * p_.distances() * value_row_;
    }
    return head;
  }

  /// All queries that read a key head meet a chunk of its keys.
  void meet_chunk(index b, index key_head, index c, Worker& worker) noexcept {
    const index group = p_.query_heads / p_.key_heads;
    KeyChunk& chunk = worker.chunk;
    chunk.key_begin = c * kGradientKeys;
    chunk.key_end = std::min(chunk.key_begin + kGradientKeys, p_.num_keys);
    const index keys = chunk.key_end - chunk.key_begin;
    kernels_.load_keys(plan_.head(b, key_head * group), chunk);
    std::fill_n(chunk.key_gradients, keys * key_row_, 0.0F);
    std::fill_n(chunk.value_gradients, keys * value_row_, 0.0F);
    for (index h = key_head * group; h < (key_head + 1) * group; ++h) {
      meet_head(b, h, c, worker);
    }
    kernels_.scaled_difference(keys * key_row_, plan_.head(0, 0).scale, chunk.key_gradients,
                               nullptr, chunk.key_gradients);
    const auto store = [&](const float* from, index row, const Tensor& to) {
      if (to.is_none()) return;
      const Tensor rows = to.select(0, b).select(0, key_head);
      store_rows(from, row, keys, rows.slice(0, chunk.key_begin, chunk.key_end));
    };
    store(chunk.key_gradients, key_row_, p_.gradients.key);
    store(chunk.value_gradients, value_row_, p_.gradients.value);
  }

  void meet_head(index b, index h, index c, Worker& worker) noexcept {
    const AttentionHead head = plan_.head(b, h);
    const AttentionGradientHead gradient = gradient_head(b, h, c, worker);
    if (worker.distances) {
      std::fill_n(worker.distances, p_.num_queries + p_.num_keys, 0.0F);
    }
    for (index block = 0; block < turns_.blocks(); ++block) {
      if (!turns_.takes_part(b, block, c)) continue;
      const index first = block * kernels_.gradient_queries;
      const index count = std::min(kernels_.gradient_queries, p_.num_queries - first);
      const bool met = kernels_.meet_keys(head, gradient, first, count, worker.chunk,
                                          worker.query_gradients, worker.scratch);
      turns_.wait(b, h, block, c);
      if (met && !p_.gradients.query.is_none()) {
        const Tensor& to = p_.gradients.query;
        kernels::ElementwiseArgs sum;
        sum.rows = count;
        sum.cols = p_.head_dim;
        sum.a = sum.out = to.pointer(b, h, first);
        sum.a_row = sum.out_row = to.stride(2);
        sum.a_col = sum.out_col = to.stride(3);
        sum.b = worker.query_gradients;
        sum.b_row = key_row_;
        run_.kernels().add(sum);
      }
      turns_.end(b, h, block);
    }
    if (worker.distances) sums_.add_distances(b, h, c, worker.distances);
  }

  /// Whether a query attends to any key.
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
    sums_.finish(plan_.head(0, 0).scale);
    const Tensor& sinks = p_.gradients.sinks;
    for (index h = 0; !sinks.is_none() && h < p_.query_heads; ++h) {
      double sum = 0;
      for (index b = 0; b < p_.batch; ++b) {
        for (index i = row_of(b, h); i < row_of(b, h) + p_.num_queries; ++i) {
          // A row that has nothing but a sink of −∞ has no weights.
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
  index key_row_, value_row_, chunks_;
  Turns turns_;
  SharedSums sums_;
  float* delta_;                    ///< (B, Hq, Nq): D
  float* log_sum_exp_;              ///< the same, side by side
  float* relative_keys_ = nullptr;  ///< (Hq, 2k+1, head_dim in whole vectors)
  bool relative_keys_are_finite_ = true;
  index worker_size_;
  float* worker_memory_;
};

}  // namespace

void training::attention_backward(const ConstTensor& query, const ConstTensor& key,
                                  const ConstTensor& value, const ConstTensor& output,
                                  const ConstTensor& log_sum_exp,
                                  const ConstTensor& output_gradient,
                                  const ConstTensor& log_sum_exp_gradient,
                                  const AttentionGradients& gradients,
                                  const AttentionOptions& options, Context& context) {
  BackwardProblem problem =
      check_backward(query, key, value, output, log_sum_exp, output_gradient, gradients, options);
  problem.log_sum_exp_gradient = log_sum_exp_gradient;
  runtime::Execution run(context);
  const TrainingTable& kernels = *runtime::find_training_kernels(context.instruction_set());
  const AttentionPlan plan(problem, kernels.padded_row(problem.value_dim), run);
  Backward(problem, plan, kernels, run).compute();
}

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
