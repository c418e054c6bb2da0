// Calls attention with arbitrary sizes, layouts and options, some of which do not fit together. The
// call must either throw an Error and leave its outputs unchanged, or agree with the reference.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_problem.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/merge_attention.hpp"
#include "attn/error.hpp"
#include "choices.hpp"
#include "compare.hpp"
#include "contexts.hpp"
#include "typed_tensor.hpp"

namespace {

using attn_fuzz::Choices;
using attn_fuzz::context_of;
using attn_test::AttentionProblem;
using attn_test::AttentionSizes;
using attn_test::Layout;
using attn_test::Random;

AttentionSizes choose_sizes(Choices& choices) {
  AttentionSizes sizes;
  sizes.batch = choices.integer(0, 3);
  sizes.key_heads = choices.size(1, 3);
  sizes.query_heads = sizes.key_heads * choices.size(1, 3);
  sizes.num_queries = choices.size(0, 20);
  sizes.num_keys = choices.size(0, 40);
  sizes.head_dim = choices.size(1, 20);
  sizes.value_dim = choices.size(1, 20);
  // 40 queries or 200 keys need more than one tile.
  if (choices.one_in(16)) sizes.num_queries = choices.integer(40, 110);
  if (choices.one_in(16)) sizes.num_keys = choices.integer(200, 700);
  if (choices.one_in(8)) sizes.num_queries = 1;
  // Calls with long sequences get few heads, which keeps every call short. No tile holds two heads,
  // so a few heads test as much as many.
  constexpr std::int64_t kMaxScores = 2048;
  const std::int64_t scores = std::max<std::int64_t>(1, sizes.num_queries * sizes.num_keys);
  sizes.batch = std::min(sizes.batch, std::max<std::int64_t>(1, kMaxScores / scores));
  const std::int64_t most_heads = kMaxScores / (scores * std::max<std::int64_t>(1, sizes.batch));
  if (sizes.query_heads > most_heads) sizes.query_heads = sizes.key_heads = 1;
  return sizes;
}

attn::Diagonal choose_diagonal(Choices& choices) {
  switch (choices.integer(0, 3)) {
    case 0:
      return attn::Diagonal::top_left();
    case 1:
      return attn::Diagonal::bottom_right();
    case 2:
      return attn::Diagonal::offset(choices.integer(-50, 50));
    default:
      return attn::Diagonal::offset(choices.bits<std::int32_t>());
  }
}

/// A shape of any rank that broadcasts to the shape of the scores.
std::vector<std::int64_t> choose_mask_shape(Choices& choices, const AttentionProblem& p) {
  std::vector<std::int64_t> shape = p.score_shape();
  for (std::int64_t& size : shape) {
    if (choices.one_in(3)) size = 1;
  }
  shape.erase(shape.begin(), shape.begin() + choices.integer(0, 3));
  return shape;
}

void choose_lengths(Choices& choices, std::int64_t count, std::int64_t num_keys,
                    std::vector<std::int32_t>& lengths) {
  for (std::int64_t i = 0; i < count; ++i) {
    lengths.push_back(static_cast<std::int32_t>(choices.integer(0, num_keys)));
  }
}

/// A mask of this shape: random elements, or rectangles whose elements are all equal, so that whole
/// tiles are excluded or attended to.
std::vector<std::uint8_t> choose_mask(Choices& choices, Random& random,
                                      const std::vector<std::int64_t>& shape, double chance) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(AttentionProblem::count(shape)));
  const bool is_structured = choices.one_in(2);
  const std::int64_t rows = is_structured ? choices.integer(1, 70) : 1;
  const std::int64_t cols = is_structured ? choices.integer(1, 140) : 1;
  const std::int64_t width = shape.empty() ? 1 : shape.back();
  const std::int64_t each = (width + cols - 1) / cols;
  std::vector<std::uint8_t> rectangles;
  for (std::size_t at = 0; at < mask.size(); ++at) {
    const std::int64_t row = static_cast<std::int64_t>(at) / width;
    const std::int64_t col = static_cast<std::int64_t>(at) % width;
    const auto rectangle = static_cast<std::size_t>(row / rows * each + col / cols);
    while (rectangles.size() <= rectangle) rectangles.push_back(random.chance(chance) ? 1 : 0);
    mask[at] = rectangles[rectangle];
  }
  return mask;
}

