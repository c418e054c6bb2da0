#include "attn/attention/scaled_dot_product_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/attention_plan.hpp"
#include "attention/check_attention.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::AttentionHead;
using kernels::index;
using kernels::KernelTable;
using kernels::ScoreOutput;
using kernels::ScoreStage;

/// Number of heads per task if there are few keys.
constexpr index kFewKeyHeads = 8;

/// Number of multiply-adds in both products of attention, including products with excluded keys.
double multiply_adds(const AttentionProblem& p) noexcept {
  return static_cast<double>(p.query_heads) * p.pairs() *
         static_cast<double>(p.head_dim + p.value_dim);
}

/// The requested stages of a head's scores.
struct ScoreOutputs {
  std::array<ScoreOutput, 5> outputs;
  int count = 0;

  ScoreOutputs(const AttentionOptions& o, index b, index h) noexcept {
    add(ScoreStage::kScaled, o.scaled_scores, b, h);
    add(ScoreStage::kCapped, o.capped_scores, b, h);
    add(ScoreStage::kBiased, o.biased_scores, b, h);
    add(ScoreStage::kWeights, o.weights, b, h);
  }
  const ScoreOutput* data() const noexcept { return outputs.data(); }

  void add(const ScoreOutput& output) noexcept { outputs[count++] = output; }

 private:
  void add(ScoreStage stage, const Tensor& t, index b, index h) noexcept {
    if (!t.is_none()) add({stage, t.pointer(b, h, 0, 0), t.stride(2), t.stride(3)});
  }
};

/// The column sums of the weights. The queries of an entry are divided into parts, whose sums are
/// computed separately and added in order. The parts depend only on the number of queries, so the
/// sums have the same bits for any number of threads. They are at most kMostParts rows of memory
/// for each head.
class ColumnSums {
 public:
  /// Does nothing unless the call requests column sums. A part has at least `rows` queries.
  ColumnSums(const AttentionProblem& p, index rows, runtime::Execution& run) : p_(p), rows_(rows) {
    if (!requested()) return;
    index parts = 0;
    for (index e = 0; e < p.entries(); ++e) parts = std::max(parts, parts_of(e));
    sums_ = {
        run.floats(validation::product("column_sums", {parts, p.batch, p.query_heads, p.num_keys}),
                   "attention column sums"),
        {parts, p.batch, p.query_heads, p.num_keys}};
  }

  bool requested() const noexcept { return !p_.options.column_sums.is_none(); }
  index parts_of(index e) const noexcept {
    return std::min(kernels::ceil_divide(p_.queries_of(e), rows_), kMostParts);
  }

  /// Adds the output for one part of the queries of head h of entry e.
  void add_to(ScoreOutputs& outputs, index e, index h, index part) const noexcept {
    if (!requested()) return;
    float* const sums = sums_.pointer(part, p_.batch_of(e), h, p_.first_key(e));
    std::fill_n(sums, p_.keys_of(e), 0.0F);
    outputs.add({ScoreStage::kWeights, sums, 0, 1, true});
  }

  /// Adds the parts.
  void publish(runtime::Execution& run) const noexcept {
    if (!requested()) return;
    run.parallel_for(p_.entries() * p_.query_heads, [&](index task, int) noexcept {
      const index e = task / p_.query_heads, h = task % p_.query_heads;
      const index b = p_.batch_of(e), parts = parts_of(e);
      for (index j = p_.first_key(e); j < p_.first_key(e) + p_.keys_of(e); ++j) {
        float sum = 0.0F;
        for (index part = 0; part < parts; ++part) sum += sums_(part, b, h, j);
        p_.options.column_sums(b, h, j) = sum;
      }
    });
  }

 private:
  static constexpr index kMostParts = 16;

  const AttentionProblem& p_;
  index rows_;
  Tensor sums_;  ///< (parts, B, Hq, Nk)
};

/// The kernels' scratch memory for each thread.
struct WorkerScratch {
  float* memory;
  index size;

  WorkerScratch(const AttentionPlan& plan, runtime::Execution& run)
      : WorkerScratch(run.kernels().attention_scratch(plan.first_head()), run) {}
  WorkerScratch(index floats, runtime::Execution& run) : size(floats) {
    memory = run.floats(size * run.num_threads(), "attention tiles");
  }
  float* at(int worker) const noexcept { return memory + worker * size; }
};

/// True if the path for few keys can handle this call. That path supports a scale and key ranges,
/// but no other option that changes scores or weights. Its results are bit-identical to the results
/// of the tiled path. It never handles a single query, because the path for single queries rounds
/// differently.
bool has_few_keys(const AttentionProblem& p, const KernelTable& kernels) noexcept {
  const AttentionOptions& o = p.options;
  for (index e = 0; e < p.tables(); ++e) {
    if (p.keys_of(e) == 0 || p.keys_of(e) > kernels::kFewKeys) return false;
  }
  return !p.has_one_query() && p.value_dim >= kernels.vector_width &&
         p.output.type() == ElementType::kFloat32 && p.output.stride(3) == 1 && o.mask.is_none() &&
         o.bias.is_none() && !p.has_distance_bias() && o.relative_keys.is_none() &&
         o.relative_values.is_none() && o.sinks.is_none() && o.softcap == 0 && o.dropout == 0 &&
         o.column_sums.is_none();
}

