#include "attention/attention_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "compare.hpp"

namespace attn_test {
namespace {

/// Reduces a shape to `rank`: rank 3 has no heads, and rank 2 has neither heads nor a batch. The
/// removed dimensions have size 1.
std::vector<std::int64_t> of_rank(std::vector<std::int64_t> shape, int rank) {
  if (rank < 4) shape.erase(shape.begin() + 1);
  if (rank < 3) shape.erase(shape.begin());
  return shape;
}

/// The b-th of `parts` equal parts of `all`; empty if `all` is empty.
template <class T>
std::vector<T> part_of(const std::vector<T>& all, std::int64_t parts, std::int64_t b) {
  const std::ptrdiff_t each = std::ssize(all) / parts;
  return {all.begin() + b * each, all.begin() + (b + 1) * each};
}

}  // namespace

AttentionProblem entry_of(const AttentionProblem& batch, std::int64_t b) {
  const std::int64_t entries = batch.sizes.batch;
  AttentionProblem alone = batch;
  alone.sizes.batch = 1;
  alone.query = part_of(batch.query, entries, b);
  alone.key = part_of(batch.key, entries, b);
  alone.value = part_of(batch.value, entries, b);
  alone.valid_lens = part_of(batch.valid_lens, entries, b);
  alone.key_lens = part_of(batch.key_lens, entries, b);
  const auto cut = [&](auto& values, std::vector<std::int64_t>& shape) {
    if (shape.size() < 4 || shape[0] == 1) return;
    values = part_of(values, entries, b);
    shape[0] = 1;
  };
  cut(alone.bias, alone.bias_shape);
  cut(alone.mask, alone.mask_shape);
  return alone;
}

std::vector<std::int32_t> cumulative(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> starts{0};
  for (const std::int32_t length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

std::vector<float> rows_of(const std::vector<float>& all, std::int64_t heads, std::int64_t rows,
                           std::int64_t begin, std::int64_t end) {
  std::vector<float> result;
  if (rows == 0) return result;
  const std::int64_t width = std::ssize(all) / (heads * rows);
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto first = all.begin() + h * rows * width;
    result.insert(result.end(), first + begin * width, first + end * width);
  }
  return result;
}

std::vector<float> queries_of(const AttentionProblem& packed, const std::vector<float>& all,
                              std::int64_t s) {
  const auto at = static_cast<std::size_t>(s);
  return rows_of(all, packed.sizes.query_heads, packed.sizes.num_queries, packed.cu_seqlens[at],
                 packed.cu_seqlens[at + 1]);
}

std::vector<float> keys_of(const AttentionProblem& packed, const std::vector<float>& all,
                           std::int64_t s) {
  const auto at = static_cast<std::size_t>(s);
  const auto& starts = packed.cu_seqlens_k.empty() ? packed.cu_seqlens : packed.cu_seqlens_k;
  return rows_of(all, packed.sizes.key_heads, packed.sizes.num_keys, starts[at], starts[at + 1]);
}

AttentionProblem sequence_of(const AttentionProblem& packed, std::int64_t s) {
  AttentionProblem alone = packed;
  alone.query = queries_of(packed, packed.query, s);
  alone.key = keys_of(packed, packed.key, s);
  alone.value = keys_of(packed, packed.value, s);
  alone.cu_seqlens.clear();
  alone.cu_seqlens_k.clear();
  const AttentionSizes& sizes = packed.sizes;
  alone.sizes.num_queries = std::ssize(alone.query) / (sizes.query_heads * sizes.head_dim);
  alone.sizes.num_keys = std::ssize(alone.key) / (sizes.key_heads * sizes.head_dim);
  return alone;
}

attn::Diagonal random_diagonal(const AttentionSizes& sizes, Random& random) {
  if (random.chance(0.3)) return attn::Diagonal::top_left();
  if (random.chance(0.4)) return attn::Diagonal::bottom_right();
  return attn::Diagonal::offset(random.integer(-sizes.num_queries, sizes.num_keys));
}

attn::Window random_window(const AttentionSizes& sizes, Random& random) {
  attn::Window window;
  if (random.chance(0.7)) window.left = random.integer(0, sizes.num_keys);
  if (random.chance(0.7)) window.right = random.integer(0, sizes.num_keys);
  return window;
}

std::vector<std::int32_t> random_lengths(std::int64_t count, std::int64_t num_keys,
                                         Random& random) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t i = 0; i < count; ++i) {
    lengths.push_back(static_cast<std::int32_t>(random.integer(0, num_keys)));
  }
  return lengths;
}

AttentionOutputs entry_of(const AttentionOutputs& outputs, const AttentionSizes& sizes,
                          std::int64_t b) {
  AttentionOutputs alone;
  alone.output = part_of(outputs.output, sizes.batch, b);
  alone.weights = part_of(outputs.weights, sizes.batch, b);
  alone.column_sums = part_of(outputs.column_sums, sizes.batch, b);
  return alone;
}