/// Chooses options that apply to whole batch entries. Packed sequences do not support them.
void choose_entry_options(Choices& choices, Random& random, AttentionProblem& p) {
  const AttentionSizes& s = p.sizes;
  if (choices.one_in(3)) {
    p.bias_shape = choose_mask_shape(choices, p);
    p.bias = random.normals(AttentionProblem::count(p.bias_shape));
    const auto attended = choose_mask(choices, random, p.bias_shape, 0.8);
    for (std::size_t i = 0; i < p.bias.size(); ++i) {
      if (!attended[i]) p.bias[i] = -std::numeric_limits<float>::infinity();
    }
  }
  if (choices.one_in(3)) {
    p.mask_shape = choose_mask_shape(choices, p);
    p.mask = choose_mask(choices, random, p.mask_shape, 0.7);
  }
  if (choices.one_in(3)) {
    const bool per_query = choices.one_in(2);
    choose_lengths(choices, per_query ? s.batch * s.num_queries : s.batch, s.num_keys,
                   p.valid_lens);
  }
  if (choices.one_in(3)) choose_lengths(choices, s.batch, s.num_keys, p.key_lens);
  if (choices.one_in(4)) {
    p.dropout = random.uniform(0, 0.9F);
    p.dropout_random = {choices.bits<std::uint64_t>(), choices.bits<std::uint64_t>()};
  }
}

void choose_options(Choices& choices, Random& random, AttentionProblem& p) {
  const AttentionSizes& s = p.sizes;
  if (choices.one_in(3)) p.scale = random.uniform(-1, 1);
  if (choices.one_in(3)) p.softcap = random.uniform(0.5F, 30);
  if (choices.one_in(3)) {
    p.causal = true;
    p.diagonal = choose_diagonal(choices);
  }
  if (choices.one_in(3)) {
    attn::Window window;
    if (choices.one_in(2)) window.left = choices.integer(0, 50);
    if (choices.one_in(2)) window.right = choices.integer(0, 50);
    if (choices.one_in(8)) window.left = std::numeric_limits<std::int64_t>::max();
    p.diagonal = choose_diagonal(choices);
    p.window = window;
  }
  if (choices.one_in(2)) p.diagonal = attn::Diagonal::offset(choices.integer(-50, 50));
  p.max_distance = choices.integer(0, 12);
  p.relative_per_head = choices.one_in(2);
  if (choices.one_in(4)) {
    p.relative_keys = random.normals(AttentionProblem::count(p.relative_shape(s.head_dim)));
  }
  if (choices.one_in(4)) {
    p.relative_values = random.normals(AttentionProblem::count(p.relative_shape(s.value_dim)));
  }
  if (choices.one_in(4)) p.alibi_slopes = random.uniforms(s.query_heads, 0, 1);
  if (choices.one_in(4)) {
    p.t5_bidirectional = choices.one_in(2);
    const std::int64_t buckets = 2 * choices.integer(2, 20);
    p.t5_max_distance = buckets + choices.integer(0, 200);
    p.t5_table = random.normals(buckets * s.query_heads);
  }
  // Calls with terms that depend on the distance do not use offsets beyond ±50.
  const bool by_distance = !(p.relative_keys.empty() && p.relative_values.empty() &&
                             p.alibi_slopes.empty() && p.t5_table.empty());
  if (by_distance && std::abs(p.diagonal.resolve(0, 0)) > 50) {
    p.diagonal = attn::Diagonal::bottom_right();
  }
  if (choices.one_in(4)) p.sinks = random.normals(s.query_heads);
}

/// Writes a NaN, which must either reach the output or not be read at all. Infinity is not used,
/// because the reference has no bounds for it: if a weight is 0 in float32 but not in double,
/// infinity becomes NaN in float32 only.
void spoil(Choices& choices, std::vector<float>& values) {
  if (values.empty() || !choices.one_in(6)) return;
  const std::size_t at = choices.bits<std::uint32_t>() % values.size();
  values[at] = std::numeric_limits<float>::quiet_NaN();
}

