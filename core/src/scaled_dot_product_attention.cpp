#include "attn/scaled_dot_product_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::AttentionHead;
using kernels::index;
using kernels::ScoreOutput;
using kernels::ScoreStage;

/// Keys packed by one task.
constexpr index kPackBlock = 512;

struct Problem {
  ConstTensor query, key, value;  ///< rank 4
  Tensor output;
  AttentionOptions options;  ///< mask and bias broadcast to rank 4
  index batch, query_heads, key_heads, num_queries, num_keys, head_dim, value_dim;
};

/// (B, H, N, D) from a view of rank 2, 3 or 4; other ranks come back as they are.
template <class T>
TensorView<T> with_heads(TensorView<T> view) {
  if (view.rank() == 2) view = view.unsqueeze(0);
  if (view.rank() == 3) view = view.unsqueeze(1);
  return view;
}

template <class T>
void require_rank(const char* name, const TensorView<T>& view, int rank) {
  if (view.rank() != rank) {
    validation::fail_shape(name, view.shape(), "rank " + std::to_string(rank) + ", as query has");
  }
  validation::require_data(name, view);
}

void require_equal(const char* name, const char* what, index got, const char* other, index needed) {
  if (got != needed) {
    validation::fail(ErrorCode::kShapeMismatch, std::string(name) + ": " + what + " " +
                                                    std::to_string(got) + " does not match " +
                                                    other + " " + std::to_string(needed));
  }
}

/// Sizes of one head fit into 32 bits, so that products of two of them fit into 64.
void require_limited(const char* name, const char* what, index size) {
  if (size > INT32_MAX) {
    validation::fail(
        ErrorCode::kSizeOverflow,
        std::string(name) + ": " + what + " " + std::to_string(size) + " is more than 2147483647");
  }
}

void check_output(const char* name, const Tensor& view, std::initializer_list<std::int64_t> shape) {
  if (view.empty()) return;
  validation::require_shape(name, view, shape);
  validation::require_data(name, view);
}

void check_valid_lens(const ConstLengths& lens, const Problem& p) {
  if (lens.empty()) return;
  const bool per_query = lens.rank() == 2;
  if (lens.rank() < 1 || lens.rank() > 2 || lens.size(0) != p.batch ||
      (per_query && lens.size(1) != p.num_queries)) {
    validation::fail_shape("valid_lens", lens.shape(),
                           validation::to_string(std::array{p.batch}) + " or " +
                               validation::to_string(std::array{p.batch, p.num_queries}));
  }
  validation::require_data("valid_lens", lens);
  for (index b = 0; b < p.batch; ++b) {
    for (index i = 0; i < (per_query ? p.num_queries : 1); ++i) {
      const std::int32_t length = per_query ? lens(b, i) : lens(b);
      if (length < 0 || length > p.num_keys) {
        validation::fail_value(
            "valid_lens", length,
            "a length between 0 and the " + std::to_string(p.num_keys) + " keys");
      }
    }
  }
}

