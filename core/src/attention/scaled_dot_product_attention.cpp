#include "attn/attention/scaled_dot_product_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/attention_problem.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::AttentionHead;
using kernels::index;
using kernels::ScoreOutput;
using kernels::ScoreStage;

/// Keys copied by one task.
constexpr index kCopyBlock = 512;

/// Heads of few keys that one task takes.
constexpr index kFewKeyHeads = 8;

/// Farther than any two tokens are apart.
constexpr index kFar = index{1} << 32;

/// What a query may attend to and how far away it is, in the forms that the kernels read; and the
/// keys and values laid out for them.
class Attention {
 public:
  /// Takes all memory that the call needs; may throw.
  Attention(const AttentionProblem& problem, runtime::Execution& run);

  /// Computes everything. Cannot fail.
  void compute() noexcept;

 private:
  /// Keys and values where they lie, or copied: keys that are not contiguous, values that are not
  /// in whole vectors.
  struct Rows {
    const float* data;
    index batch, head, row;
    float* copy;
    index cols;

    const float* at(index b, index h) const noexcept { return data + b * batch + h * head; }
  };

  /// Tables that depend on the batch entry are made once per entry, others once.
  index tables() const noexcept { return per_batch_ ? p_.batch : 1; }
  index table_of(index b) const noexcept { return per_batch_ ? b : 0; }
  /// Beyond ±2^32 an offset changes nothing any more; within, sums with it stay exact.
  index offset_of(const Diagonal& diagonal, index b) const noexcept {
    return std::clamp(diagonal.resolve(p_.num_queries, p_.keys_of(b)), -kFar, kFar);
  }

  Rows rows_of(const char* name, const ConstTensor& x, index cols);
  AttentionHead common_head() const noexcept;
  AttentionHead head(index b, index h) const noexcept;
  void point_to(index b, index h, AttentionHead& head) const noexcept;
  int score_outputs(index b, index h, std::array<ScoreOutput, 4>& outputs) const noexcept;

  void fill_key_ranges() noexcept;
  void fill_distance_bias() noexcept;
  void lay_out_relative_tables() noexcept;
  void copy_rows(const ConstTensor& x, const Rows& rows) noexcept;
  /// Of the two products, as if nothing were excluded.
  double multiply_adds() const noexcept;
  bool has_few_keys() const noexcept;
  void attend_few_keys() noexcept;
  void attend_tiles() noexcept;
  void attend_split() noexcept;

  const AttentionProblem& p_;
  runtime::Execution& run_;
  const kernels::KernelTable& kernels_;
  bool per_batch_;
  bool few_keys_;
  bool one_query_;
  bool gives_scores_;
  index heads_per_key_;
  index value_cols_;

  std::int32_t* key_begin_;
  std::int32_t* key_end_;
  Rows keys_, values_;
  float* distance_bias_ = nullptr;
  float* packed_relative_keys_ = nullptr;
  float* relative_values_ = nullptr;
  float* parts_ = nullptr;
  index part_size_ = 0;
  AttentionHead common_;
  float* scratch_;
  index scratch_size_;
};

