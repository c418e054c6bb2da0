// The semantics of the ONNX operators Attention-23, -24 and -25, each attribute and input,
// expressed with attn and compared with the operator as its specification describes it
// (reference/onnx_attention.hpp).
//
// What the opsets say, corrections included:
// - Stages of a score: scale · q·k, softcap, attn_mask and all other exclusion, softmax.
//   qk_matmul_output_mode 0 to 3 returns them in this order. As first published (ONNX 1.18)
//   softcap came after the mask, and modes 1 and 2 were exchanged; ONNX corrected both in 2026, for
//   all opsets, because a softcap after the mask gives masked keys the weight of a score of
//   -softcap.
// - is_causal: query i attends to keys j <= i + offset; offset is the length of past_key, or
//   nonpad_kv_seqlen[b] - Nq where that is given (it may be negative), or 0. For nonpad_kv_seqlen
//   that too is a correction of 2026; before, the offset was 0.
// - Opset 24 adds nonpad_kv_seqlen and masks that are shorter than the keys; opset 25
//   left_window_size and right_window_size: keys with i + offset - left <= j <= i + offset + right,
//   -1 being no bound, with the offset of is_causal, whether or not is_causal is set.
//
// Differences:
// - A fully masked row gives zeros, and zeros in mode 3. That is what ONNX asks for since 2026; its
//   reference implementation gave NaN there.
// - Excluded values are skipped, where ONNX's product makes NaN of 0 * NaN and 0 * infinity.
// - +infinity in attn_mask on a key that something else excludes: excluded, where ONNX adds
//   infinity - infinity = NaN. On an attended key it makes the row NaN in both.
// - Negative scale: applied, where ONNX takes its square root.
// - softmax_precision: see the test of that name. float32 is the only type of tensors.

#include "reference/onnx_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attn/key_value_cache.hpp"
#include "attn/scaled_dot_product_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

namespace {

using attn_test::FloatTensor;
using attn_test::HostTensor;
using attn_test::is_within;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using reference::Array;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Types of ONNX's TensorProto that softmax_precision may name.
enum class Precision : int { kFloat = 1, kFloat16 = 10, kDouble = 11, kBfloat16 = 16 };

/// A node with its inputs, under ONNX's names; a default-made tensor is an input left out.
struct Node {
  bool is_causal = false;
  std::int64_t kv_num_heads = 0;
  std::int64_t q_num_heads = 0;
  int qk_matmul_output_mode = 0;
  std::optional<float> scale = {};
  float softcap = 0;
  std::optional<Precision> softmax_precision = {};
  std::int64_t left_window_size = -1;
  std::int64_t right_window_size = -1;