AttentionInputs::AttentionInputs(const AttentionProblem& p) : problem_(p) {
  const auto given = [&](std::vector<std::int64_t> shape, const std::vector<float>& values) {
    return values.empty() ? FloatTensor() : FloatTensor(std::move(shape), values, p.layout);
  };
  if (!p.mask.empty()) mask_ = HostTensor<std::uint8_t>(p.mask_shape, p.mask, p.layout);
  if (!p.valid_lens.empty()) {
    valid_lens_ = HostTensor<std::int32_t>(p.valid_lens_shape(), p.valid_lens, p.layout);
  }
  if (!p.key_lens.empty()) {
    key_lens_ = HostTensor<std::int32_t>({p.sizes.batch}, p.key_lens, p.layout);
  }
  const auto starts = [&](const std::vector<std::int32_t>& values) {
    return values.empty() ? HostTensor<std::int32_t>()
                          : HostTensor<std::int32_t>({std::ssize(values)}, values, p.layout);
  };
  cu_seqlens_ = starts(p.cu_seqlens);
  cu_seqlens_k_ = starts(p.cu_seqlens_k);
  bias_ = given(p.bias_shape, p.bias);
  relative_keys_ = given(p.relative_shape(p.sizes.head_dim), p.relative_keys);
  relative_values_ = given(p.relative_shape(p.sizes.value_dim), p.relative_values);
  alibi_slopes_ = given({p.sizes.query_heads}, p.alibi_slopes);
  t5_table_ = given(p.t5_shape(), p.t5_table);
  sinks_ = given({p.sizes.query_heads}, p.sinks);
}

attn::AttentionOptions AttentionInputs::options() const {
  const AttentionProblem& p = problem_;
  attn::AttentionOptions options;
  options.scale = p.scale;
  options.softcap = p.softcap;
  options.bias = bias_.view();
  options.mask = mask_.view();
  options.diagonal = p.diagonal;
  options.causal = p.causal;
  options.window = p.window;
  options.valid_lens = valid_lens_.view();
  options.key_lens = key_lens_.view();
  options.cu_seqlens = cu_seqlens_.view();
  options.cu_seqlens_k = cu_seqlens_k_.view();
  options.relative_keys = relative_keys_.view();
  options.relative_values = relative_values_.view();
  options.alibi_slopes = alibi_slopes_.view();
  if (!p.t5_table.empty()) {
    options.t5_bias = attn::T5Bias{t5_table_.view(), p.t5_bidirectional, p.t5_max_distance};
  }
  options.sinks = sinks_.view();
  options.dropout = p.dropout;
  options.dropout_random = p.dropout_random;
  return options;
}

AttentionOutputs attend(const AttentionProblem& p, attn::Context& context,
                        const AttentionWants& wants) {
  const FloatTensor query(of_rank(p.query_shape(), p.rank), p.query, p.layout);
  const FloatTensor key(of_rank(p.key_shape(), p.rank), p.key, p.layout);
  const FloatTensor value(of_rank(p.value_shape(), p.rank), p.value, p.layout);
  constexpr float kUnset = -12345.678F;
  const auto output_of = [&](bool wanted, std::vector<std::int64_t> shape) {
    return wanted ? FloatTensor::filled(std::move(shape), kUnset, p.layout) : FloatTensor();
  };
  FloatTensor output = output_of(true, of_rank(p.output_shape(), p.rank));
  FloatTensor log_sum_exp = output_of(wants.log_sum_exp, p.row_shape());
  FloatTensor scaled = output_of(wants.scores, p.score_shape());
  FloatTensor capped = output_of(wants.scores, p.score_shape());
  FloatTensor biased = output_of(wants.scores, p.score_shape());
  FloatTensor weights = output_of(wants.weights, p.score_shape());
  FloatTensor column_sums = output_of(wants.column_sums, p.column_shape());

  const AttentionInputs inputs(p);
  attn::AttentionOptions options = inputs.options();
  options.scaled_scores = scaled.view();
  options.capped_scores = capped.view();
  options.biased_scores = biased.view();
  options.weights = weights.view();
  options.log_sum_exp = log_sum_exp.view();
  options.column_sums = column_sums.view();
  attn::scaled_dot_product_attention(query.view(), key.view(), value.view(), output.view(), options,
                                     context);

  for (const FloatTensor* tensor :
       {&output, &log_sum_exp, &scaled, &capped, &biased, &weights, &column_sums}) {
    EXPECT_TRUE(tensor->gaps_are_untouched()) << "written outside of an output";
  }
  return {output.values(), log_sum_exp.values(), scaled.values(),     capped.values(),
          biased.values(), weights.values(),     column_sums.values()};
}