/// Packs sequences into a call, and compares each sequence with the reference.
void call_packed(Choices& choices) {
  attn::Context& context = context_of(choices);
  Random random;
  random.engine().seed(choices.bits<std::uint32_t>());
  AttentionSizes sizes = choose_sizes(choices);
  sizes.batch = 1;
  const bool has_key_lengths = choices.one_in(2);
  std::vector<std::int32_t> lengths, key_lengths;
  const std::int64_t sequences = choices.integer(1, 5);
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t most = choices.one_in(4) ? 130 : 20;
    lengths.push_back(static_cast<std::int32_t>(choices.integer(0, most)));
    key_lengths.push_back(static_cast<std::int32_t>(choices.integer(0, most)));
  }
  if (!has_key_lengths) key_lengths = lengths;
  const std::vector<std::int32_t> starts = attn_test::cumulative(lengths);
  const std::vector<std::int32_t> key_starts = attn_test::cumulative(key_lengths);
  sizes.num_queries = starts.back();
  sizes.num_keys = key_starts.back();
  AttentionProblem p(sizes, random);
  p.cu_seqlens = starts;
  if (has_key_lengths) p.cu_seqlens_k = key_starts;
  p.layout = static_cast<Layout>(choices.integer(0, 4));
  choose_options(choices, random, p);
  spoil(choices, p.key);
  spoil(choices, p.value);
  const attn_test::AttentionOutputs got =
      attn_test::attend(p, context, {.log_sum_exp = true, .column_sums = choices.one_in(2)});
  for (std::int64_t s = 0; s < sequences; ++s) {
    const reference::AttentionResult exact = attn_test::sequence_of(p, s).expected();
    EXPECT_TRUE(attn_test::is_within(attn_test::queries_of(p, got.output, s), exact.output,
                                     exact.output_error));
    EXPECT_TRUE(attn_test::is_within(attn_test::queries_of(p, got.log_sum_exp, s),
                                     exact.log_sum_exp, exact.log_sum_exp_error));
    if (got.column_sums.empty()) continue;
    const auto at = static_cast<std::size_t>(s);
    const attn_test::ColumnSums sums = attn_test::column_sums(exact);
    EXPECT_TRUE(attn_test::is_within(
        attn_test::rows_of(got.column_sums, p.sizes.query_heads, p.sizes.num_keys, key_starts[at],
                           key_starts[at + 1]),
        sums.exact, sums.error));
  }
}

/// Makes a call with valid arguments and compares every number with the reference.
void call_right(Choices& choices) {
  attn::Context& context = context_of(choices);
  Random random;
  random.engine().seed(choices.bits<std::uint32_t>());
  AttentionProblem p(choose_sizes(choices), random);
  if (p.sizes.batch == 1 && p.sizes.query_heads == 1 && p.sizes.key_heads == 1) {
    p.rank = static_cast<int>(choices.integer(2, 4));
  }
  p.layout = static_cast<Layout>(choices.integer(0, 4));
  choose_options(choices, random, p);
  choose_entry_options(choices, random, p);
  spoil(choices, p.key);
  spoil(choices, p.value);
  attn_test::expect_matches_reference(p, context);
}

attn::ElementType choose_type(Choices& choices, attn::ElementType last) {
  return static_cast<attn::ElementType>(choices.integer(0, static_cast<int>(last)));
}

/// Checks that an output is within the bounds that attn's header states. This check is for calls
/// whose outputs need not be bit-identical to the outputs of the same calls in float32.
void expect_within_bounds(const AttentionProblem& p, attn::ElementType type,
                          const std::vector<float>& output, bool pairs) {
  reference::AttentionResult exact = p.expected();
  if (pairs) {
    const reference::Array more = attn_test::rounding_of_weights(p, exact);
    for (std::size_t i = 0; i < more.values.size(); ++i) {
      exact.output_error.values[i] += more.values[i];
    }
  }
  // The output is rounded once more, by at most half a unit in its last place, or by half of the
  // smallest float16.
  double unit = 0;
  if (type == attn::ElementType::kFloat16) unit = 0x1p-11;
  if (type == attn::ElementType::kBFloat16) unit = 0x1p-8;
  for (std::size_t i = 0; i < exact.output.values.size(); ++i) {
    double& error = exact.output_error.values[i];
    error += unit * (std::abs(exact.output.values[i]) + error) + unit * 0x1p-14;
  }
  EXPECT_TRUE(attn_test::is_within(output, exact.output, exact.output_error));
}

