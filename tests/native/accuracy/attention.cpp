#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <span>

#include "accuracy/accuracy.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/masked_softmax.hpp"
#include "attn/attention/merge_attention.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "attn/positions/alibi.hpp"
#include "reference/masked_softmax.hpp"

namespace accuracy {
namespace {

using reference::Array;
using Shape = std::vector<std::int64_t>;

struct Sizes {
  std::int64_t batch = 1, query_heads = 2, key_heads = 2, num_queries = 65, num_keys = 130,
               head_dim = 64, value_dim = 64;
};

/// The inputs of one call: `options` for the core, and `exact` for the reference. Each row of the
/// table of errors sets the same options in both.
struct Problem {
  Case& c;
  Sizes s;
  std::vector<float> query, key, value;
  attn::AttentionOptions options;
  reference::Attention exact;
  double max_value = 0;

  explicit Problem(Case& c_, const Sizes& sizes = {}, float query_deviation = 1)
      : c(c_),
        s(sizes),
        query(c_.normals(s.batch * s.query_heads * s.num_queries * s.head_dim, query_deviation)),
        key(c_.normals(s.batch * s.key_heads * s.num_keys * s.head_dim)),
        value(c_.normals(s.batch * s.key_heads * s.num_keys * s.value_dim)) {
    exact.query = Array({s.batch, s.query_heads, s.num_queries, s.head_dim}, query);
    exact.key = Array({s.batch, s.key_heads, s.num_keys, s.head_dim}, key);
    exact.value = Array({s.batch, s.key_heads, s.num_keys, s.value_dim}, value);
    for (const float v : value) max_value = std::max(max_value, std::abs(double{v}));
  }

  struct Outputs {
    std::vector<float> output, weights, log_sum_exp, capped;
  };

  Outputs attend(bool all = false) {
    const auto rows = static_cast<std::size_t>(s.batch * s.query_heads * s.num_queries);
    Outputs out;
    out.output.resize(rows * static_cast<std::size_t>(s.value_dim));
    if (all) {
      const Shape scores{s.batch, s.query_heads, s.num_queries, s.num_keys};
      out.weights.resize(rows * static_cast<std::size_t>(s.num_keys));
      out.capped.resize(out.weights.size());
      out.log_sum_exp.resize(rows);
      options.weights = {out.weights.data(), std::span<const std::int64_t>(scores)};
      options.capped_scores = {out.capped.data(), std::span<const std::int64_t>(scores)};
      options.log_sum_exp = {out.log_sum_exp.data(), {s.batch, s.query_heads, s.num_queries}};
    }
    attn::scaled_dot_product_attention(
        {query.data(), std::span<const std::int64_t>(exact.query.shape)},
        {key.data(), std::span<const std::int64_t>(exact.key.shape)},
        {value.data(), std::span<const std::int64_t>(exact.value.shape)},
        {out.output.data(), {s.batch, s.query_heads, s.num_queries, s.value_dim}}, options,
        c.context());
    return out;
  }

