#include "attention/attention_plan.hpp"

#include <algorithm>
#include <cmath>

#include "elementwise.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::AttentionHead;
using kernels::index;
using validation::product;

/// Number of keys that one task copies.
constexpr index kCopyBlock = 512;

/// Makes `head` read the mask and the bias of head h of batch entry b.
void set_mask(const AttentionProblem& p, index b, index h, AttentionHead& head) noexcept {
  const AttentionOptions& o = p.options;
  if (!o.mask.is_none()) {
    head.mask = rows_at(o.mask, b, h);
    head.mask_cols = o.mask.size(3);
  }
  if (!o.bias.is_none()) {
    head.bias = rows_at(o.bias, b, h);
    head.bias_cols = o.bias.size(3);
  }
}

/// Causal order, window, valid lengths and key lengths each restrict a query to an interval of
/// keys. Their intersection is also an interval.
KeyRanges make_key_ranges(const AttentionProblem& p, runtime::Execution& run) {
  const index count = p.table_rows();
  const KeyRanges ranges{run.take<std::int32_t>(count, "attention key ranges"),
                         run.take<std::int32_t>(count, "attention key ranges")};
  const AttentionOptions& o = p.options;
  for (index b = 0; b < p.tables(); ++b) {
    const index num_keys = p.unpadded_keys_of(b);
    const index offset = p.offset_of(b);
    std::int32_t* const begin = ranges.begin + p.first_table_row(b);
    std::int32_t* const end = ranges.end + p.first_table_row(b);
    for (index i = 0; i < p.queries_of(b); ++i) {
      index low = 0;
      index high = num_keys;
      if (o.causal) high = std::min(high, i + offset + 1);
      if (o.window) {
        const index diagonal = i + offset;
        const auto far = [](index side) { return std::min(side, 2 * AttentionTerms::kFar); };
        if (o.window->left) low = std::max(low, diagonal - far(*o.window->left));
        if (o.window->right) high = std::min(high, diagonal + far(*o.window->right) + 1);
      }
      const LengthsView& lens = o.valid_lens;
      if (!lens.is_none()) high = std::min<index>(high, lens.rank() == 2 ? lens(b, i) : lens(b));
      begin[i] = static_cast<std::int32_t>(std::clamp<index>(low, 0, num_keys));
      end[i] = static_cast<std::int32_t>(std::clamp<index>(high, 0, num_keys));
    }
  }
  return ranges;
}

/// Summarises the mask and the bias. A part that several heads, batch entries or queries share is
/// summarised only once.
MaskSummary summarize_mask(const AttentionProblem& p, runtime::Execution& run) {
  const ConstMask& mask = p.options.mask;
  const ConstTensor& bias = p.options.bias;
  if (mask.is_none() && bias.is_none()) return {};
  const auto distinct = [&](int dimension, index count) {
    const bool differs = (!mask.is_none() && mask.stride(dimension) != 0) ||
                         (!bias.is_none() && bias.stride(dimension) != 0);
    return differs ? count : std::min<index>(count, 1);
  };
  const index batch = distinct(0, p.batch);
  const index heads = distinct(1, p.query_heads);
  const index rows = distinct(2, kernels::ceil_divide(p.num_queries, kernels::kSummaryQueries));
  const index cols = kernels::ceil_divide(p.num_keys, kernels::kSummaryKeys);
  auto* const summary =
      run.take<std::uint8_t>(product("mask", {batch, heads, rows, cols}), "attention mask summary");
  const double work = static_cast<double>(batch * heads * rows) *
                      static_cast<double>(p.num_keys * kernels::kSummaryQueries) / 8;
  run.parallel_for(batch * heads * rows, work, [&](index task, int) noexcept {
    const index b = task / rows / heads;
    const index h = task / rows % heads;
    AttentionHead head;
    head.num_queries = p.num_queries;
    head.num_keys = p.num_keys;
    set_mask(p, b, h, head);
    run.kernels().summarize_mask(head, task % rows * kernels::kSummaryQueries,
                                 summary + task * cols);
  });
  return {{summary, rows > 1 ? cols : 0},
          batch > 1 ? heads * rows * cols : 0,
          heads > 1 ? rows * cols : 0};
}