/// Makes a call with valid arguments of other element types, and compares its results with a
/// float32 call with the same numbers.
void call_stored(Choices& choices) {
  using attn::ElementType;
  using attn_test::TypedTensor;
  attn::Context& context = context_of(choices);
  Random random;
  random.engine().seed(choices.bits<std::uint32_t>());
  AttentionProblem p(choose_sizes(choices), random);
  const AttentionSizes& s = p.sizes;
  p.layout = static_cast<Layout>(choices.integer(0, 4));
  choose_options(choices, random, p);
  choose_entry_options(choices, random, p);
  // Some numbers are too small for the type to represent with its full precision.
  const float unit = choices.one_in(4) ? 0x1p-14F : 1.0F;
  for (float& value : p.key) value *= unit;
  for (float& value : p.value) value *= unit;
  spoil(choices, p.key);
  spoil(choices, p.value);

  const auto stored = [&](const std::vector<std::int64_t>& shape, std::vector<float>& numbers) {
    const ElementType type = choose_type(choices, ElementType::kBFloat16);
    TypedTensor tensor(type, shape, numbers, p.layout);
    numbers = tensor.values();
    return std::pair(type, std::move(tensor));
  };
  auto [query_type, query] = stored(p.query_shape(), p.query);
  auto [key_type, key] = stored(p.key_shape(), p.key);
  auto [value_type, value] = stored(p.value_shape(), p.value);
  const ElementType output_type = choose_type(choices, ElementType::kBFloat16);
  TypedTensor output(output_type, p.output_shape(),
                     std::vector<float>(AttentionProblem::count(p.output_shape())), p.layout);
  const attn_test::AttentionInputs inputs(p);
  bool has_scales = false;
  if (s.batch > 0 && choices.one_in(2)) {
    const ElementType type = choose_type(choices, ElementType::kInt8);
    attn::KeyValueCache cache(s.batch, s.key_heads, s.head_dim, s.value_dim, 0, type);
    cache.append(key.view(), value.view());
    cache.read_keys(attn::Tensor(p.key.data(), p.key_shape()));
    cache.read_values(attn::Tensor(p.value.data(), p.value_shape()));
    key_type = value_type = type;
    has_scales = type == ElementType::kInt8;
    attn::scaled_dot_product_attention(query.view(), cache, output.view(), inputs.options(),
                                       context);
  } else {
    attn::scaled_dot_product_attention(query.view(), key.view(), value.view(), output.view(),
                                       inputs.options(), context);
  }
  EXPECT_TRUE(output.gaps_are_untouched());
  // Instructions that multiply pairs of bfloat16 numbers round differently from float32 arithmetic.
  constexpr ElementType kPair = ElementType::kBFloat16;
  const bool pairs = std::string(to_string(context.instruction_set())).ends_with("bf16") &&
                     query_type == kPair && key_type == kPair && value_type == kPair;
  // With one query, the scales are applied to sums instead of to single numbers.
  if (pairs || (has_scales && s.num_queries == 1)) {
    return expect_within_bounds(p, output_type, output.values(), pairs);
  }
  const std::vector<float> want = attn_test::attend(p, context, {}).output;
  EXPECT_TRUE(attn_test::same_bits(output.values(), attn_test::as_type(output_type, want)));
}