  /// Measures the output. `other_values` bounds the contribution of vectors other than the values,
  /// such as relative values.
  void measure_output(double other_values = 0) {
    c.add(attend().output, reference::attention(exact).output,
          2.5e-6 * std::sqrt(static_cast<double>(s.head_dim)) * (max_value + other_values));
  }
};

const char* const kOutputBound = "2.5e-6 · √D · max|v|";
const char* const kShape = "N 65, K 130, D 64, normal";
/// With queries of standard deviation kHard, scores cover the whole range for which the bounds are
/// stated.
const char* const kHardShape = "N 65, K 130, D 64, |scores| ≤ 20";
constexpr float kHard = 4;

const Row kPlain("attention", kHardShape, kOutputBound,
                 [](Case& c) { Problem(c, {}, kHard).measure_output(); });
const Row kWeights("attention, weights", kHardShape, "1.3e-6 · √D", [](Case& c) {
  Problem p(c, {}, kHard);
  c.add(p.attend(true).weights, reference::attention(p.exact).weights, 1.3e-6 * 8);
});
const Row kLogSumExp("attention, log-sum-exp", kHardShape, "3e-6 · √D", [](Case& c) {
  Problem p(c, {}, kHard);
  c.add(p.attend(true).log_sum_exp, reference::attention(p.exact).log_sum_exp, 3e-6 * 8);
});
const Row kColumnSums("attention, column sums", kHardShape, "2e-5 · √D · Σ w", [](Case& c) {
  Problem p(c, {}, kHard);
  std::vector<float> sums(2 * 130);
  p.options.column_sums = {sums.data(), {1, 2, 130}};
  p.attend();
  const Array weights = reference::attention(p.exact).weights;
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t j = 0; j < 130; ++j) {
      double exact = 0;
      for (std::int64_t i = 0; i < 65; ++i) exact += weights.at({0, h, i, j});
      c.add(sums[static_cast<std::size_t>(h * 130 + j)], exact, 2e-5 * 8 * exact);
    }
  }
});
const Row kCausal("attention, causal", kHardShape, kOutputBound, [](Case& c) {
  Problem p(c, {}, kHard);
  p.options.causal = true;
  p.options.diagonal = attn::Diagonal::bottom_right();
  p.exact.causal_offset = Array({1}, 130 - 65);
  p.measure_output();
});
const Row kWindow("attention, window 20 + 5", kShape, kOutputBound, [](Case& c) {
  Problem p(c);
  p.options.window = attn::Window{.left = 20, .right = 5};
  p.exact.window_left = 20;
  p.exact.window_right = 5;
  p.exact.window_offset = Array({1}, 0);
  p.measure_output();
});
const Row kLengths("attention, valid lengths, grouped", "B 2, 4 and 2 heads, N 33, K 70, D 20",
                   kOutputBound, [](Case& c) {
                     Problem p(c, {2, 4, 2, 33, 70, 20, 12});
                     const std::vector<std::int32_t> lens{50, 7};
                     p.options.valid_lens = {lens.data(), {2}};
                     p.exact.valid_lens = Array({2}, lens);
                     p.measure_output();
                   });
const Row kSoftcap("attention, softcap 5", kShape, kOutputBound, [](Case& c) {
  Problem p(c);
  p.options.softcap = 5;
  p.exact.softcap = 5;
  p.measure_output();
});
const Row kBias("attention, bias and mask", kShape, kOutputBound, [](Case& c) {
  Problem p(c);
  const std::vector<float> bias = c.normals(65 * 130, 2);
  std::vector<std::uint8_t> mask;
  for (const float x : c.uniforms(65 * 130, 0, 1)) mask.push_back(x < 0.8F ? 1 : 0);
  p.options.bias = {bias.data(), {65, 130}};
  p.options.mask = {mask.data(), {65, 130}};
  p.exact.bias = Array({65, 130}, bias);
  p.exact.mask = Array({65, 130}, mask);
  p.measure_output();
});
const Row kAlibi("attention, ALiBi and T5", kShape, kOutputBound, [](Case& c) {
  Problem p(c);
  std::vector<float> slopes(2);
  attn::alibi_slopes(slopes);
  const std::vector<float> table = c.normals(32 * 2);
  p.options.alibi_slopes = {slopes.data(), {2}};
  p.options.t5_bias = attn::T5Bias{.table = {table.data(), {32, 2}}};
  p.exact.alibi_slopes = Array({2}, slopes);
  p.exact.t5_table = Array({32, 2}, table);
  p.exact.relative_offset = Array({1}, 0);
  p.measure_output();
});
const Row kRelative("attention, relative keys, values", "k 16, N 65, K 130, D 64",
                    "2.5e-6 · √D · (max|v| + max|a|)", [](Case& c) {
                      Problem p(c);
                      const std::vector<float> keys = c.normals(33 * 64);
                      const std::vector<float> values = c.normals(33 * 64);
                      p.options.relative_keys = {keys.data(), {33, 64}};
                      p.options.relative_values = {values.data(), {33, 64}};
                      p.exact.relative_keys = Array({1, 33, 64}, keys);
                      p.exact.relative_values = Array({1, 33, 64}, values);
                      p.exact.relative_offset = Array({1}, 0);
                      double largest = 0;
                      for (const float a : values) {
                        largest = std::max(largest, std::abs(double{a}));
                      }
                      p.measure_output(largest);
                    });