  attn::ConstTensor q, k, v;
  attn::ConstTensor float_mask;  ///< attn_mask of a float type
  attn::ConstMask bool_mask;     ///< attn_mask of type bool
  attn::ConstTensor past_key, past_value;
  attn::ConstLengths nonpad_kv_seqlen;
};

/// ONNX Attention in terms of attn. `present` holds present_key and present_value afterwards; it is
/// needed with past_key, or when these outputs are.
void onnx_attention(const Node& node, const attn::Tensor& y, const attn::Tensor& qk_matmul_output,
                    attn::KeyValueCache* present, attn::Context& context) {
  // (B, N, H·D) is (B, H, N, D) with other strides.
  const bool merged = node.q.rank() == 3;
  const attn::ConstTensor query = merged ? node.q.split_heads(node.q_num_heads) : node.q;
  attn::ConstTensor key = merged ? node.k.split_heads(node.kv_num_heads) : node.k;
  attn::ConstTensor value = merged ? node.v.split_heads(node.kv_num_heads) : node.v;
  const attn::Tensor output = merged ? y.split_heads(node.q_num_heads) : y;

  const std::int64_t past = node.past_key.empty() ? 0 : node.past_key.size(2);
  if (present) {
    if (past > 0) present->append(node.past_key, node.past_value);
    present->append(key, value);
    key = present->keys();
    value = present->values();
  }

  attn::AttentionOptions options;
  options.scale = node.scale;
  options.softcap = node.softcap;
  options.mask = node.bool_mask;
  options.bias = node.float_mask;

  // ONNX pads a mask that is too short with false or −∞, one of length 1 as well, which broadcasts
  // in attn as any size of 1 does; and one of length 0 leaves nothing.
  std::vector<std::int32_t> mask_lengths;
  const bool masked = !node.bool_mask.empty() || !node.float_mask.empty();
  const std::int64_t mask_length = !node.bool_mask.empty() ? node.bool_mask.size(-1)
                                   : masked                ? node.float_mask.size(-1)
                                                           : 0;
  if (masked && mask_length <= 1 && key.size(2) > mask_length) {
    mask_lengths.assign(static_cast<std::size_t>(query.size(0)),
                        static_cast<std::int32_t>(mask_length));
    options.valid_lens = {mask_lengths.data(), {query.size(0)}};
    if (mask_length == 0) {
      options.mask = {};
      options.bias = {};
    }
  }

  options.key_lens = node.nonpad_kv_seqlen;
  const attn::Diagonal diagonal = !node.nonpad_kv_seqlen.empty() && node.past_key.empty()
                                      ? attn::Diagonal::bottom_right()
                                      : attn::Diagonal::offset(past);
  if (node.is_causal) options.causal = diagonal;
  const auto side = [](std::int64_t size) {
    return size < 0 ? std::nullopt : std::optional<std::int64_t>(size);
  };
  options.window = attn::Window{.left = side(node.left_window_size),
                                .right = side(node.right_window_size),
                                .diagonal = diagonal};

  switch (node.qk_matmul_output_mode) {
    case 0:
      options.scaled_scores = qk_matmul_output;
      break;
    case 1:
      options.capped_scores = qk_matmul_output;
      break;
    case 2:
      options.biased_scores = qk_matmul_output;
      break;
    case 3:
      options.weights = qk_matmul_output;
      break;
  }
  attn::scaled_dot_product_attention(query, key, value, output, options, context);
}

struct Sizes {
  std::int64_t batch = 2;
  std::int64_t q_heads = 3;
  std::int64_t kv_heads = 3;
  std::int64_t queries = 4;
  std::int64_t keys = 6;
  std::int64_t head_size = 8;
  std::int64_t v_head_size = 8;
  std::int64_t past = 0;
};

std::int64_t count(const std::vector<std::int64_t>& shape) {
  std::int64_t result = 1;
  for (const std::int64_t size : shape) result *= size;
  return result;
}

/// A node with memory for its inputs.
struct Problem {
  Sizes sizes;
  Node node;  ///< its attributes; the tensors are set by run()
  int rank = 4;
  Layout layout = Layout::kContiguous;
  std::vector<float> q, k, v, past_key, past_value;
  bool mask_is_boolean = false;
  std::vector<std::int64_t> mask_shape;
  std::vector<float> mask;
  std::vector<std::int32_t> nonpad_kv_seqlen;

  Problem(const Sizes& s, Random& random)
      : sizes(s),
        q(random.normals(s.batch * s.q_heads * s.queries * s.head_size)),
        k(random.normals(s.batch * s.kv_heads * s.keys * s.head_size)),
        v(random.normals(s.batch * s.kv_heads * s.keys * s.v_head_size)),
        past_key(random.normals(s.batch * s.kv_heads * s.past * s.head_size)),
        past_value(random.normals(s.batch * s.kv_heads * s.past * s.v_head_size)) {}

  std::int64_t total_keys() const { return sizes.past + sizes.keys; }
  bool has_mask() const { return !mask_shape.empty(); }
  std::vector<std::int64_t> shape(std::int64_t heads, std::int64_t length, std::int64_t dim) const {
    if (rank == 3) return {sizes.batch, length, heads * dim};
    return {sizes.batch, heads, length, dim};
  }
  std::vector<std::int64_t> q_shape() const {
    return shape(sizes.q_heads, sizes.queries, sizes.head_size);
  }
  std::vector<std::int64_t> k_shape() const {
    return shape(sizes.kv_heads, sizes.keys, sizes.head_size);
  }
  std::vector<std::int64_t> v_shape() const {
    return shape(sizes.kv_heads, sizes.keys, sizes.v_head_size);
  }
  std::vector<std::int64_t> y_shape() const {
    return shape(sizes.q_heads, sizes.queries, sizes.v_head_size);
  }
  std::vector<std::int64_t> past_shape(std::int64_t dim) const {
    return {sizes.batch, sizes.kv_heads, sizes.past, dim};
  }
  std::vector<std::int64_t> score_shape() const {
    return {sizes.batch, sizes.q_heads, sizes.queries, total_keys()};
  }

  /// A mask of normal numbers, or of booleans most of which are true.
  void set_mask(std::vector<std::int64_t> new_shape, bool is_boolean, Random& random) {
    mask_shape = std::move(new_shape);
    mask_is_boolean = is_boolean;
    mask.clear();
    for (std::int64_t i = 0; i < count(mask_shape); ++i) {
      mask.push_back(is_boolean ? (random.chance(0.7) ? 1.0F : 0.0F) : random.normal());
    }
  }

