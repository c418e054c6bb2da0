#include "attn/pooling/attention_pooling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "layers/intermediate_writer.hpp"
#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;
using kernels::PairScore;
using runtime::Execution;

/// Number of queries per task.
constexpr index kRowsPerTask = 8;

/// A checked call, in which every view has rank 3.
struct Problem {
  ConstTensor query, key, value;  ///< (B, N, ·)
  Tensor output;
  ConstMask mask;  ///< mask, broadcast to (B, Nq, Nk), or empty
  LengthsView valid_lens;
  Tensor scores, weights;  ///< (B, Nq, Nk), or empty
  bool hard = false;
  index batch = 0, num_queries = 0, num_keys = 0;

  index length(index b, index i) const {
    if (valid_lens.is_none()) return num_keys;
    return valid_lens.rank() == 2 ? valid_lens(b, i) : valid_lens(b);
  }
};

/// If `query_dim` and `key_dim` are −1, accepts any width that query and key share.
Problem check(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
              const Tensor& output, const AttentionPoolingOptions& options, index query_dim,
              index key_dim) {
  require_rows("query", query, "D", query_dim);
  Problem p;
  p.batch = batch_of(query);
  p.num_queries = query.size(-2);
  require_rows_like("key", key, query, -1, key_dim < 0 ? query.size(-1) : key_dim);
  p.num_keys = key.size(-2);
  require_rows_like("value", value, query, p.num_keys, -1);
  require_rows_like("output", output, query, p.num_queries, value.size(-1));
  if (p.num_keys > INT32_MAX) {
    validation::fail(ErrorCode::kSizeOverflow, "key", {"length ", p.num_keys},
                     {"at most 2147483647"});
  }
  if (!options.mask.is_none()) {
    validation::require_data("mask", options.mask);
    p.mask = validation::broadcast("mask", options.mask, {p.batch, p.num_queries, p.num_keys});
  }
  p.valid_lens = options.valid_lens;
  validation::require_lengths("valid_lens", p.valid_lens, p.batch, p.num_queries, p.num_keys,
                              "keys");
  for (const auto& [name, view] :
       {std::pair("scores", &options.scores), std::pair("weights", &options.weights)}) {
    if (!view->is_none()) require_rows_like(name, *view, query, p.num_queries, p.num_keys);
  }
  p.query = with_batch(query);
  p.key = with_batch(key);
  p.value = with_batch(value);
  p.output = with_batch(output);
  p.scores = with_batch(options.scores);
  p.weights = with_batch(options.weights);
  p.hard = options.hard;
  return p;
}

/// Pools with keys of `depth` columns; `args` defines the scores.
void pool(const Problem& p, const ConstTensor& queries, const ConstTensor& keys, index depth,
          kernels::PoolingArgs args, Execution& run) {
  const index packed_size = kernels::packed_size(p.num_keys, depth);
  float* packed = run.floats(validation::product("key", {p.batch, packed_size}), "packed keys");
  auto* key_end = run.take<std::int32_t>(validation::product("query", {p.batch, p.num_queries}),
                                         "attention pooling");
  const index sums_size = kernels::round_up(p.value.size(2), kernels::kPanelWidth);
  float* sums =
      run.floats(validation::product("value", {run.num_threads(), sums_size}), "attention pooling");
  for (index b = 0; b < p.batch; ++b) {
    for (index i = 0; i < p.num_queries; ++i) {
      key_end[b * p.num_queries + i] = static_cast<std::int32_t>(p.length(b, i));
    }
  }
  // Each task packs a few panels of keys.
  constexpr index kPackedKeys = 4 * kernels::kPanelWidth;
  const index packs = depth > 0 ? (p.num_keys + kPackedKeys - 1) / kPackedKeys : 0;
  run.parallel_for(p.batch * packs, [&](index task, int) noexcept {
    const index b = task / packs;
    const index first = task % packs * kPackedKeys;
    run.kernels().pack(std::min(kPackedKeys, p.num_keys - first), depth, keys.pointer(b, first, 0),
                       keys.stride(1), keys.stride(2), packed + b * packed_size + first * depth);
  });

  args.hard = p.hard;
  args.num_keys = p.num_keys;
  args.depth = depth;
  args.value_dim = p.value.size(2);
  const index blocks = (p.num_queries + kRowsPerTask - 1) / kRowsPerTask;
  run.parallel_for(p.batch * blocks, [&](index task, int worker) noexcept {
    const index b = task / blocks;
    const index row = task % blocks * kRowsPerTask;
    kernels::PoolingArgs a = args;
    a.query = rows_at(queries, b);
    a.packed_keys = packed + b * packed_size;
    a.value = rows_at(p.value, b);
    a.output = rows_at(p.output, b);
    a.key_end = key_end + b * p.num_queries;
    if (!p.mask.is_none()) a.mask = rows_at(p.mask, b);
    if (!p.scores.is_none()) a.scores = rows_at(p.scores, b);
    if (!p.weights.is_none()) a.weights = rows_at(p.weights, b);
    run.kernels().pool(a, row, std::min(row + kRowsPerTask, p.num_queries),
                       sums + worker * sums_size);
  });
}