/// True if the kernels for bfloat16 pairs can handle this call. Calls with rare options, or with a
/// scale whose magnitude is outside [2^-60, 2^60], use the path that widens numbers to float32.
bool has_bf16_pairs(const AttentionProblem& p, const runtime::Execution& run) noexcept {
  const AttentionOptions& o = p.options;
  constexpr auto kPair = ElementType::kBFloat16;
  constexpr float kLargestScale = 0x1p60F;
  const float scale = std::abs(o.scale.value_or(1.0F));
  return run.bf16_kernels() && !p.has_one_query() && p.query.type() == kPair &&
         p.key.type() == kPair && p.value.type() == kPair && p.key.stride(3) == 1 &&
         p.value.stride(3) == 1 && scale >= 1 / kLargestScale && scale <= kLargestScale &&
         o.relative_keys.is_none() && o.relative_values.is_none() && o.dropout == 0 &&
         o.scaled_scores.is_none() && o.capped_scores.is_none() && o.biased_scores.is_none() &&
         o.weights.is_none() && o.column_sums.is_none();
}

/// Computes attention over few keys. Divides the call into tasks of several whole heads.
void attend_few_keys(const AttentionPlan& plan, runtime::Execution& run) {
  const WorkerScratch scratch(plan, run);
  const AttentionProblem& p = plan.problem();
  const index heads = p.entries() * p.query_heads;
  run.parallel_for(kernels::ceil_divide(heads, kFewKeyHeads), multiply_adds(p),
                   [&](index task, int worker) noexcept {
                     const index begin = task * kFewKeyHeads;
                     index b = begin / p.query_heads;
                     index h = begin % p.query_heads;
                     AttentionHead head = plan.first_head();
                     for (index i = begin; i < std::min(begin + kFewKeyHeads, heads); ++i) {
                       plan.set_head(b, h, head);
                       const ScoreOutputs outputs(p.options, b, h);
                       run.kernels().attend_few_keys(head, outputs.data(), outputs.count,
                                                     scratch.at(worker));
                       if (++h == p.query_heads) {
                         h = 0;
                         ++b;
                       }
                     }
                   });
}

/// Computes attention for a single query. Its keys are divided into parts of fixed size. The
/// threads process the parts in parallel, and the results are merged in order.
void attend_split(const AttentionPlan& plan, runtime::Execution& run) {
  constexpr index kSplit = kernels::kSplitKeys;
  const KernelTable& kernels = run.kernels();
  const AttentionProblem& p = plan.problem();
  const index all_parts = kernels::ceil_divide(p.num_keys, kSplit);
  const index heads = p.batch * p.query_heads;
  const index part_size = kernels.part_size(plan.first_head());
  float* const parts =
      run.floats(validation::product("key", {heads, all_parts, part_size}), "attention parts");
  const WorkerScratch scratch(plan, run);
  struct Range {
    index first, count;
  };
  const auto parts_of = [&](index b) {
    const index begin = plan.key_begin(b, 0);
    const index end = plan.key_end(b, 0);
    const index first = begin / kSplit;
    return Range{first, end > begin ? kernels::ceil_divide(end, kSplit) - first : 0};
  };
  run.parallel_for(heads * all_parts, multiply_adds(p), [&](index task, int worker) noexcept {
    const index b = task / all_parts / p.query_heads;
    const index h = task / all_parts % p.query_heads;
    const index part = task % all_parts;
    const Range range = parts_of(b);
    if (part < range.first || part >= range.first + range.count) return;
    kernels.attend_part(plan.head(b, h), 0, part * kSplit,
                        std::min((part + 1) * kSplit, p.num_keys), parts + task * part_size,
                        scratch.at(worker));
  });
  const auto merge_multiply_adds = static_cast<double>(heads * all_parts * p.value_dim);
  run.parallel_for(heads, merge_multiply_adds, [&](index task, int worker) noexcept {
    const index b = task / p.query_heads;
    const index h = task % p.query_heads;
    const Range range = parts_of(b);
    ScoreOutputs outputs(p.options, b, h);
    const Tensor& sums = p.options.column_sums;
    if (!sums.is_none()) {  // of a single query: its weights
      outputs.add({ScoreStage::kWeights, sums.pointer(b, h, 0), 0, sums.stride(2)});
    }
    kernels.merge_parts(plan.head(b, h), 0, parts + (task * all_parts + range.first) * part_size,
                        range.count, outputs.data(), outputs.count, scratch.at(worker));
  });
}