  reference::OnnxAttentionResult expected(int mode) const {
    reference::OnnxAttention p;
    p.q = Array(q_shape(), q);
    p.k = Array(k_shape(), k);
    p.v = Array(v_shape(), v);
    if (has_mask()) p.attn_mask = Array(mask_shape, mask);
    p.attn_mask_is_boolean = mask_is_boolean;
    if (sizes.past > 0) {
      p.past_key = Array(past_shape(sizes.head_size), past_key);
      p.past_value = Array(past_shape(sizes.v_head_size), past_value);
    }
    if (!nonpad_kv_seqlen.empty()) p.nonpad_kv_seqlen = Array({sizes.batch}, nonpad_kv_seqlen);
    p.is_causal = node.is_causal;
    p.q_num_heads = sizes.q_heads;
    p.kv_num_heads = sizes.kv_heads;
    p.qk_matmul_output_mode = mode;
    if (node.scale) p.scale = *node.scale;
    p.softcap = node.softcap;
    p.left_window_size = node.left_window_size;
    p.right_window_size = node.right_window_size;
    return reference::onnx_attention(p);
  }
};

struct Outputs {
  std::vector<float> y, present_key, present_value, qk_matmul_output;
};

std::vector<float> values_of(const attn::ConstTensor& x) {
  std::vector<float> values;
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t h = 0; h < x.size(1); ++h) {
      for (std::int64_t i = 0; i < x.size(2); ++i) {
        for (std::int64_t d = 0; d < x.size(3); ++d) values.push_back(x(b, h, i, d));
      }
    }
  }
  return values;
}

Outputs run(const Problem& p, int mode, attn::Context& context) {
  Node node = p.node;
  node.qk_matmul_output_mode = mode;
  node.q_num_heads = p.sizes.q_heads;
  node.kv_num_heads = p.sizes.kv_heads;
  const FloatTensor q(p.q_shape(), p.q, p.layout), k(p.k_shape(), p.k, p.layout),
      v(p.v_shape(), p.v, p.layout);
  node.q = q.view();
  node.k = k.view();
  node.v = v.view();
  FloatTensor past_key, past_value, float_mask;
  if (p.sizes.past > 0) {
    past_key = FloatTensor(p.past_shape(p.sizes.head_size), p.past_key, p.layout);
    past_value = FloatTensor(p.past_shape(p.sizes.v_head_size), p.past_value, p.layout);
  }
  node.past_key = std::as_const(past_key).view();
  node.past_value = std::as_const(past_value).view();
  HostTensor<std::uint8_t> bool_mask;
  if (p.has_mask() && p.mask_is_boolean) {
    bool_mask = {p.mask_shape, std::vector<std::uint8_t>(p.mask.begin(), p.mask.end()), p.layout};
  } else if (p.has_mask()) {
    float_mask = FloatTensor(p.mask_shape, p.mask, p.layout);
  }
  node.bool_mask = std::as_const(bool_mask).view();
  node.float_mask = std::as_const(float_mask).view();
  HostTensor<std::int32_t> lengths;
  if (!p.nonpad_kv_seqlen.empty()) lengths = {{p.sizes.batch}, p.nonpad_kv_seqlen, p.layout};
  node.nonpad_kv_seqlen = std::as_const(lengths).view();

  FloatTensor y = FloatTensor::filled(p.y_shape(), -12345.0F, p.layout);
  FloatTensor qk = FloatTensor::filled(p.score_shape(), -12345.0F, p.layout);
  attn::KeyValueCache present(p.sizes.batch, p.sizes.kv_heads, p.sizes.head_size,
                              p.sizes.v_head_size);
  onnx_attention(node, y.view(), qk.view(), &present, context);
  return {y.values(), values_of(present.keys()), values_of(present.values()), qk.values()};
}

/// Compares all outputs in all modes, within what the header of attention states.
void expect_matches_onnx(const Problem& p, attn::Context& context) {
  float largest_value = 0;
  for (const float x : p.v) largest_value = std::max(largest_value, std::abs(x));
  for (const float x : p.past_value) largest_value = std::max(largest_value, std::abs(x));
  std::vector<float> first_y;
  for (int mode = 0; mode <= 3; ++mode) {
    SCOPED_TRACE("qk_matmul_output_mode " + std::to_string(mode));
    const Outputs got = run(p, mode, context);
    const reference::OnnxAttentionResult exact = p.expected(mode);
    const double root =
        std::sqrt(static_cast<double>(p.sizes.head_size)) * std::max(1.0, exact.largest_score / 20);
    EXPECT_TRUE(is_within(got.y, exact.y, 2.5e-6 * root * largest_value)) << "y";
    EXPECT_TRUE(is_within(got.present_key, exact.present_key, 0)) << "present_key";
    EXPECT_TRUE(is_within(got.present_value, exact.present_value, 0)) << "present_value";
    const Array weight_error(exact.qk_matmul_output.shape, 1.3e-6 * root);
    EXPECT_TRUE(is_within(got.qk_matmul_output, exact.qk_matmul_output,
                          mode == 3 ? weight_error : exact.score_error))
        << "qk_matmul_output";
    if (mode == 0) first_y = got.y;
    EXPECT_TRUE(same_bits(got.y, first_y)) << "another mode changes y";
  }
}

using OnnxAttentionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(OnnxAttentionTest);

// ---- Inputs and heads

TEST_P(OnnxAttentionTest, q_k_and_v_of_rank_4_at_awkward_sizes) {
  Random random;
  for (const std::int64_t queries : {1, 2, 7, 13, 33}) {
    for (const std::int64_t keys : {1, 2, 17, 31, 65, 257}) {
      SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(keys) + " keys");
      expect_matches_onnx(Problem({.q_heads = 2,
                                   .kv_heads = 2,
                                   .queries = queries,
                                   .keys = keys,
                                   .head_size = 5,
                                   .v_head_size = 5},
                                  random),
                          context());
    }
  }
}

TEST_P(OnnxAttentionTest, present_outputs_may_be_left_out) {
  Random random;
  const Problem p({}, random);
  Node node;
  node.q = {p.q.data(), p.q_shape()};
  node.k = {p.k.data(), p.k_shape()};
  node.v = {p.v.data(), p.v_shape()};
  std::vector<float> y(p.q.size());
  onnx_attention(node, {y.data(), p.y_shape()}, {}, nullptr, context());
  EXPECT_TRUE(same_bits(y, run(p, 0, context()).y));
}

TEST_P(OnnxAttentionTest, inputs_of_rank_3_with_q_num_heads_and_kv_num_heads) {
  Random random;
  for (const std::int64_t kv_heads : {1, 2, 6}) {
    Problem p({.q_heads = 6,
               .kv_heads = kv_heads,
               .queries = 5,
               .keys = 9,
               .head_size = 7,
               .v_head_size = 3,
               .past = 4},
              random);
    p.rank = 3;
    SCOPED_TRACE("kv_num_heads " + std::to_string(kv_heads));
    expect_matches_onnx(p, context());
    p.node.is_causal = true;
    p.set_mask({5, 13}, true, random);
    expect_matches_onnx(p, context());
  }
}

TEST_P(OnnxAttentionTest, grouped_and_multi_query_heads) {
  Random random;
  for (const std::int64_t kv_heads : {1, 3, 9}) {
    SCOPED_TRACE("kv heads " + std::to_string(kv_heads));
    expect_matches_onnx(Problem({.q_heads = 9, .kv_heads = kv_heads}, random), context());
  }
}

TEST_P(OnnxAttentionTest, values_may_have_a_head_size_of_their_own) {
  Random random;
  for (const std::int64_t v_head_size : {1, 10, 17, 40}) {
    SCOPED_TRACE(v_head_size);
    expect_matches_onnx(Problem({.head_size = 16, .v_head_size = v_head_size}, random), context());
  }
}

// ---- Attributes

TEST_P(OnnxAttentionTest, scale_is_a_factor_on_the_scores) {
  Random random;
  for (const float scale : {0.01F, 0.25F, 1.0F, 2.0F}) {
    Problem p({}, random);
    p.node.scale = scale;
    SCOPED_TRACE(scale);
    expect_matches_onnx(p, context());
  }
}

TEST_P(OnnxAttentionTest, softcap_comes_before_the_mask) {
  Random random;
  for (const float softcap : {0.5F, 2.0F, 50.0F}) {
    for (const bool is_boolean : {false, true}) {
      Problem p({.queries = 9, .keys = 33}, random);
      p.node.softcap = softcap;
      p.set_mask({9, 33}, is_boolean, random);
      SCOPED_TRACE(softcap);
      expect_matches_onnx(p, context());
    }
  }
}

// Without softcap stage 1 is stage 0, and without mask stage 2 is stage 1.
TEST_P(OnnxAttentionTest, qk_matmul_output_mode_gives_the_stages_in_order) {
  Random random;
  Problem p({.queries = 5, .keys = 37}, random);
  EXPECT_TRUE(
      same_bits(run(p, 0, context()).qk_matmul_output, run(p, 2, context()).qk_matmul_output));
  p.node.softcap = 1.5F;
  const std::vector<float> scaled = run(p, 0, context()).qk_matmul_output;
  const std::vector<float> capped = run(p, 1, context()).qk_matmul_output;
  EXPECT_TRUE(same_bits(capped, run(p, 2, context()).qk_matmul_output));
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    ASSERT_NEAR(capped[i], 1.5 * std::tanh(scaled[i] / 1.5), 1e-6);
  }
  p.set_mask({5, 37}, false, random);
  const std::vector<float> biased = run(p, 2, context()).qk_matmul_output;
  for (std::size_t i = 0; i < biased.size(); ++i) {
    ASSERT_NEAR(biased[i], capped[i] + p.mask[i % p.mask.size()], 1e-6);
  }
  // Stages 0 and 1 know nothing of masks: they hold the scores of excluded keys too.
  p.node.is_causal = true;
  EXPECT_TRUE(same_bits(run(p, 0, context()).qk_matmul_output, scaled));
  EXPECT_TRUE(same_bits(run(p, 1, context()).qk_matmul_output, capped));
  expect_matches_onnx(p, context());
}