const Row kSinks("attention, sinks", kShape, kOutputBound, [](Case& c) {
  Problem p(c);
  const std::vector<float> sinks = c.normals(2);
  p.options.sinks = {sinks.data(), {2}};
  p.exact.sinks = Array({2}, sinks);
  p.measure_output();
});
/// Error bounds for bfloat16 tensors. They allow for weights rounded to bfloat16.
Array bfloat16_bounds(const Problem& p, const reference::AttentionResult& expected) {
  Array bounds(expected.output.shape, 2.5e-6 * 8 * p.max_value);
  for (std::int64_t h = 0; h < p.s.query_heads; ++h) {
    for (std::int64_t i = 0; i < p.s.num_queries; ++i) {
      for (std::int64_t d = 0; d < p.s.value_dim; ++d) {
        for (std::int64_t j = 0; j < p.s.num_keys; ++j) {
          bounds.at({0, h, i, d}) +=
              0x1p-8 * expected.weights.at({0, h, i, j}) *
              std::abs(p.exact.value.at({0, h, j, d}) - expected.output.at({0, h, i, d}));
        }
      }
    }
  }
  return bounds;
}

/// Measures the error of attention with bfloat16 inputs and a float32 output. The bound is the
/// float32 bound plus a term for products of bfloat16 pairs. Instruction sets without such products
/// stay within the float32 bound.
void measure_bfloat16(Case& c, bool log_sum_exp) {
  Problem p(c, {}, kHard);
  using Bf16 = std::vector<attn::BFloat16>;
  const auto rounded = [](std::vector<float>& numbers, Array& exact) {
    const Bf16 result(numbers.begin(), numbers.end());
    exact.values.assign(result.begin(), result.end());
    return result;
  };
  const Bf16 query = rounded(p.query, p.exact.query), key = rounded(p.key, p.exact.key),
             value = rounded(p.value, p.exact.value);
  const auto view = [](const Bf16& numbers, const Array& exact) {
    return attn::TensorView<const attn::BFloat16>(numbers.data(), exact.shape);
  };
  const auto expected = reference::attention(p.exact);
  std::vector<float> output(expected.output.values.size());
  std::vector<float> sums(expected.log_sum_exp.values.size());
  p.options.log_sum_exp = {sums.data(), expected.log_sum_exp.shape};
  attn::scaled_dot_product_attention(
      view(query, p.exact.query), view(key, p.exact.key), view(value, p.exact.value),
      attn::Tensor(output.data(), expected.output.shape), p.options, c.context());
  if (log_sum_exp) return c.add(sums, expected.log_sum_exp, 3e-6 * 8);
  const Array bounds = bfloat16_bounds(p, expected);
  c.add(output, expected.output, bounds);
}
const Row kBfloat16("attention, bfloat16 to float32", kHardShape,
                    "2.5e-6 · √D · max|v| + 2^-8 · Σ w·|v − o|",
                    [](Case& c) { measure_bfloat16(c, false); });
const Row kBfloat16LogSumExp("attention, bfloat16, log-sum-exp", kHardShape, "3e-6 · √D",
                             [](Case& c) { measure_bfloat16(c, true); });
const Row kOneQuery("attention, one query", "N 1, K 2000, D 128, |scores| ≤ 20", kOutputBound,
                    [](Case& c) {
                      Problem p(c, {1, 2, 1, 1, 2000, 128, 128}, kHard);
                      p.measure_output();
                    });