/// Merges the results of parts of a sequence. Some parts contain nothing to attend to and must not
/// be read.
void call_merged(Choices& choices) {
  attn::Context& context = context_of(choices);
  Random random;
  random.engine().seed(choices.bits<std::uint32_t>());
  const std::vector<std::int64_t> rows{choices.integer(0, 2), choices.integer(1, 3),
                                       choices.integer(0, 20)};
  std::vector<std::int64_t> shape = rows;
  shape.push_back(choices.integer(1, 70));
  const auto layout = static_cast<Layout>(choices.integer(0, 4));
  const float spread = choices.one_in(4) ? 60.0F : 1.0F;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::size_t width = static_cast<std::size_t>(shape.back());
  const auto part = [&] {
    std::vector<float> sums = random.normals(AttentionProblem::count(rows), spread);
    std::vector<float> outputs = random.normals(AttentionProblem::count(shape));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!random.chance(0.2)) continue;
      sums[i] = -kInfinity;
      std::fill_n(outputs.begin() + static_cast<std::ptrdiff_t>(i * width), width, kNan);
    }
    return std::pair(std::move(outputs), std::move(sums));
  };
  const auto [output_a, sum_a] = part();
  const auto [output_b, sum_b] = part();
  using attn_test::FloatTensor;
  const FloatTensor of_a(shape, output_a, layout), of_b(shape, output_b, layout);
  FloatTensor output = FloatTensor::filled(shape, 77, layout);
  FloatTensor sum = FloatTensor::filled(rows, 77, layout);
  attn::merge_attention(of_a.view(), FloatTensor(rows, sum_a, layout).view(), of_b.view(),
                        FloatTensor(rows, sum_b, layout).view(), output.view(), sum.view(),
                        context);
  EXPECT_TRUE(output.gaps_are_untouched());
  EXPECT_TRUE(sum.gaps_are_untouched());
  reference::Array exact(shape), error(shape), exact_sum(rows), sum_error(rows);
  for (std::size_t i = 0; i < sum_a.size(); ++i) {
    const double a = sum_a[i], b = sum_b[i], max = std::max(a, b);
    double total = max;
    if (max > -kInfinity) total += std::log(std::exp(a - max) + std::exp(b - max));
    exact_sum.values[i] = total;
    if (max > -kInfinity) sum_error.values[i] = 6e-8 * std::abs(total) + 3e-7;
    const bool only_one = a == -kInfinity || b == -kInfinity;
    const double weight_a = a == -kInfinity ? 0 : std::exp(a - total);
    const double weight_b = b == -kInfinity ? 0 : std::exp(b - total);
    for (std::size_t at = i * width; at < (i + 1) * width; ++at) {
      const double x = weight_a == 0 ? 0 : output_a[at], y = weight_b == 0 ? 0 : output_b[at];
      exact.values[at] = weight_a * x + weight_b * y;
      if (only_one) continue;  // its own bits
      error.values[at] = (5e-7 + 1.2e-7 * std::abs(a - b) * std::min(weight_a, weight_b)) *
                         std::max(std::abs(x), std::abs(y));
    }
  }
  EXPECT_TRUE(attn_test::is_within(output.values(), exact, error));
  EXPECT_TRUE(attn_test::is_within(sum.values(), exact_sum, sum_error));
}

std::vector<std::int64_t> choose_any_shape(Choices& choices, std::vector<std::int64_t> shape) {
  if (!choices.one_in(6)) return shape;
  if (choices.one_in(4)) shape.resize(static_cast<std::size_t>(choices.integer(0, 6)), 1);
  for (std::int64_t& size : shape) {
    if (choices.one_in(3)) size = choices.integer(0, 5);
  }
  return shape;
}