Attention::Attention(const AttentionProblem& problem, runtime::Execution& run)
    : p_(problem),
      run_(run),
      kernels_(run.kernels()),
      per_batch_(!p_.options.valid_lens.is_none() || !p_.options.key_lens.is_none()),
      few_keys_(has_few_keys()),
      one_query_(p_.num_queries == 1),
      gives_scores_(!(p_.options.scaled_scores.is_none() && p_.options.capped_scores.is_none() &&
                      p_.options.biased_scores.is_none() && p_.options.weights.is_none())),
      heads_per_key_(p_.query_heads / p_.key_heads),
      value_cols_(few_keys_ ? p_.value_dim
                            : kernels::round_up(p_.value_dim, kernels_.vector_width)) {
  using validation::product;
  const AttentionOptions& o = p_.options;
  key_begin_ = run.take<std::int32_t>(tables() * p_.num_queries, "attention key ranges");
  key_end_ = run.take<std::int32_t>(tables() * p_.num_queries, "attention key ranges");
  keys_ = rows_of("key", p_.key, p_.head_dim);
  values_ = rows_of("value", p_.value, value_cols_);
  if (p_.has_distance_bias()) {
    distance_bias_ =
        run.floats(product("query", {tables(), p_.query_heads, p_.num_queries + p_.num_keys}),
                   "attention distance bias");
  }
  const index distances = 2 * p_.max_distance + 1;
  if (!o.relative_keys.is_none()) {
    packed_relative_keys_ = run.floats(
        product("relative_keys", {p_.query_heads, kernels::packed_size(distances, p_.head_dim)}),
        "attention relative keys");
  }
  if (!o.relative_values.is_none()) {
    relative_values_ =
        run.floats(product("relative_values", {p_.query_heads, distances, value_cols_}),
                   "attention relative values");
  }
  common_ = common_head();
  if (one_query_) {
    part_size_ = kernels_.part_size(common_);
    const index parts = (p_.num_keys + kernels::kSplitKeys - 1) / kernels::kSplitKeys;
    parts_ = run.floats(product("key", {p_.batch, p_.query_heads, parts, part_size_}),
                        "attention parts");
  }
  scratch_size_ = kernels_.attention_scratch(common_);
  scratch_ = run.floats(scratch_size_ * run.num_threads(), "attention tiles");
}

Attention::Rows Attention::rows_of(const char* name, const ConstTensor& x, index cols) {
  if (x.stride(3) == 1 && x.size(3) == cols) {
    return {x.data(), x.stride(0), x.stride(1), x.stride(2), nullptr, cols};
  }
  float* copy = run_.floats(validation::product(name, {p_.batch, p_.key_heads, p_.num_keys, cols}),
                            "attention copy");
  return {copy, p_.key_heads * p_.num_keys * cols, p_.num_keys * cols, cols, copy, cols};
}

/// What all heads share: of what differs, the first one's.
AttentionHead Attention::common_head() const noexcept {
  const AttentionOptions& o = p_.options;
  AttentionHead head;
  head.num_queries = p_.num_queries;
  head.num_keys = p_.num_keys;
  head.head_dim = p_.head_dim;
  head.value_dim = p_.value_dim;
  head.tile_keys = run_.tile_keys();
  head.query_row = p_.query.stride(2);
  head.query_col = p_.query.stride(3);
  head.key_row = keys_.row;
  head.value_row = values_.row;
  head.output_row = p_.output.stride(2);
  head.output_col = p_.output.stride(3);
  if (!o.log_sum_exp.is_none()) head.log_sum_exp_row = o.log_sum_exp.stride(2);
  head.scale = o.scale.value_or(1.0F / std::sqrt(static_cast<float>(p_.head_dim)));
  head.softcap = o.softcap;

  if (!o.mask.is_none()) {
    head.mask = o.mask.data();
    head.mask_row = o.mask.stride(2);
    head.mask_col = o.mask.stride(3);
    head.mask_cols = o.mask.size(3);
  }
  if (!o.bias.is_none()) {
    head.bias = o.bias.data();
    head.bias_row = o.bias.stride(2);
    head.bias_col = o.bias.stride(3);
    head.bias_cols = o.bias.size(3);
  }
  head.distance_bias = distance_bias_;
  head.max_distance = p_.max_distance;
  head.packed_relative_keys = packed_relative_keys_;
  head.relative_values = relative_values_;

  if (o.dropout > 0) {
    head.random_words = kernels_.random_words;
    head.random_seed = o.dropout_random.seed;
    head.random_stream = o.dropout_random.stream;
    // With probability 1 the largest word is kept, and multiplied by 0.
    head.drop_below = static_cast<std::uint32_t>(
        std::min(static_cast<double>(o.dropout) * 0x1p32, static_cast<double>(UINT32_MAX)));
    head.kept_factor = o.dropout < 1 ? 1.0F / (1.0F - o.dropout) : 0.0F;
  }
  return head;
}