Problem validate(const ConstTensor& query, const ConstTensor& key, const ConstTensor& value,
                 const Tensor& output, const AttentionOptions& options) {
  if (query.rank() < 2 || query.rank() > 4) {
    validation::fail_shape("query", query.shape(), "rank 2 (N, D), 3 (B, N, D) or 4 (B, H, N, D)");
  }
  validation::require_data("query", query);
  require_rank("key", key, query.rank());
  require_rank("value", value, query.rank());
  require_rank("output", output, query.rank());

  Problem p{with_heads(query),
            with_heads(key),
            with_heads(value),
            with_heads(output),
            options,
            0,
            0,
            0,
            0,
            0,
            0,
            0};
  p.batch = p.query.size(0);
  p.query_heads = p.query.size(1);
  p.num_queries = p.query.size(2);
  p.head_dim = p.query.size(3);
  p.key_heads = p.key.size(1);
  p.num_keys = p.key.size(2);
  p.value_dim = p.value.size(3);

  require_equal("key", "batch", p.key.size(0), "query batch", p.batch);
  require_equal("key", "head dimension", p.key.size(3), "query head dimension", p.head_dim);
  require_equal("value", "batch", p.value.size(0), "query batch", p.batch);
  require_equal("value", "heads", p.value.size(1), "key heads", p.key_heads);
  require_equal("key", "length", p.num_keys, "value length", p.value.size(2));
  if (p.head_dim < 1) {
    validation::fail_value("query", static_cast<double>(p.head_dim),
                           "a head dimension of at least 1");
  }
  if (p.key_heads < 1 ? p.query_heads != 0 : p.query_heads % p.key_heads != 0) {
    validation::fail(ErrorCode::kShapeMismatch, "query: " + std::to_string(p.query_heads) +
                                                    " heads are not a multiple of the " +
                                                    std::to_string(p.key_heads) + " key heads");
  }
  require_limited("query", "length", p.num_queries);
  require_limited("query", "head dimension", p.head_dim);
  require_limited("key", "length", p.num_keys);
  require_limited("value", "head dimension", p.value_dim);
  if (!std::ranges::equal(p.output.shape(),
                          std::array{p.batch, p.query_heads, p.num_queries, p.value_dim})) {
    std::array needed{p.batch, p.query_heads, p.num_queries, p.value_dim};
    validation::fail_shape("output", p.output.shape(), "shape " + validation::to_string(needed));
  }
  if (options.scale && !std::isfinite(*options.scale)) {
    validation::fail_value("scale", *options.scale, "a finite number");
  }
  if (!(options.softcap >= 0) || !std::isfinite(options.softcap)) {
    validation::fail_value("softcap", options.softcap, "0 (none) or a finite number above it");
  }
  if (options.window) {
    for (const auto& side : {options.window->left, options.window->right}) {
      if (side && *side < 0) {
        validation::fail_value("window", static_cast<double>(*side), "0 or more keys to a side");
      }
    }
  }
  const auto score_shape = {p.batch, p.query_heads, p.num_queries, p.num_keys};
  if (!options.mask.empty()) {
    p.options.mask = validation::broadcast("mask", options.mask, score_shape);
    validation::require_data("mask", options.mask);
  }
  if (!options.bias.empty()) {
    p.options.bias = validation::broadcast("bias", options.bias, score_shape);
    validation::require_data("bias", options.bias);
  }
  check_valid_lens(options.valid_lens, p);
  check_output("scaled_scores", options.scaled_scores, score_shape);
  check_output("capped_scores", options.capped_scores, score_shape);
  check_output("biased_scores", options.biased_scores, score_shape);
  check_output("weights", options.weights, score_shape);
  check_output("log_sum_exp", options.log_sum_exp, {p.batch, p.query_heads, p.num_queries});
  return p;
}

/// Fills, for one batch entry, the keys [begin[i], end[i]) that causal order, window and valid
/// lengths together leave to each query.
void fill_key_ranges(const Problem& p, index batch, std::int32_t* begin, std::int32_t* end) {
  const AttentionOptions& o = p.options;
  // Offsets may be huge; beyond ±2^32 they change nothing any more, and sums stay exact.
  const auto offset_of = [&](const Diagonal& diagonal) {
    return std::clamp<index>(diagonal.resolve(p.num_queries, p.num_keys), -(index{1} << 32),
                             index{1} << 32);
  };
  const auto side_of = [](std::int64_t side) { return std::min<index>(side, index{1} << 33); };
  for (index i = 0; i < p.num_queries; ++i) {
    index low = 0;
    index high = p.num_keys;
    if (o.causal) high = std::min(high, i + offset_of(*o.causal) + 1);
    if (o.window) {
      const index diagonal = i + offset_of(o.window->diagonal);
      if (o.window->left) low = std::max(low, diagonal - side_of(*o.window->left));
      if (o.window->right) high = std::min(high, diagonal + side_of(*o.window->right) + 1);
    }
    if (!o.valid_lens.empty()) {
      high = std::min<index>(
          high, o.valid_lens.rank() == 2 ? o.valid_lens(batch, i) : o.valid_lens(batch));
    }
    begin[i] = static_cast<std::int32_t>(std::clamp<index>(low, 0, p.num_keys));
    end[i] = static_cast<std::int32_t>(std::clamp<index>(high, 0, p.num_keys));
  }
}

/// Values as the kernels read them: unit column stride, and whole vectors readable.
struct Values {
  const float* data;
  index batch, head, row;
};

}  // namespace