ColumnSums column_sums(const reference::AttentionResult& exact) {
  const std::vector<std::int64_t>& shape = exact.weights.shape;
  const std::int64_t queries = shape[2], keys = shape[3];
  ColumnSums sums{reference::Array({shape[0], shape[1], keys}), {}};
  sums.error = sums.exact;
  for (std::size_t at = 0; at < exact.weights.values.size(); ++at) {
    const auto to = static_cast<std::int64_t>(at) / (queries * keys) * keys +
                    static_cast<std::int64_t>(at) % keys;
    const double weight = exact.weights.values[at], error = exact.weights_error.values[at];
    sums.exact.values[static_cast<std::size_t>(to)] += weight;
    // Adding the weights rounds once for each query.
    sums.error.values[static_cast<std::size_t>(to)] +=
        error + static_cast<double>(queries) * 0x1p-24 * (weight + error);
  }
  return sums;
}

void expect_matches_reference(const AttentionProblem& p, attn::Context& context) {
  const AttentionOutputs got = attend(p, context);
  const reference::AttentionResult exact = p.expected();
  EXPECT_TRUE(is_within(got.scaled_scores, exact.scaled_scores, exact.scaled_scores_error))
      << "scaled scores";
  EXPECT_TRUE(is_within(got.capped_scores, exact.capped_scores, exact.capped_scores_error))
      << "scores after softcap";
  EXPECT_TRUE(is_within(got.biased_scores, exact.biased_scores, exact.biased_scores_error))
      << "scores after bias";
  EXPECT_TRUE(is_within(got.weights, exact.weights, exact.weights_error)) << "weights";
  EXPECT_TRUE(is_within(got.log_sum_exp, exact.log_sum_exp, exact.log_sum_exp_error))
      << "log-sum-exp";
  EXPECT_TRUE(is_within(got.output, exact.output, exact.output_error)) << "output";
  const AttentionOutputs summed = attend(p, context, {.column_sums = true});
  const ColumnSums sums = column_sums(exact);
  EXPECT_TRUE(is_within(summed.column_sums, sums.exact, sums.error)) << "column sums";
  EXPECT_TRUE(same_bits(summed.output, got.output)) << "output next to column sums";
}

reference::Array rounding_of_weights(const AttentionProblem& p,
                                     const reference::AttentionResult& exact) {
  reference::Array result(p.output_shape());
  const auto& s = p.sizes;
  const std::int64_t group = s.query_heads / s.key_heads;
  const reference::Array value(p.value_shape(), p.value);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.query_heads; ++h) {
      for (std::int64_t i = 0; i < s.num_queries; ++i) {
        for (std::int64_t c = 0; c < s.value_dim; ++c) {
          double sum = 0;
          for (std::int64_t j = 0; j < s.num_keys; ++j) {
            const double weight = exact.weights.at({b, h, i, j});
            if (weight == 0) continue;
            sum +=
                weight * std::abs(value.at({b, h / group, j, c}) - exact.output.at({b, h, i, c}));
          }
          // The stated bound ignores second-order errors. The factor 1 + 2^-6 allows for them.
          result.at({b, h, i, c}) = 0x1p-8 * (1 + 0x1p-6) * sum;
        }
      }
    }
  }
  return result;
}

std::vector<std::uint8_t> document_mask(std::int64_t num_queries, std::int64_t num_keys) {
  constexpr std::int64_t kLengths[] = {64, 1, 63, 0, 65, 128, 5};
  std::vector<std::int64_t> document;
  for (std::size_t d = 0; std::ssize(document) < std::max(num_queries, num_keys); ++d) {
    document.insert(document.end(), static_cast<std::size_t>(kLengths[d % std::size(kLengths)]),
                    static_cast<std::int64_t>(d));
  }
  std::vector<std::uint8_t> mask;
  for (std::int64_t i = 0; i < num_queries; ++i) {
    for (std::int64_t j = 0; j < num_keys; ++j) {
      mask.push_back(document[static_cast<std::size_t>(i)] ==
                     document[static_cast<std::size_t>(j)]);
    }
  }
  return mask;
}

std::vector<std::int64_t> let_some_rows_attend_to_all(std::vector<std::uint8_t>& mask,
                                                      std::int64_t num_queries,
                                                      std::int64_t num_keys) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < num_queries; ++i) {
    // The last group may have fewer than 16 rows, but every group has a first row.
    if (i % 16 == 0) rows.push_back(i);
  }
  for (const std::int64_t row : rows) {
    std::fill_n(mask.begin() + row * num_keys, num_keys, std::uint8_t{1});
  }
  return rows;
}

}  // namespace attn_test