// softmax_precision is the type that scores are cast to before the softmax, whose weights are cast
// back to the type of q. attn's softmax is in float32, as is its every tensor: FLOAT is what it
// does. DOUBLE cannot bring back what the float32 scores have lost, and its result is cast to
// float32 again: attn's stays within its bounds of a softmax in double precision. FLOAT16 and
// BFLOAT16 ask for less than attn gives: a softmax in them is farther from the exact one.
TEST_P(OnnxAttentionTest, softmax_precision_asks_for_no_more_than_float32_gives) {
  Random random;
  Problem p({.queries = 20, .keys = 100, .head_size = 16}, random);
  reference::OnnxAttention node;
  node.q = Array(p.q_shape(), p.q);
  node.k = Array(p.k_shape(), p.k);
  node.v = Array(p.v_shape(), p.v);
  node.q_num_heads = node.kv_num_heads = 3;
  node.qk_matmul_output_mode = 3;
  const Array exact = reference::onnx_attention(node).qk_matmul_output;
  const auto error_of = [&](const auto& weights) {
    double largest = 0;
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
      largest = std::max(largest, std::abs(weights[i] - exact.values[i]));
    }
    return largest;
  };
  for (const auto& [precision, digits] :
       {std::pair{Precision::kDouble, 53}, std::pair{Precision::kFloat, 24},
        std::pair{Precision::kFloat16, 11}, std::pair{Precision::kBfloat16, 8}}) {
    p.node.softmax_precision = precision;
    expect_matches_onnx(p, context());
    if (digits > 11) continue;
    node.softmax_digits = digits;
    EXPECT_LT(error_of(run(p, 3, context()).qk_matmul_output),
              error_of(reference::onnx_attention(node).qk_matmul_output.values) / 100);
  }
}

TEST_P(OnnxAttentionTest, is_causal_without_a_cache_starts_at_the_top_left) {
  Random random;
  for (const auto& [queries, keys] :
       {std::pair{4, 6}, std::pair{6, 4}, std::pair{1, 5}, std::pair{17, 17}, std::pair{50, 70}}) {
    Problem p({.queries = queries, .keys = keys}, random);
    p.node.is_causal = true;
    SCOPED_TRACE(std::to_string(queries) + " × " + std::to_string(keys));
    expect_matches_onnx(p, context());
    p.set_mask({queries, keys}, true, random);
    expect_matches_onnx(p, context());
  }
}

// ---- attn_mask

TEST_P(OnnxAttentionTest, masks_of_every_rank_boolean_and_float) {
  Random random;
  // Rank 3 is (q_num_heads, Nq, total): ranks align from the right.
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{18},
                                              {4, 18},
                                              {1, 18},
                                              {3, 4, 18},
                                              {1, 4, 18},
                                              {3, 1, 18},
                                              {2, 3, 4, 18},
                                              {2, 1, 4, 18},
                                              {1, 3, 1, 18},
                                              {2, 1, 1, 18},
                                              {1, 1, 1, 18}}) {
    for (const bool is_boolean : {false, true}) {
      Problem p({.past = 12}, random);
      p.set_mask(shape, is_boolean, random);
      SCOPED_TRACE(::testing::PrintToString(shape) + (is_boolean ? " bool" : " float"));
      expect_matches_onnx(p, context());
      p.node.is_causal = true;
      expect_matches_onnx(p, context());
    }
  }
}

TEST_P(OnnxAttentionTest, a_mask_of_rank_3_tells_heads_apart_and_not_batch_entries) {
  Random random;
  Problem p({.batch = 3, .q_heads = 3, .queries = 4, .keys = 6}, random);
  p.set_mask({3, 4, 6}, true, random);
  std::fill_n(p.mask.begin() + 24, 24, 0.0F);  // head 1 sees nothing
  const std::vector<float> weights = run(p, 3, context()).qk_matmul_output;
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t i = 0; i < 24; ++i) {
      EXPECT_EQ(weights[(b * 3 + 1) * 24 + i], 0.0F);
      EXPECT_EQ(weights[b * 72 + i] == 0, weights[i] == 0);
    }
  }
  expect_matches_onnx(p, context());
}