/// Returns x itself if it is float32, and otherwise a float32 copy.
ConstTensor make_query(const ConstAnyTensor& x, runtime::Execution& run) {
  if (x.type() == ElementType::kFloat32) return x.as<float>();
  float* const copy = run.floats(product("query", x.shape()), "attention query");
  const Tensor result(copy, x.shape());
  widen(x, result, run);
  return result;
}

/// Returns x itself if it is float32, and otherwise memory for a float32 output.
Tensor make_output(const AnyTensor& x, runtime::Execution& run) {
  if (x.type() == ElementType::kFloat32) return x.as<float>();
  return {run.floats(product("output", x.shape()), "attention output"), x.shape()};
}

/// Returns the rows of `x` (B, Hkv, Nk, columns) with `cols` contiguous columns each. If possible,
/// the rows are read in place. Otherwise they are copied as float32 and padded with zeros.
HeadRows make_rows(const char* name, const StoredTensor& x, index cols, bool as_stored,
                   runtime::Execution& run) {
  if (x.stride(3) == 1 && x.size(3) == cols && (as_stored || x.type() == ElementType::kFloat32)) {
    const ConstTensor& scales = x.scales();
    return {x.rows_at(0, 0, 0), x.element_bytes(), x.stride(0),
            x.stride(1),        scales.stride(0),  scales.stride(1)};
  }
  const index heads = x.size(1);
  const index length = x.size(2);
  float* const copy = run.floats(product(name, {x.size(0), heads, length, cols}), "attention copy");
  const index blocks = (length + kCopyBlock - 1) / kCopyBlock;
  run.parallel_for(x.size(0) * heads * blocks, [&](index task, int) noexcept {
    const index b = task / blocks / heads;
    const index h = task / blocks % heads;
    const index begin = task % blocks * kCopyBlock;
    kernels::WidenArgs args;
    args.rows = std::min(kCopyBlock, length - begin);
    args.cols = x.size(3);
    args.padded_cols = cols;
    args.from = x.rows_at(b, h, begin);
    args.from_col = x.stride(3);
    args.to = {copy + (task / blocks * length + begin) * cols, cols};
    run.kernels().widen(args);
  });
  return {{ElementType::kFloat32, copy, cols, nullptr, 0},
          sizeof(float),
          heads * length * cols,
          length * cols,
          0,
          0};
}

/// The index in the table of distance biases at which the distances of head h of entry e begin.
index first_distance(const AttentionProblem& p, index e, index h) noexcept {
  const index size = p.num_queries + p.num_keys;
  if (p.is_packed()) return h * size + p.first_query(e) + p.first_key(e);
  return (p.table_of(e) * p.query_heads + h) * size;
}

const float* make_distance_bias(const AttentionProblem& p, runtime::Execution& run) {
  if (!p.has_distance_bias()) return nullptr;
  const AttentionOptions& o = p.options;
  const index tables = p.is_packed() ? 1 : p.tables();
  float* const biases =
      run.floats(product("query", {tables, p.query_heads, p.num_queries + p.num_keys}),
                 "attention distance bias");
  run.parallel_for(p.tables() * p.query_heads, [&](index task, int) noexcept {
    const index h = task % p.query_heads;
    const index e = task / p.query_heads;
    const index offset = p.offset_of(e);
    float* const table = biases + first_distance(p, e, h);
    for (index i = 0; i < p.queries_of(e) + p.keys_of(e); ++i) {
      const index distance = i - (p.queries_of(e) - 1) - offset;
      float bias = 0.0F;
      if (!o.alibi_slopes.is_none()) {
        bias -= o.alibi_slopes(h) * static_cast<float>(std::abs(distance));
      }
      if (o.t5_bias) {
        bias += o.t5_bias->table(t5_bucket(distance, o.t5_bias->table.size(0),
                                           o.t5_bias->max_distance, o.t5_bias->bidirectional),
                                 h);
      }
      table[i] = bias;
    }
  });
  return biases;
}