/// Divides a call into tasks that consist of whole blocks of queries, and calls attend(e, h, part,
/// row_begin, row_end, worker) for each task. The tasks of an entry are its parts: they have nearly
/// equal sizes and, if possible, each thread gets the same number of tasks. A block processes the
/// same tiles of keys no matter which task it belongs to. `kernels` is the table that `attend`
/// uses. If the call requests column sums, each task is one of their parts.
template <class Table, class Attend>
void for_query_blocks(const AttentionProblem& p, const Table& kernels, const ColumnSums* sums,
                      runtime::Execution& run, Attend&& attend) {
  const index heads = p.entries() * p.query_heads;
  const index threads = run.num_threads();
  const auto blocks_of = [&](index e) {
    return kernels::ceil_divide(p.queries_of(e), kernels.attention_step);
  };
  const auto tasks_of = [&](index e) {
    if (sums && sums->requested()) return sums->parts_of(e);
    const index blocks = blocks_of(e);
    index tasks = kernels::ceil_divide(p.queries_of(e), kernels.attention_rows);
    if (threads > 1) {
      tasks = std::clamp(kernels::ceil_divide(4 * threads, heads), tasks, std::max(tasks, blocks));
    }
    while (tasks < blocks && heads * tasks % threads != 0) ++tasks;
    return tasks;
  };
  // The tasks of entry e have the numbers first_task[e] … first_task[e + 1] − 1.
  auto* const first_task = run.take<index>(p.entries() + 1, "attention tasks");
  first_task[0] = 0;
  for (index e = 0; e < p.entries(); ++e) {
    first_task[e + 1] = first_task[e] + p.query_heads * tasks_of(e);
  }
  const index tasks = first_task[p.entries()];
  run.parallel_for(tasks, multiply_adds(p), [&](index i, int worker) noexcept {
    const index e = std::upper_bound(first_task, first_task + p.entries(), i) - first_task - 1;
    const index each = (first_task[e + 1] - first_task[e]) / p.query_heads;
    const index task = (i - first_task[e]) % each;
    const auto begin = [&](index t) {
      return std::min(blocks_of(e) * t / each * kernels.attention_step, p.queries_of(e));
    };
    attend(e, (i - first_task[e]) / each, task, begin(task), begin(task + 1), worker);
  });
}

void attend_tiles(const AttentionPlan& plan, runtime::Execution& run) {
  const WorkerScratch scratch(plan, run);
  const KernelTable& kernels = run.kernels();
  const AttentionProblem& p = plan.problem();
  const ColumnSums sums(p, kernels.attention_rows, run);
  for_query_blocks(
      p, kernels, &sums, run,
      [&](index e, index h, index part, index row_begin, index row_end, int worker) noexcept {
        ScoreOutputs outputs(p.options, e, h);
        sums.add_to(outputs, e, h, part);
        kernels.attend(plan.head(e, h), row_begin, row_end, outputs.data(), outputs.count,
                       scratch.at(worker));
      });
  sums.publish(run);
}

void attend_bf16_tiles(const AttentionPlan& plan, runtime::Execution& run) {
  const kernels::Bf16Table& kernels = *run.bf16_kernels();
  const WorkerScratch scratch(kernels.attention_scratch(plan.first_head()), run);
  for_query_blocks(
      plan.problem(), kernels, nullptr, run,
      [&](index e, index h, index, index row_begin, index row_end, int worker) noexcept {
        kernels.attend(plan.bf16_head(e, h), row_begin, row_end, scratch.at(worker));
      });
}

}  // namespace

void attend(const ConstAnyTensor& query, const StoredTensor& key, const StoredTensor& value,
            const AnyTensor& output, const AttentionOptions& options, Context& context) {
  const AttentionProblem problem = check_attention(query, key, value, output, options);
  if (problem.batch == 0 || problem.query_heads == 0) return;
  runtime::Execution run(context);
  if (problem.num_queries == 0) return ColumnSums(problem, 1, run).publish(run);
  if (has_few_keys(problem, run.kernels())) {
    return attend_few_keys(AttentionPlan(problem, problem.value_dim, run), run);
  }
  const index value_cols = kernels::round_up(problem.value_dim, run.kernels().vector_width);
  const bool pairs = has_bf16_pairs(problem, run);
  using Products = AttentionPlan::Products;
  const AttentionPlan plan(problem, value_cols, run,
                           pairs ? Products::kBf16Pairs : Products::kFloat32);
  if (problem.has_one_query()) {
    attend_split(plan, run);
  } else if (pairs) {
    attend_bf16_tiles(plan, run);
  } else {
    attend_tiles(plan, run);
  }
  plan.publish_output(run);
}

void scaled_dot_product_attention(const ConstAnyTensor& query, const ConstAnyTensor& key,
                                  const ConstAnyTensor& value, const AnyTensor& output,
                                  const AttentionOptions& options, Context& context) {
  attend(query, key, value, output, options, context);
}

void scaled_dot_product_attention(const ConstAnyTensor& query, const KeyValueCache& cache,
                                  const AnyTensor& output, const AttentionOptions& options,
                                  Context& context) {
  attend(query, KeyValueCacheAccess::keys(cache), KeyValueCacheAccess::values(cache), output,
         options, context);
}

}  // namespace attn