/// Uses scaled_dot_product_attention(), which has a tiled kernel for many queries.
void pool_scaled_dot(const Problem& p, float scale, Context& context) {
  AttentionOptions options;
  options.scale = scale;
  if (!p.mask.is_none()) options.mask = p.mask.unsqueeze(1);
  options.valid_lens = p.valid_lens;
  if (!p.scores.is_none()) options.biased_scores = p.scores.unsqueeze(1);
  if (!p.weights.is_none()) options.weights = p.weights.unsqueeze(1);
  scaled_dot_product_attention(p.query, p.key, p.value, p.output, options, context);
}

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

float checked_width(const ScoringFunction& scoring) {
  const float width = scoring.parameter().value_or(1.0F);
  // A width whose square or reciprocal is not finite would make every score NaN or 0.
  if (!(width >= 1e-18F && width <= 1e18F)) {
    validation::fail_value("width", width, {"a number between 1e-18 and 1e18"});
  }
  return width;
}

}  // namespace

void attention_pooling(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
                       const Tensor& output, const ScoringFunction& scoring,
                       const AttentionPoolingOptions& options, Context& context) {
  using Kind = ScoringFunction::Kind;
  const Problem p = check(query, key, value, output, options, -1, -1);
  index depth = p.query.size(2);
  kernels::PoolingArgs args;
  switch (scoring.kind()) {
    case Kind::kScaledDot: {
      if (depth < 1) validation::fail_value("query", "width 0", {"at least 1"});
      const float scale = scoring.parameter().value_or(1.0F / std::sqrt(static_cast<float>(depth)));
      if (!std::isfinite(scale)) validation::fail_value("scale", scale, {"a finite number"});
      if (!p.hard) return pool_scaled_dot(p, scale, context);
      args.score = PairScore::kDot;
      args.factor = scale;
      args.excluded_score = kMinusInfinity;
      break;
    }
    case Kind::kGaussian: {
      const double width = checked_width(scoring);
      args.score = PairScore::kGaussian;
      args.factor = static_cast<float>(-0.5 / (width * width));
      args.excluded_score = kMinusInfinity;
      break;
    }
    case Kind::kBoxcar:
      args.score = PairScore::kBoxcar;
      args.factor = 1.0F / checked_width(scoring);
      break;
    case Kind::kEpanechnikov:
      args.score = PairScore::kEpanechnikov;
      args.factor = 1.0F / checked_width(scoring);
      break;
    case Kind::kAverage:
      args.score = PairScore::kConstant;
      depth = 0;
      break;
  }
  Execution run(context);
  pool(p, p.query, p.key, depth, args, run);
}