AttentionHead Attention::head(index b, index h) const noexcept {
  AttentionHead head = common_;
  point_to(b, h, head);
  return head;
}

/// Sets all that differs between heads.
void Attention::point_to(index b, index h, AttentionHead& head) const noexcept {
  const AttentionOptions& o = p_.options;
  const index kv = h / heads_per_key_;
  head.query = p_.query.pointer(b, h);
  head.key = keys_.at(b, kv);
  head.value = values_.at(b, kv);
  head.output = p_.output.pointer(b, h);
  if (!o.log_sum_exp.is_none()) head.log_sum_exp = o.log_sum_exp.pointer(b, h);
  head.key_begin = key_begin_ + table_of(b) * p_.num_queries;
  head.key_end = key_end_ + table_of(b) * p_.num_queries;
  if (common_.mask) head.mask = o.mask.pointer(b, h);
  if (common_.bias) head.bias = o.bias.pointer(b, h);
  if (distance_bias_) {
    head.distance_bias = distance_bias_ +
                         (table_of(b) * p_.query_heads + h) * (p_.num_queries + p_.num_keys) +
                         p_.num_queries - 1;
  }
  if (!o.sinks.is_none()) head.sink = o.sinks(h);
  const index distances = 2 * p_.max_distance + 1;
  head.relative_offset = offset_of(o.relative_diagonal, b);
  if (packed_relative_keys_) {
    head.packed_relative_keys =
        packed_relative_keys_ + h * kernels::packed_size(distances, p_.head_dim);
  }
  if (relative_values_) head.relative_values = relative_values_ + h * distances * value_cols_;
  head.dropout_row = (b * p_.query_heads + h) * p_.num_queries;
}

int Attention::score_outputs(index b, index h, std::array<ScoreOutput, 4>& outputs) const noexcept {
  if (!gives_scores_) return 0;
  int count = 0;
  const auto add = [&](ScoreStage stage, const Tensor& t) {
    if (!t.is_none()) outputs[count++] = {stage, t.pointer(b, h, 0, 0), t.stride(2), t.stride(3)};
  };
  add(ScoreStage::kScaled, p_.options.scaled_scores);
  add(ScoreStage::kCapped, p_.options.capped_scores);
  add(ScoreStage::kBiased, p_.options.biased_scores);
  add(ScoreStage::kWeights, p_.options.weights);
  return count;
}

/// Causal order, window, valid lengths and key lengths each leave an interval of keys to a query,
/// and so do they together.
void Attention::fill_key_ranges() noexcept {
  const AttentionOptions& o = p_.options;
  for (index b = 0; b < tables(); ++b) {
    const index num_keys = p_.keys_of(b);
    for (index i = 0; i < p_.num_queries; ++i) {
      index low = 0;
      index high = num_keys;
      if (o.causal) high = std::min(high, i + offset_of(*o.causal, b) + 1);
      if (o.window) {
        const index diagonal = i + offset_of(o.window->diagonal, b);
        if (o.window->left) low = std::max(low, diagonal - std::min(*o.window->left, 2 * kFar));
        if (o.window->right) {
          high = std::min(high, diagonal + std::min(*o.window->right, 2 * kFar) + 1);
        }
      }
      const ConstLengths& lens = o.valid_lens;
      if (!lens.is_none()) high = std::min<index>(high, lens.rank() == 2 ? lens(b, i) : lens(b));
      key_begin_[b * p_.num_queries + i] =
          static_cast<std::int32_t>(std::clamp<index>(low, 0, num_keys));
      key_end_[b * p_.num_queries + i] =
          static_cast<std::int32_t>(std::clamp<index>(high, 0, num_keys));
    }
  }
}