/// Makes a call with arguments that may not fit together. Each tensor has memory for its own shape,
/// and no call may read or write outside of it.
void call_any(Choices& choices) {
  attn::Context& context = context_of(choices);
  const AttentionSizes s{choices.integer(0, 2), choices.integer(0, 4), choices.integer(1, 2),
                         choices.integer(0, 5), choices.integer(0, 6), choices.integer(0, 5),
                         choices.integer(0, 5)};
  const auto layout = static_cast<Layout>(choices.integer(0, 4));
  const auto tensor = [&](std::vector<std::int64_t> shape) {
    return attn_test::FloatTensor::filled(choose_any_shape(choices, std::move(shape)), 0.5F,
                                          layout);
  };
  const auto optional = [&](std::vector<std::int64_t> shape) {
    return choices.one_in(3) ? tensor(std::move(shape)) : attn_test::FloatTensor();
  };
  const auto lengths = [&] {
    using Lengths = attn_test::HostTensor<std::int32_t>;
    if (!choices.one_in(3)) return Lengths();
    Lengths result = Lengths::filled(choose_any_shape(choices, {s.batch}),
                                     static_cast<std::int32_t>(choices.integer(-2, 8)), layout);
    if (choices.one_in(8)) {
      result = Lengths::filled(result.shape(), choices.bits<std::int32_t>(), layout);
    }
    return result;
  };
  const std::vector<std::int64_t> scores{s.batch, s.query_heads, s.num_queries, s.num_keys};
  const auto query = tensor({s.batch, s.query_heads, s.num_queries, s.head_dim});
  const auto key = tensor({s.batch, s.key_heads, s.num_keys, s.head_dim});
  const auto value = tensor({s.batch, s.key_heads, s.num_keys, s.value_dim});
  auto output = tensor({s.batch, s.query_heads, s.num_queries, s.value_dim});
  auto weights = optional(scores);
  auto log_sum_exp = optional({s.batch, s.query_heads, s.num_queries});
  auto column_sums = optional({s.batch, s.query_heads, s.num_keys});
  const auto bias = optional(scores);
  const auto relative_keys = optional({choices.integer(0, 9), s.head_dim});
  const auto relative_values = optional({choices.integer(0, 9), s.value_dim});
  const auto slopes = optional({s.query_heads});
  const auto sinks = optional({s.query_heads});
  const auto t5_table = optional({choices.integer(0, 40), s.query_heads});
  const auto cu_seqlens = lengths();
  const auto cu_seqlens_k = lengths();
  const auto valid_lens = lengths();
  const auto key_lens = lengths();
  auto mask = attn_test::HostTensor<std::uint8_t>();
  if (choices.one_in(3)) {
    mask =
        attn_test::HostTensor<std::uint8_t>::filled(choose_any_shape(choices, scores), 1, layout);
  }

  attn::AttentionOptions options;
  options.weights = weights.view();
  options.log_sum_exp = log_sum_exp.view();
  options.column_sums = column_sums.view();
  options.bias = bias.view();
  options.mask = mask.view();
  options.relative_keys = relative_keys.view();
  options.relative_values = relative_values.view();
  options.alibi_slopes = slopes.view();
  options.sinks = sinks.view();
  if (!t5_table.view().is_none()) {
    options.t5_bias = attn::T5Bias{t5_table.view(), choices.one_in(2), choices.integer(-5, 300)};
  }
  options.valid_lens = valid_lens.view();
  options.key_lens = key_lens.view();
  options.cu_seqlens = cu_seqlens.view();
  options.cu_seqlens_k = cu_seqlens_k.view();
  options.diagonal = choose_diagonal(choices);
  options.causal = choices.one_in(3);
  if (choices.one_in(8)) options.diagonal = attn::Diagonal::offset(choices.bits<std::int64_t>());
  if (choices.one_in(3)) {
    options.window = attn::Window{choices.bits<std::int64_t>(), choices.bits<std::int64_t>()};
  }
  if (choices.one_in(4)) options.scale = choices.bits<float>();
  if (choices.one_in(4)) options.softcap = choices.bits<float>();
  if (choices.one_in(4)) options.dropout = choices.bits<float>();
  const std::vector<float> before = output.values(), weights_before = weights.values();
  try {
    attn::scaled_dot_product_attention(query.view(), key.view(), value.view(), output.view(),
                                       options, context);
  } catch (const attn::Error&) {
    EXPECT_TRUE(output.values() == before) << "written although the call failed";
    EXPECT_TRUE(weights.values() == weights_before) << "written although the call failed";
  }
  EXPECT_TRUE(output.gaps_are_untouched());
  EXPECT_TRUE(weights.gaps_are_untouched());
  EXPECT_TRUE(log_sum_exp.gaps_are_untouched());
  EXPECT_TRUE(column_sums.gaps_are_untouched());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A failed expectation ends the program, and libFuzzer reports that.
  GTEST_FLAG_SET(throw_on_failure, true);
  Choices choices({data, size});
  const std::int64_t choice = choices.integer(0, 7);
  if (choice % 2 == 1) {
    call_any(choices);
  } else if (choice == 4) {
    call_packed(choices);
  } else if (choice == 6) {
    choices.one_in(4) ? call_merged(choices) : call_stored(choices);
  } else {
    call_right(choices);
  }
  return 0;
}