/// Returns AttentionHead::dropout_row for head 0 of each entry, or null without dropout. No two
/// entries use the same block of random words. Each row of weights uses a whole number of blocks.
const std::int64_t* make_dropout_rows(const AttentionProblem& p, runtime::Execution& run) {
  if (p.options.dropout == 0) return nullptr;
  auto* const rows = run.take<std::int64_t>(p.entries(), "attention dropout");
  std::int64_t blocks = 0;
  for (index e = 0; e < p.entries(); ++e) {
    const std::int64_t each = std::max<index>(kernels::ceil_divide(p.keys_of(e), 4), 1);
    rows[e] = kernels::ceil_divide(blocks, each);
    blocks = (rows[e] + p.query_heads * p.queries_of(e)) * each;
  }
  return rows;
}

const float* make_relative_keys(const AttentionProblem& p, runtime::Execution& run) {
  const ConstTensor& keys = p.options.relative_keys;
  if (keys.is_none()) return nullptr;
  const index size = kernels::packed_size(p.num_distances(), p.head_dim);
  float* const packed =
      run.floats(product("relative_keys", {p.query_heads, size}), "attention relative keys");
  for (index h = 0; h < p.query_heads; ++h) {
    run.kernels().pack(p.num_distances(), p.head_dim, keys.pointer(h, 0, 0), keys.stride(1),
                       keys.stride(2), packed + h * size);
  }
  return packed;
}

const float* make_relative_values(const AttentionProblem& p, index cols, runtime::Execution& run) {
  const ConstTensor& values = p.options.relative_values;
  if (values.is_none()) return nullptr;
  float* const table =
      run.floats(product("relative_values", {p.query_heads, p.num_distances(), cols}),
                 "attention relative values");
  float* row = table;
  for (index h = 0; h < p.query_heads; ++h) {
    for (index c = 0; c < p.num_distances(); ++c, row += cols) {
      for (index d = 0; d < p.value_dim; ++d) row[d] = values(h, c, d);
      std::fill(row + p.value_dim, row + cols, 0.0F);
    }
  }
  return table;
}

/// Views the rows as numbers of type T, which must be as large as the stored numbers.
template <class T>
kernels::Strided<const T> stored_as(const kernels::StoredRows& rows) noexcept {
  return {static_cast<const T*>(rows.data), rows.row};
}

/// The sizes and parameters that all heads share.
AttentionHead common_head(const AttentionProblem& p, const kernels::KernelTable& kernels) noexcept {
  const AttentionOptions& o = p.options;
  AttentionHead head;
  head.head_dim = p.head_dim;
  head.value_dim = p.value_dim;
  head.scale = o.scale.value_or(1.0F / std::sqrt(static_cast<float>(p.head_dim)));
  head.softcap = o.softcap;
  head.max_distance = p.max_distance;
  if (!o.log_sum_exp.is_none()) head.log_sum_exp_row = o.log_sum_exp.stride(2);
  if (o.dropout > 0) {
    head.random_words = kernels.random_words;
    head.random_seed = o.dropout_random.seed;
    head.random_stream = o.dropout_random.stream;
    // A weight is kept if its random word is at least `drop_below`. With dropout 1, the largest
    // word still fulfils this condition. Kept weights are therefore multiplied by a `dropout_scale`
    // of 0.
    head.drop_below = static_cast<std::uint32_t>(
        std::min(static_cast<double>(o.dropout) * 0x1p32, static_cast<double>(UINT32_MAX)));
    head.dropout_scale = o.dropout < 1 ? 1.0F / (1.0F - o.dropout) : 0.0F;
  }
  return head;
}

}  // namespace