/// Measures one query over the keys and values of a cache. The reference uses the stored numbers,
/// so the rounding in the cache does not count as an error.
void measure_cache(Case& c, attn::ElementType type) {
  Problem p(c, {1, 2, 1, 1, 2000, 128, 128}, kHard);
  const Shape shape{1, 1, 2000, 128};
  const attn::Tensor keys(p.key.data(), std::span<const std::int64_t>(shape));
  const attn::Tensor values(p.value.data(), std::span<const std::int64_t>(shape));
  attn::KeyValueCache cache(1, 1, 128, 128, 0, type);
  cache.append(keys, values);
  cache.read_keys(keys);
  cache.read_values(values);
  p.exact.key = Array(shape, p.key);
  p.exact.value = Array(shape, p.value);
  std::vector<float> output(2 * 128);
  attn::scaled_dot_product_attention({p.query.data(), {1, 2, 1, 128}}, cache,
                                     {output.data(), {1, 2, 1, 128}}, {}, c.context());
  c.add(output, reference::attention(p.exact).output, 2.5e-6 * std::sqrt(128.0) * p.max_value);
}
const char* const kCacheShape = "N 1, K 2000, D 128, |scores| ≤ 20";
const Row kFloat16Cache("attention, cache of float16", kCacheShape, kOutputBound,
                        [](Case& c) { measure_cache(c, attn::ElementType::kFloat16); });
const Row kBFloat16Cache("attention, cache of bfloat16", kCacheShape, kOutputBound,
                         [](Case& c) { measure_cache(c, attn::ElementType::kBFloat16); });
const Row kInt8Cache("attention, cache of int8", kCacheShape, kOutputBound,
                     [](Case& c) { measure_cache(c, attn::ElementType::kInt8); });

/// Measures inputs and outputs of a two-byte type. The reference uses the rounded inputs, so
/// rounding them does not count as an error.
template <class T>
void measure_short(Case& c, double rounding) {
  Problem p(c, {}, kHard);
  const auto rounded = [](std::vector<float>& x, Array& exact) {
    const std::vector<T> result(x.begin(), x.end());
    std::ranges::copy(result, x.begin());
    exact = Array(exact.shape, x);
    return result;
  };
  const std::vector<T> q = rounded(p.query, p.exact.query), k = rounded(p.key, p.exact.key),
                       v = rounded(p.value, p.exact.value);
  std::vector<T> output(2 * 65 * 64);
  attn::scaled_dot_product_attention({q.data(), {1, 2, 65, 64}}, {k.data(), {1, 2, 130, 64}},
                                     {v.data(), {1, 2, 130, 64}}, {output.data(), {1, 2, 65, 64}},
                                     {}, c.context());
  const auto expected = reference::attention(p.exact);
  const Array& exact = expected.output;
  const bool pairs = std::same_as<T, attn::BFloat16>;
  const Array bounds =
      pairs ? bfloat16_bounds(p, expected) : Array(exact.shape, 2.5e-6 * 8 * p.max_value);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double bound = bounds.values[i];
    c.add(output[i], exact.values[i], bound + rounding * (std::abs(exact.values[i]) + bound));
  }
}
const Row kFloat16("attention, float16", kHardShape, "2.5e-6 · √D · max|v| + 2^-11 · |o|",
                   [](Case& c) { measure_short<attn::Float16>(c, 0x1p-11); });
const Row kBFloat16("attention, bfloat16", kHardShape,
                    "2.5e-6 · √D · max|v| + 2^-8 · (|o| + Σ w·|v − o|)",
                    [](Case& c) { measure_short<attn::BFloat16>(c, 0x1p-8); });

const Row kInt8("KeyValueCache of int8", "K 2000, D 128, normal", "max|row| / 253", [](Case& c) {
  const std::vector<float> rows = c.normals(2000 * 128);
  attn::KeyValueCache cache(1, 1, 128, 128, 0, attn::ElementType::kInt8);
  cache.append({rows.data(), {1, 1, 2000, 128}}, {rows.data(), {1, 1, 2000, 128}});
  std::vector<float> read(rows.size());
  cache.read_keys({read.data(), {1, 1, 2000, 128}});
  for (std::size_t i = 0; i < rows.size(); i += 128) {
    double largest = 0;
    for (std::size_t j = i; j < i + 128; ++j)
      largest = std::max(largest, std::abs(double{rows[j]}));
    for (std::size_t j = i; j < i + 128; ++j) c.add(read[j], rows[j], largest / 253);
  }
});