TEST_P(OnnxAttentionTest, keys_beyond_a_shorter_mask_are_excluded) {
  Random random;
  for (const std::int64_t length : {0, 1, 2, 5, 17, 18}) {
    for (const bool is_boolean : {false, true}) {
      for (const std::vector<std::int64_t>& leading :
           std::vector<std::vector<std::int64_t>>{{}, {4}, {3, 4}, {2, 3, 4}, {2, 1, 1}}) {
        std::vector<std::int64_t> shape = leading;
        shape.push_back(length);
        Problem p({.past = 12}, random);
        p.set_mask(shape, is_boolean, random);
        SCOPED_TRACE(::testing::PrintToString(shape) + (is_boolean ? " bool" : " float"));
        expect_matches_onnx(p, context());
      }
    }
  }
  // With a single key there is nothing to pad.
  Problem p({.keys = 1}, random);
  p.set_mask({4, 1}, true, random);
  expect_matches_onnx(p, context());
}

// ---- Caches

TEST_P(OnnxAttentionTest, past_and_present) {
  Random random;
  for (const std::int64_t past : {1, 12, 260}) {
    for (const std::int64_t queries : {1, 4, 9}) {
      for (const bool is_causal : {false, true}) {
        Problem p({.q_heads = 4,
                   .kv_heads = 2,
                   .queries = queries,
                   .keys = queries,
                   .head_size = 6,
                   .v_head_size = 10,
                   .past = past},
                  random);
        p.node.is_causal = is_causal;
        SCOPED_TRACE("past " + std::to_string(past) + ", new " + std::to_string(queries));
        expect_matches_onnx(p, context());
        p.set_mask({queries, past + queries}, false, random);
        expect_matches_onnx(p, context());
      }
    }
  }
}

TEST_P(OnnxAttentionTest, nonpad_kv_seqlen_bounds_the_keys_of_each_batch_entry) {
  Random random;
  Problem p({.batch = 5, .queries = 4, .keys = 40}, random);
  p.nonpad_kv_seqlen = {40, 0, 1, 17, 39};
  expect_matches_onnx(p, context());
  p.set_mask({5, 1, 4, 40}, true, random);
  expect_matches_onnx(p, context());
  p.set_mask({4, 20}, false, random);
  expect_matches_onnx(p, context());
}

// The offset nonpad_kv_seqlen[b] − Nq is negative where there are fewer keys than queries: the
// first queries then see nothing.
TEST_P(OnnxAttentionTest, is_causal_with_nonpad_kv_seqlen_ends_at_the_last_key) {
  Random random;
  for (const std::int64_t queries : {1, 4, 16, 33}) {
    Problem p({.batch = 6, .queries = queries, .keys = 40}, random);
    p.nonpad_kv_seqlen = {40, 0, 1, 3, 15, 33};
    p.node.is_causal = true;
    SCOPED_TRACE(std::to_string(queries) + " queries");
    expect_matches_onnx(p, context());
    p.set_mask({queries, 40}, true, random);
    expect_matches_onnx(p, context());
  }
  Problem p({.batch = 1, .q_heads = 1, .kv_heads = 1, .queries = 5, .keys = 8}, random);
  p.nonpad_kv_seqlen = {2};
  p.node.is_causal = true;
  const std::vector<float> weights = run(p, 3, context()).qk_matmul_output;
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(weights[i * 8 + j] != 0, j + 3 <= i) << i << ", " << j;
    }
  }
}

// ---- Opset 25

TEST_P(OnnxAttentionTest, windows_to_either_side_or_both) {
  Random random;
  for (const std::int64_t left : {-1, 0, 2, 100}) {
    for (const std::int64_t right : {-1, 0, 3}) {
      for (const bool is_causal : {false, true}) {
        SCOPED_TRACE("left " + std::to_string(left) + ", right " + std::to_string(right));
        Problem p({.queries = 20, .keys = 24}, random);
        p.node.is_causal = is_causal;
        p.node.left_window_size = left;
        p.node.right_window_size = right;
        expect_matches_onnx(p, context());

        Problem cached({.queries = 5, .keys = 5, .past = 13}, random);
        cached.node = p.node;
        expect_matches_onnx(cached, context());

        Problem padded({.batch = 4, .queries = 9, .keys = 24}, random);
        padded.node = p.node;
        padded.nonpad_kv_seqlen = {24, 5, 0, 12};
        expect_matches_onnx(padded, context());
      }
    }
  }
}

TEST_P(OnnxAttentionTest, left_window_size_counts_the_keys_before_the_current_one) {
  Random random;
  Problem p({.batch = 1, .q_heads = 1, .kv_heads = 1, .queries = 1, .keys = 1, .past = 9}, random);
  p.node.left_window_size = 2;
  const std::vector<float> weights = run(p, 3, context()).qk_matmul_output;
  EXPECT_EQ(std::count(weights.begin(), weights.end(), 0.0F), 7);
  for (std::size_t j = 7; j < 10; ++j) EXPECT_GT(weights[j], 0) << j;
}

// ---- Corners