void scaled_dot_product_attention(const ConstTensor& query, const ConstTensor& key,
                                  const ConstTensor& value, const Tensor& output,
                                  const AttentionOptions& options, Context& context) {
  const Problem p = validate(query, key, value, output, options);
  if (p.batch == 0 || p.query_heads == 0 || p.num_queries == 0) return;

  runtime::Execution run(context);
  const kernels::KernelTable& kernels = run.kernels();

  const bool ranges_per_batch = !p.options.valid_lens.empty();
  const index range_rows = (ranges_per_batch ? p.batch : 1) * p.num_queries;
  auto* key_begin = run.take<std::int32_t>(range_rows, "attention key ranges");
  auto* key_end = run.take<std::int32_t>(range_rows, "attention key ranges");

  const index packed_head = kernels::packed_size(p.num_keys, p.head_dim);
  const index key_heads = p.batch * p.key_heads;
  float* packed_keys =
      run.floats(validation::product("key", {key_heads, packed_head}), "attention packed keys");

  Values values{p.value.data(), p.value.stride(0), p.value.stride(1), p.value.stride(2)};
  const index value_cols = kernels::round_up(p.value_dim, kernels.vector_width);
  float* copied_values = nullptr;
  if (p.value.stride(3) != 1 || value_cols != p.value_dim) {
    copied_values = run.floats(validation::product("value", {key_heads, p.num_keys, value_cols}),
                               "attention values");
    values = {copied_values, p.key_heads * p.num_keys * value_cols, p.num_keys * value_cols,
              value_cols};
  }

  const auto head_of = [&](index b, index h) {
    const index kv = h / (p.query_heads / p.key_heads);
    const AttentionOptions& o = p.options;
    AttentionHead head;
    head.num_queries = p.num_queries;
    head.num_keys = p.num_keys;
    head.head_dim = p.head_dim;
    head.value_dim = p.value_dim;
    head.query = p.query.data() + b * p.query.stride(0) + h * p.query.stride(1);
    head.query_row = p.query.stride(2);
    head.query_col = p.query.stride(3);
    head.packed_keys = packed_keys + (b * p.key_heads + kv) * packed_head;
    head.value = values.data + b * values.batch + kv * values.head;
    head.value_row = values.row;
    head.output = p.output.data() + b * p.output.stride(0) + h * p.output.stride(1);
    head.output_row = p.output.stride(2);
    head.output_col = p.output.stride(3);
    if (!o.log_sum_exp.empty()) {
      head.log_sum_exp = &o.log_sum_exp(b, h, 0);
      head.log_sum_exp_row = o.log_sum_exp.stride(2);
    }
    head.scale = o.scale.value_or(1.0F / std::sqrt(static_cast<float>(p.head_dim)));
    head.softcap = o.softcap;
    head.key_begin = key_begin + (ranges_per_batch ? b * p.num_queries : 0);
    head.key_end = key_end + (ranges_per_batch ? b * p.num_queries : 0);
    if (!o.mask.empty()) {
      head.mask = &o.mask(b, h, 0, 0);
      head.mask_row = o.mask.stride(2);
      head.mask_col = o.mask.stride(3);
    }
    if (!o.bias.empty()) {
      head.bias = &o.bias(b, h, 0, 0);
      head.bias_row = o.bias.stride(2);
      head.bias_col = o.bias.stride(3);
    }
    return head;
  };

  const index scratch_size = kernels.attention_scratch(head_of(0, 0));
  float* scratch = run.floats(scratch_size * run.num_threads(), "attention tiles");

  // Nothing below can fail.
  for (index b = 0; b < (ranges_per_batch ? p.batch : 1); ++b) {
    fill_key_ranges(p, b, key_begin + b * p.num_queries, key_end + b * p.num_queries);
  }

  const index pack_blocks = (p.num_keys + kPackBlock - 1) / kPackBlock;
  run.parallel_for(key_heads * pack_blocks, [&](index task, int) noexcept {
    const index b = task / pack_blocks / p.key_heads;
    const index h = task / pack_blocks % p.key_heads;
    const index key0 = task % pack_blocks * kPackBlock;
    const index keys = std::min(kPackBlock, p.num_keys - key0);
    kernels.pack(keys, p.head_dim,
                 p.key.data() + b * p.key.stride(0) + h * p.key.stride(1) + key0 * p.key.stride(2),
                 p.key.stride(2), p.key.stride(3),
                 packed_keys + (b * p.key_heads + h) * packed_head + key0 * p.head_dim);
    if (!copied_values) return;
    for (index j = key0; j < key0 + keys; ++j) {
      float* row = copied_values + ((b * p.key_heads + h) * p.num_keys + j) * value_cols;
      for (index c = 0; c < p.value_dim; ++c) row[c] = p.value(b, h, j, c);
      std::fill(row + p.value_dim, row + value_cols, 0.0F);
    }
  });

  const index row_blocks = (p.num_queries + kernels.attention_rows - 1) / kernels.attention_rows;
  run.parallel_for(p.batch * p.query_heads * row_blocks, [&](index task, int worker) noexcept {
    const index b = task / row_blocks / p.query_heads;
    const index h = task / row_blocks % p.query_heads;
    const index row = task % row_blocks * kernels.attention_rows;
    std::array<ScoreOutput, 4> scores;
    int num_scores = 0;
    const auto add = [&](ScoreStage stage, const Tensor& t) {
      if (!t.empty()) scores[num_scores++] = {stage, &t(b, h, 0, 0), t.stride(2), t.stride(3)};
    };
    add(ScoreStage::kScaled, p.options.scaled_scores);
    add(ScoreStage::kCapped, p.options.capped_scores);
    add(ScoreStage::kBiased, p.options.biased_scores);
    add(ScoreStage::kWeights, p.options.weights);
    kernels.attend(head_of(b, h), row, std::min(row + kernels.attention_rows, p.num_queries),
                   scores.data(), num_scores, scratch + worker * scratch_size);
  });
}

}  // namespace attn