/// Merges attention over two parts of the keys and compares it with the reference over all keys.
const Row kMerge("merge_attention", "N 65, K 50 + 80, D 64, normal", "5.0e-6 · √D · max|v|",
                 [](Case& c) {
                   Problem p(c);
                   const std::int64_t rows = 2 * 65;
                   std::vector<float> output[2], sums[2];
                   const attn::ConstTensor key(p.key.data(), {1, 2, 130, 64});
                   const attn::ConstTensor value(p.value.data(), {1, 2, 130, 64});
                   for (const int part : {0, 1}) {
                     const std::int64_t begin = part == 0 ? 0 : 50, end = part == 0 ? 50 : 130;
                     output[part].resize(rows * 64);
                     sums[part].resize(rows);
                     attn::AttentionOptions options;
                     options.log_sum_exp = {sums[part].data(), {1, 2, 65}};
                     attn::scaled_dot_product_attention(
                         {p.query.data(), {1, 2, 65, 64}}, key.slice(2, begin, end),
                         value.slice(2, begin, end), {output[part].data(), {1, 2, 65, 64}}, options,
                         c.context());
                   }
                   std::vector<float> merged(rows * 64);
                   attn::merge_attention(
                       {output[0].data(), {1, 2, 65, 64}}, {sums[0].data(), {1, 2, 65}},
                       {output[1].data(), {1, 2, 65, 64}}, {sums[1].data(), {1, 2, 65}},
                       {merged.data(), {1, 2, 65, 64}}, {}, c.context());
                   c.add(merged, reference::attention(p.exact).output, 5e-6 * 8 * p.max_value);
                 });

const Row kTanh("tanh (softcap)", "scores 1e-3 … 20", "3e-7 · |tanh|", [](Case& c) {
  Problem p(c, {1, 1, 1, 1, 4096, 1, 1});
  p.query = {1};
  for (std::size_t i = 0; i < p.key.size(); ++i) {
    p.key[i] = static_cast<float>((i % 2 == 0 ? 1 : -1) *
                                  std::exp2(-10 + 14.3 * static_cast<double>(i) / 4096));
  }
  p.options.scale = 1;
  p.options.softcap = 1;
  const std::vector<float> capped = p.attend(true).capped;
  for (std::size_t i = 0; i < capped.size(); ++i) {
    const double exact = std::tanh(double{p.key[i]});
    c.add(capped[i], exact, 3e-7 * std::abs(exact));
  }
});

void measure_softmax(Case& c, std::int64_t cols, float deviation) {
  const std::vector<float> x = c.normals(20 * cols, deviation);
  std::vector<float> output(x.size());
  attn::masked_softmax({x.data(), {20, cols}}, {output.data(), {20, cols}}, {}, c.context());
  const auto [exact, bounds] =
      reference::masked_softmax(Array({20, cols}, x), std::vector<bool>(x.size(), true));
  c.add(output, exact, bounds);
}
const char* const kSoftmaxBound = "w · (6e-7 + 1.5e-8·n + 1.4e-7·(max − x + ln n))";
const Row kSoftmax("masked_softmax", "(20, 257), normal", kSoftmaxBound,
                   [](Case& c) { measure_softmax(c, 257, 1); });
const Row kWideSoftmax("masked_softmax", "(20, 31), deviation 20", kSoftmaxBound,
                       [](Case& c) { measure_softmax(c, 31, 20); });

// In a row of two scores, 0 and x ≤ 0, the ratio of the weights is exp(x).
const Row kExp("exp (softmax)", "−80 … 0", "(2.4e-7 + 1.4e-7·|x|) · exp", [](Case& c) {
  std::vector<float> x;
  for (int i = 0; i < 4096; ++i) {
    x.push_back(0);
    x.push_back(-80 * static_cast<float>(i) / 4096);
  }
  std::vector<float> output(x.size());
  attn::masked_softmax({x.data(), {4096, 2}}, {output.data(), {4096, 2}}, {}, c.context());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const double exact = std::exp(double{x[i + 1]});
    c.add(double{output[i + 1]} / output[i], exact,
          (2.4e-7 + 1.4e-7 * std::abs(double{x[i + 1]})) * exact);
  }
});

}  // namespace
}  // namespace accuracy