TEST_P(OnnxAttentionTest, fully_masked_rows_in_every_stage) {
  Random random;
  for (const bool is_boolean : {false, true}) {
    for (const float softcap : {0.0F, 3.0F}) {
      Problem p({.queries = 5, .keys = 19}, random);
      p.node.softcap = softcap;
      p.set_mask({5, 19}, is_boolean, random);
      for (const std::ptrdiff_t row : {0, 3}) {
        std::fill_n(p.mask.begin() + row * 19, 19, is_boolean ? 0.0F : -kInfinity);
      }
      expect_matches_onnx(p, context());
      const Outputs scaled = run(p, 0, context()), capped = run(p, 1, context()),
                    biased = run(p, 2, context()), weights = run(p, 3, context());
      for (std::size_t head = 0; head < 6; ++head) {
        for (const std::size_t row : {0U, 3U}) {
          for (std::size_t j = 0; j < 19; ++j) {
            const std::size_t at = (head * 5 + row) * 19 + j;
            EXPECT_TRUE(std::isfinite(scaled.qk_matmul_output[at]));
            EXPECT_TRUE(std::isfinite(capped.qk_matmul_output[at]));
            EXPECT_EQ(biased.qk_matmul_output[at], -kInfinity);
            EXPECT_EQ(weights.qk_matmul_output[at], 0.0F);
          }
          for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(weights.y[(head * 5 + row) * 8 + c], 0.0F);
        }
      }
    }
  }
}

TEST_P(OnnxAttentionTest, minus_infinity_in_a_float_mask_excludes_in_spite_of_softcap) {
  Random random;
  Problem p({.queries = 7, .keys = 40}, random);
  p.node.softcap = 2.0F;
  p.set_mask({7, 40}, false, random);
  for (std::size_t i = 0; i < p.mask.size(); i += 3) p.mask[i] = -kInfinity;
  expect_matches_onnx(p, context());
  // Values that would show the least weight.
  for (std::size_t j = 0; j < 40; j += 4) {
    for (std::size_t i = 0; i < 7; ++i) p.mask[i * 40 + j] = -kInfinity;
    for (std::size_t head = 0; head < 6; ++head) {
      std::fill_n(p.v.begin() + static_cast<std::ptrdiff_t>((head * 40 + j) * 8), 8, 1e30F);
    }
  }
  for (const float y : run(p, 0, context()).y) ASSERT_LT(std::abs(y), 10.0F);
}

// Where infinity is not at hand, exporters write the lowest float.
TEST_P(OnnxAttentionTest, the_lowest_float_in_a_mask_leaves_no_weight) {
  Random random;
  Problem p({.queries = 3, .keys = 10}, random);
  p.node.softcap = 2.0F;
  p.set_mask({3, 10}, false, random);
  for (std::size_t i = 0; i < 30; i += 2) p.mask[i] = -std::numeric_limits<float>::max();
  const Outputs got = run(p, 3, context());
  const Array exact = p.expected(3).qk_matmul_output;
  EXPECT_TRUE(is_within(got.qk_matmul_output, exact, 1e-6));
  for (std::size_t i = 0; i < got.qk_matmul_output.size(); i += 2) {
    ASSERT_EQ(got.qk_matmul_output[i], 0.0F) << i;
  }
}

// Finite as they are, such numbers exclude nothing: in a row of nothing else all keys are equal, as
// float32 cannot tell the lowest number plus a score from the lowest number.
TEST_P(OnnxAttentionTest, a_row_of_the_lowest_float_attends_to_all) {
  Random random;
  for (const std::int64_t queries : {1, 3, 60}) {
    Problem p({.queries = queries, .keys = 10}, random);
    p.set_mask({queries, 10}, false, random);
    std::fill_n(p.mask.end() - 10, 10, -std::numeric_limits<float>::max());
    const Outputs got = run(p, 3, context());
    for (std::size_t head = 0; head < 6; ++head) {
      const std::size_t last = (head + 1) * static_cast<std::size_t>(queries) - 1;
      for (std::size_t j = 0; j < 10; ++j) {
        ASSERT_NEAR(got.qk_matmul_output[last * 10 + j], 0.1, 1e-7) << head << ", " << j;
      }
      for (std::size_t c = 0; c < 8; ++c) {
        double mean = 0;
        for (std::size_t j = 0; j < 10; ++j) mean += p.v[(head * 10 + j) * 8 + c] / 10.0;
        ASSERT_NEAR(got.y[last * 8 + c], mean, 1e-6) << head << ", " << c;
      }
    }
  }
}