AdditiveAttention::AdditiveAttention(std::int64_t query_dim, std::int64_t key_dim,
                                     std::int64_t num_hiddens)
    : query_dim_(query_dim), key_dim_(key_dim), num_hiddens_(num_hiddens) {
  validation::require_at_least("query_dim", query_dim, 1);
  validation::require_at_least("key_dim", key_dim, 1);
  validation::require_at_least("num_hiddens", num_hiddens, 1);
  const auto add_projection = [&](const char* name, std::int64_t width) {
    const Tensor weight =
        add_parameter(name, {num_hiddens, width}, Initialization::xavier_uniform());
    auto packed = std::make_shared<PackedMatrix>(num_hiddens, width);
    when_changed([packed, weight](Context& context) { packed->pack(weight, context); });
    return packed;
  };
  key_ = add_projection("W_k.weight", key_dim);
  query_ = add_projection("W_q.weight", query_dim);
  column_weights_ = add_parameter("w_v.weight", {1, num_hiddens}, Initialization::xavier_uniform());
  add_intermediates({"projected_queries", "projected_keys", "scores", "weights", "output"});
}

void AdditiveAttention::project_keys(const ConstTensor& key, const Tensor& projected,
                                     Context& context) const {
  require_rows("key", key, "key_dim", key_dim_);
  require_rows_like("projected", projected, key, key.size(-2), num_hiddens_);
  Execution run(context);
  key_->multiply(key, nullptr, projected, run, key_->take_scratch(run));
}

void AdditiveAttention::forward(const ConstTensor& query, const ConstTensor& key,
                                const ConstTensor& value, const Tensor& output,
                                const AttentionPoolingOptions& options, Context& context,
                                Intermediates* intermediates) const {
  const Problem p = check(query, key, value, output, options, query_dim_, key_dim_);
  IntermediateWriter writer(*this, intermediates, query.rank() == 3);
  Execution run(context);
  const std::array shape{p.batch, p.num_keys, num_hiddens_};
  const Tensor projected(run.floats(validation::product("key", shape), "additive attention"),
                         shape);
  project_keys(p.key, projected, context);
  forward_projected(p.query, projected, p.value, p.output,
                    {options.hard, options.mask, options.valid_lens, p.scores, p.weights}, context,
                    writer.enter(""));
  writer.finish();
}

void AdditiveAttention::forward_projected(const ConstTensor& query,
                                          const ConstTensor& projected_keys,
                                          const ConstTensor& value, const Tensor& output,
                                          const AttentionPoolingOptions& options, Context& context,
                                          Intermediates* intermediates) const {
  Problem p = check(query, projected_keys, value, output, options, query_dim_, num_hiddens_);
  IntermediateWriter writer(*this, intermediates, query.rank() == 3);
  Execution run(context);
  const std::array shape{p.batch, p.num_queries, num_hiddens_};
  const Tensor projected(run.floats(validation::product("query", shape), "additive attention"),
                         shape);
  query_->multiply(p.query, nullptr, projected, run, query_->take_scratch(run));
  writer.copy("projected_queries", projected, run);
  writer.copy("projected_keys", p.key, run);
  // Pooling writes intermediates in place; if the caller requests them as outputs too, they are
  // copied.
  Tensor scores = writer.allocate("scores", {p.batch, p.num_queries, p.num_keys});
  Tensor weights = writer.allocate("weights", {p.batch, p.num_queries, p.num_keys});
  const Tensor intermediate = writer.allocate("output", p.output.shape());
  if (p.scores.is_none()) std::swap(p.scores, scores);
  if (p.weights.is_none()) std::swap(p.weights, weights);
  kernels::PoolingArgs args;
  args.score = PairScore::kAdditive;
  args.column_weights = column_weights_.data();
  args.excluded_score = kMinusInfinity;
  pool(p, projected, p.key, num_hiddens_, args, run);
  writer.fill(scores, p.scores, run);
  writer.fill(weights, p.weights, run);
  writer.fill(intermediate, p.output, run);
  writer.finish();
}

}  // namespace attn