AttentionPlan::AttentionPlan(const AttentionProblem& problem, index value_cols,
                             runtime::Execution& run, Products products)
    : problem_(problem),
      value_cols_(value_cols),
      key_ranges_(make_key_ranges(problem, run)),
      mask_summary_(summarize_mask(problem, run)),
      query_(products == Products::kBf16Pairs ? ConstTensor() : make_query(problem.query, run)),
      output_(make_output(problem.output, run)),
      keys_(make_rows("key", problem.key, problem.head_dim,
                      products == Products::kBf16Pairs || problem.has_one_query(), run)),
      values_(make_rows("value", problem.value,
                        products == Products::kBf16Pairs ? problem.value_dim : value_cols,
                        products == Products::kBf16Pairs || problem.has_one_query(), run)),
      distance_bias_(make_distance_bias(problem, run)),
      dropout_rows_(make_dropout_rows(problem, run)),
      relative_keys_(make_relative_keys(problem, run)),
      relative_values_(make_relative_values(problem, value_cols, run)),
      first_head_(common_head(problem, run.kernels())) {
  set_head(0, 0, first_head_);
}

void AttentionPlan::publish_output(runtime::Execution& run) const noexcept {
  if (problem_.output.type() != ElementType::kFloat32) narrow(output_, problem_.output, run);
}

AttentionHead AttentionPlan::head(index e, index h) const noexcept {
  AttentionHead head = first_head_;
  set_head(e, h, head);
  return head;
}

kernels::Bf16AttentionHead AttentionPlan::bf16_head(index e, index h) const noexcept {
  kernels::Bf16AttentionHead head{this->head(e, h), {}, {}, {}};
  static_assert(sizeof(BFloat16) == sizeof(std::uint16_t));
  const auto query =
      rows_at(problem_.query.as<BFloat16>(), problem_.batch_of(e), h, problem_.first_query(e));
  head.query = {reinterpret_cast<const std::uint16_t*>(query.data), query.row, query.col};
  head.key = stored_as<std::uint16_t>(head.stored_key);
  head.value = stored_as<std::uint16_t>(head.stored_value);
  return head;
}

void AttentionPlan::set_head(index e, index h, AttentionHead& head) const noexcept {
  const AttentionProblem& p = problem_;
  const AttentionOptions& o = p.options;
  // Divisions take a noticeable part of a small call.
  const index kv = p.key_heads == p.query_heads ? h : h / (p.query_heads / p.key_heads);
  const index b = p.batch_of(e);
  const index first_query = p.first_query(e);
  head.num_queries = p.queries_of(e);
  head.num_keys = p.keys_of(e);
  if (!query_.is_none()) head.query = rows_at(query_, b, h, first_query);
  head.stored_key = keys_.at(b, kv, p.first_key(e));
  head.stored_value = values_.at(b, kv, p.first_key(e));
  // These pointers are valid only for float32. Other types are read only by the kernel for a single
  // query and by the kernels for bfloat16 pairs, which do not use these pointers.
  head.key = stored_as<float>(head.stored_key);
  head.value = stored_as<float>(head.stored_value);
  head.output = rows_at(output_, b, h, first_query);
  if (!o.log_sum_exp.is_none()) head.log_sum_exp = o.log_sum_exp.pointer(b, h, first_query);
  head.key_begin = key_ranges_.begin + p.first_table_row(e);
  head.key_end = key_ranges_.end + p.first_table_row(e);
  set_mask(p, b, h, head);
  head.mask_summary = mask_summary_.first;
  head.mask_summary.data += b * mask_summary_.batch + h * mask_summary_.head;
  if (distance_bias_) {
    head.distance_bias = distance_bias_ + first_distance(p, e, h) + head.num_queries - 1;
  }
  if (!o.sinks.is_none()) head.sink = o.sinks(h);
  if (relative_keys_ || relative_values_) head.relative_offset = p.offset_of(e);
  if (relative_keys_) {
    head.packed_relative_keys =
        relative_keys_ + h * kernels::packed_size(p.num_distances(), p.head_dim);
  }
  if (relative_values_) {
    head.relative_values = relative_values_ + h * p.num_distances() * value_cols_;
  }
  if (dropout_rows_) head.dropout_row = dropout_rows_[e] + h * head.num_queries;
}

}  // namespace attn