TEST_P(OnnxAttentionTest, plus_infinity_in_a_float_mask_makes_its_row_nan) {
  Random random;
  for (const float softcap : {0.0F, 2.0F}) {
    Problem p({.queries = 4, .keys = 12}, random);
    p.node.softcap = softcap;
    p.set_mask({4, 12}, false, random);
    p.mask[1 * 12 + 5] = kInfinity;
    const Outputs got = run(p, 2, context());
    const Array exact = p.expected(2).y;
    for (std::size_t i = 0; i < got.y.size(); ++i) {
      ASSERT_EQ(std::isnan(got.y[i]), i / 8 % 4 == 1) << i;
      ASSERT_EQ(std::isnan(exact.values[i]), i / 8 % 4 == 1) << i;
    }
    for (std::size_t head = 0; head < 6; ++head) {
      EXPECT_EQ(got.qk_matmul_output[(head * 4 + 1) * 12 + 5], kInfinity);
    }
    // Excluded by something else, it is excluded.
    p.node.is_causal = true;
    EXPECT_THAT(run(p, 2, context()).y,
                ::testing::Each(::testing::Truly([](float y) { return std::isfinite(y); })));
  }
}

TEST_P(OnnxAttentionTest, what_is_not_finite_in_padding_has_no_effect) {
  Random random;
  Problem p({.batch = 2, .queries = 4, .keys = 20}, random);
  p.node.softcap = 2.0F;
  p.node.is_causal = true;
  p.nonpad_kv_seqlen = {11, 3};
  const std::vector<float> clean = run(p, 0, context()).y;
  for (const float poison : {kNaN, kInfinity, -kInfinity, 1e30F}) {
    for (std::size_t head = 0; head < 6; ++head) {
      for (std::size_t j = head < 3 ? 11 : 3; j < 20; ++j) {
        std::fill_n(p.k.begin() + static_cast<std::ptrdiff_t>((head * 20 + j) * 8), 8, poison);
        std::fill_n(p.v.begin() + static_cast<std::ptrdiff_t>((head * 20 + j) * 8), 8, poison);
      }
    }
    EXPECT_TRUE(same_bits(run(p, 0, context()).y, clean)) << poison;
  }
}

// ---- All together

TEST_P(OnnxAttentionTest, attributes_and_inputs_compose) {
  Random random;
  const std::vector<std::int64_t> lengths{1, 2, 5, 7, 13, 16, 17, 31, 48, 49};
  const std::vector<std::int64_t> widths{1, 3, 8, 16, 17, 20};
  const auto pick = [&](const std::vector<std::int64_t>& from) {
    return from[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(from.size()) - 1))];
  };
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const std::int64_t kv_heads = random.integer(1, 3);
    const bool external_cache = random.chance(0.3);
    Problem p({.batch = random.integer(1, 3),
               .q_heads = kv_heads * random.integer(1, 3),
               .kv_heads = kv_heads,
               .queries = pick(lengths),
               .keys = pick(lengths),
               .head_size = pick(widths),
               .v_head_size = pick(widths),
               .past = !external_cache && random.chance(0.5) ? random.integer(1, 30) : 0},
              random);
    std::string trace = "round " + std::to_string(round) + ": scores " +
                        ::testing::PrintToString(p.score_shape()) + ", past " +
                        std::to_string(p.sizes.past);
    p.rank = random.chance(0.5) ? 3 : 4;
    p.layout = static_cast<Layout>(random.integer(0, 4));
    p.node.is_causal = random.chance(0.5);
    if (random.chance(0.5)) p.node.scale = random.uniform(0.05F, 0.6F);
    if (random.chance(0.5)) p.node.softcap = random.uniform(0.5F, 20.0F);
    if (random.chance(0.4)) p.node.left_window_size = random.integer(0, 20);
    if (random.chance(0.4)) p.node.right_window_size = random.integer(0, 20);
    if (external_cache) {
      for (std::int64_t b = 0; b < p.sizes.batch; ++b) {
        p.nonpad_kv_seqlen.push_back(static_cast<std::int32_t>(random.integer(0, p.sizes.keys)));
      }
      trace += ", nonpad_kv_seqlen " + ::testing::PrintToString(p.nonpad_kv_seqlen);
    }
    if (random.chance(0.7)) {
      std::vector<std::int64_t> shape = p.score_shape();
      for (std::size_t i = 0; i < 3; ++i) {
        if (random.chance(0.4)) shape[i] = 1;
      }
      if (random.chance(0.4)) shape[3] = random.integer(1, shape[3]);
      shape.erase(shape.begin(), shape.begin() + random.integer(0, 3));
      p.set_mask(shape, random.chance(0.5), random);
      if (!p.mask_is_boolean) {
        for (float& x : p.mask) {
          if (random.chance(0.1)) x = -kInfinity;
        }
      }
      trace += ", mask " + ::testing::PrintToString(shape) + (p.mask_is_boolean ? " bool" : "");
    }
    SCOPED_TRACE(trace + ", rank " + std::to_string(p.rank) + ", layout " +
                 std::to_string(static_cast<int>(p.layout)));
    expect_matches_onnx(p, context());
  }
}

}  // namespace