/// The bias as a function of j − i, from −(Nq − 1) on.
void Attention::fill_distance_bias() noexcept {
  if (!distance_bias_) return;
  const AttentionOptions& o = p_.options;
  const index size = p_.num_queries + p_.num_keys;
  run_.parallel_for(tables() * p_.query_heads, [&](index task, int) noexcept {
    const index h = task % p_.query_heads;
    const index offset = offset_of(o.relative_diagonal, task / p_.query_heads);
    for (index i = 0; i < size; ++i) {
      const index distance = i - (p_.num_queries - 1) - offset;
      float bias = 0.0F;
      if (!o.alibi_slopes.is_none()) {
        bias -= o.alibi_slopes(h) * static_cast<float>(std::abs(distance));
      }
      if (o.t5_bias) {
        bias += o.t5_bias->table(t5_bucket(distance, o.t5_bias->table.size(0),
                                           o.t5_bias->max_distance, o.t5_bias->bidirectional),
                                 h);
      }
      distance_bias_[task * size + i] = bias;
    }
  });
}

void Attention::lay_out_relative_tables() noexcept {
  const ConstTensor& keys = p_.options.relative_keys;
  const ConstTensor& values = p_.options.relative_values;
  const index distances = 2 * p_.max_distance + 1;
  for (index h = 0; h < p_.query_heads; ++h) {
    if (packed_relative_keys_) {
      kernels_.pack(distances, p_.head_dim, keys.pointer(h, 0, 0), keys.stride(1), keys.stride(2),
                    packed_relative_keys_ + h * kernels::packed_size(distances, p_.head_dim));
    }
    for (index c = 0; relative_values_ && c < distances; ++c) {
      float* row = relative_values_ + (h * distances + c) * value_cols_;
      for (index d = 0; d < p_.value_dim; ++d) row[d] = values(h, c, d);
      std::fill(row + p_.value_dim, row + value_cols_, 0.0F);
    }
  }
}

void Attention::copy_rows(const ConstTensor& x, const Rows& rows) noexcept {
  if (!rows.copy) return;
  const index blocks = (p_.num_keys + kCopyBlock - 1) / kCopyBlock;
  run_.parallel_for(p_.batch * p_.key_heads * blocks, [&](index task, int) noexcept {
    const index head = task / blocks;
    const index key0 = task % blocks * kCopyBlock;
    for (index j = key0; j < std::min(key0 + kCopyBlock, p_.num_keys); ++j) {
      const float* from = x.pointer(head / p_.key_heads, head % p_.key_heads, j, 0);
      float* row = rows.copy + (head * p_.num_keys + j) * rows.cols;
      for (index c = 0; c < x.size(3); ++c) row[c] = from[c * x.stride(3)];
      std::fill(row + x.size(3), row + rows.cols, 0.0F);
    }
  });
}

double Attention::multiply_adds() const noexcept {
  return static_cast<double>(p_.batch * p_.query_heads) *
         static_cast<double>(p_.num_queries * p_.num_keys) *
         static_cast<double>(p_.head_dim + p_.value_dim);
}

/// Whether the path for few keys takes this call: nothing but scale and key ranges between q·k and
/// weights. It gives the tiled path's bits, so one query by itself, whose path has others, is left
/// to that path.
bool Attention::has_few_keys() const noexcept {
  const AttentionOptions& o = p_.options;
  return p_.num_queries > 1 && p_.num_keys > 0 && p_.num_keys <= kernels::kFewKeys &&
         p_.value_dim >= kernels_.vector_width && p_.output.stride(3) == 1 && o.mask.is_none() &&
         o.bias.is_none() && !p_.has_distance_bias() && o.relative_keys.is_none() &&
         o.relative_values.is_none() && o.sinks.is_none() && o.softcap == 0 && o.dropout == 0;
}

void Attention::attend_few_keys() noexcept {
  const index heads = p_.batch * p_.query_heads;
  const index tasks = (heads + kFewKeyHeads - 1) / kFewKeyHeads;
  run_.parallel_for(tasks, multiply_adds(), [&](index task, int worker) noexcept {
    const index end = std::min((task + 1) * kFewKeyHeads, heads);
    index b = task * kFewKeyHeads / p_.query_heads;
    index h = task * kFewKeyHeads % p_.query_heads;
    AttentionHead head = common_;
    std::array<ScoreOutput, 4> outputs;
    for (index i = task * kFewKeyHeads; i < end; ++i) {
      point_to(b, h, head);
      const int num_outputs = score_outputs(b, h, outputs);
      kernels_.attend_few_keys(head, outputs.data(), num_outputs,
                               scratch_ + worker * scratch_size_);
      if (++h == p_.query_heads) {
        h = 0;
        ++b;
      }
    }
  });
}

void Attention::attend_tiles() noexcept {
  // Queries in tasks of whole tiles, as equal as these can be, and as many at a time as leave every
  // thread the same number of some tasks.
  const index heads = p_.batch * p_.query_heads;
  const index threads = run_.num_threads();
  const auto pieces = [](index count, index piece) { return (count + piece - 1) / piece; };
  const index tiles = pieces(p_.num_queries, kernels_.attention_step);
  index parts = pieces(p_.num_queries, kernels_.attention_rows);
  if (threads > 1) parts = std::clamp(pieces(4 * threads, heads), parts, tiles);
  while (parts < tiles && heads * parts % threads != 0) ++parts;
  const auto begin = [&](index part) {
    return std::min(tiles * part / parts * kernels_.attention_step, p_.num_queries);
  };
  run_.parallel_for(heads * parts, multiply_adds(), [&](index task, int worker) noexcept {
    const index b = task / parts / p_.query_heads;
    const index h = task / parts % p_.query_heads;
    const index part = task % parts;
    std::array<ScoreOutput, 4> outputs;
    const int num_outputs = score_outputs(b, h, outputs);
    kernels_.attend(head(b, h), begin(part), begin(part + 1), outputs.data(), num_outputs,
                    scratch_ + worker * scratch_size_);
  });
}

void Attention::attend_split() noexcept {
  constexpr index kSplit = kernels::kSplitKeys;
  const index all_parts = (p_.num_keys + kSplit - 1) / kSplit;
  const index heads = p_.batch * p_.query_heads;
  struct Range {
    index first, count;
  };
  const auto parts_of = [&](index b) {
    const index begin = key_begin_[table_of(b)];
    const index end = key_end_[table_of(b)];
    const index first = begin / kSplit;
    return Range{first, end > begin ? (end + kSplit - 1) / kSplit - first : 0};
  };
  run_.parallel_for(heads * all_parts, [&](index task, int worker) noexcept {
    const index b = task / all_parts / p_.query_heads;
    const index h = task / all_parts % p_.query_heads;
    const index part = task % all_parts;
    const Range range = parts_of(b);
    if (part < range.first || part >= range.first + range.count) return;
    kernels_.attend_part(head(b, h), 0, part * kSplit, std::min((part + 1) * kSplit, p_.num_keys),
                         parts_ + task * part_size_, scratch_ + worker * scratch_size_);
  });
  run_.parallel_for(heads, [&](index task, int worker) noexcept {
    const index b = task / p_.query_heads;
    const index h = task % p_.query_heads;
    const Range range = parts_of(b);
    std::array<ScoreOutput, 4> outputs;
    const int num_outputs = score_outputs(b, h, outputs);
    kernels_.merge_parts(head(b, h), 0, parts_ + (task * all_parts + range.first) * part_size_,
                         range.count, outputs.data(), num_outputs,
                         scratch_ + worker * scratch_size_);
  });
}

void Attention::compute() noexcept {
  fill_key_ranges();
  fill_distance_bias();
  lay_out_relative_tables();
  copy_rows(p_.key, keys_);
  copy_rows(p_.value, values_);
  if (few_keys_) {
    attend_few_keys();
  } else if (one_query_) {
    attend_split();
  } else {
    attend_tiles();
  }
}

}  // namespace

void scaled_dot_product_attention(const ConstTensor& query, const ConstTensor& key,
                                  const ConstTensor& value, const Tensor& output,
                                  const AttentionOptions& options, Context& context) {
  const AttentionProblem problem = check_attention(query, key, value, output, options);
  if (problem.batch == 0 || problem.query_heads == 0 || problem.num_queries == 0) return;
  runtime::Execution run(context);
  Attention(problem, run).compute();
}

}  // namespace attn
