// Tests every attribute and input of the ONNX operator Attention; see onnx_attention_problem.hpp.

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

#include "attention/onnx_attention_problem.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

namespace {

using attn_test::expect_matches_onnx;
using attn_test::FloatTensor;
using attn_test::is_within;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::onnx_attention;
using attn_test::OnnxNode;
using attn_test::OnnxOutputs;
using attn_test::OnnxPrecision;
using attn_test::OnnxProblem;
using attn_test::OnnxSizes;
using attn_test::Random;
using attn_test::run;
using attn_test::same_bits;
using reference::Array;

using OnnxAttentionTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(OnnxAttentionTest);

// ---- Inputs and heads

TEST_P(OnnxAttentionTest, q_k_and_v_of_rank_4_at_awkward_sizes) {
  Random random;
  for (const std::int64_t queries : {1, 2, 7, 13, 33}) {
    for (const std::int64_t keys : {1, 2, 17, 31, 65, 257}) {
      SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(keys) + " keys");
      expect_matches_onnx(OnnxProblem({.q_heads = 2,
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
  const OnnxProblem p({}, random);
  OnnxNode node;
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
    OnnxProblem p({.q_heads = 6,
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
    expect_matches_onnx(OnnxProblem({.q_heads = 9, .kv_heads = kv_heads}, random), context());
  }
}

TEST_P(OnnxAttentionTest, values_may_have_a_different_head_size) {
  Random random;
  for (const std::int64_t v_head_size : {1, 10, 17, 40}) {
    SCOPED_TRACE(v_head_size);
    expect_matches_onnx(OnnxProblem({.head_size = 16, .v_head_size = v_head_size}, random),
                        context());
  }
}

// ---- Attributes

TEST_P(OnnxAttentionTest, scale_is_a_factor_on_the_scores) {
  Random random;
  for (const float scale : {0.01F, 0.25F, 1.0F, 2.0F}) {
    OnnxProblem p({}, random);
    p.node.scale = scale;
    SCOPED_TRACE(scale);
    expect_matches_onnx(p, context());
  }
}

TEST_P(OnnxAttentionTest, softcap_comes_before_the_mask) {
  Random random;
  for (const float softcap : {0.5F, 2.0F, 50.0F}) {
    for (const bool is_boolean : {false, true}) {
      OnnxProblem p({.queries = 9, .keys = 33}, random);
      p.node.softcap = softcap;
      p.set_mask({9, 33}, is_boolean, random);
      SCOPED_TRACE(softcap);
      expect_matches_onnx(p, context());
    }
  }
}

// Without softcap, stage 1 equals stage 0. Without a mask, stage 2 equals stage 1.
TEST_P(OnnxAttentionTest, qk_matmul_output_mode_gives_the_stages_in_order) {
  Random random;
  OnnxProblem p({.queries = 5, .keys = 37}, random);
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
  // Stages 0 and 1 come before masking, so they include the scores of excluded keys.
  p.node.is_causal = true;
  EXPECT_TRUE(same_bits(run(p, 0, context()).qk_matmul_output, scaled));
  EXPECT_TRUE(same_bits(run(p, 1, context()).qk_matmul_output, capped));
  expect_matches_onnx(p, context());
}

// Before the softmax, scores are cast to the type softmax_precision. The weights are cast back to
// the type of q afterwards. attn's softmax and tensors are float32, which is FLOAT. DOUBLE cannot
// restore digits that the float32 scores have lost, and its result is cast to float32 again, so
// attn's float32 softmax stays within its error bounds compared with a softmax in double precision.
// FLOAT16 and BFLOAT16 require less precision than attn provides: a softmax in these types has
// larger errors.
TEST_P(OnnxAttentionTest, softmax_precision_requires_no_more_than_float32) {
  Random random;
  OnnxProblem p({.queries = 20, .keys = 100, .head_size = 16}, random);
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
       {std::pair{OnnxPrecision::kDouble, 53}, std::pair{OnnxPrecision::kFloat, 24},
        std::pair{OnnxPrecision::kFloat16, 11}, std::pair{OnnxPrecision::kBfloat16, 8}}) {
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
    OnnxProblem p({.queries = queries, .keys = keys}, random);
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
  // A mask of rank 3 has shape (q_num_heads, Nq, total), because dimensions align from the right.
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
      OnnxProblem p({.past = 12}, random);
      p.set_mask(shape, is_boolean, random);
      SCOPED_TRACE(::testing::PrintToString(shape) + (is_boolean ? " bool" : " float"));
      expect_matches_onnx(p, context());
      p.node.is_causal = true;
      expect_matches_onnx(p, context());
    }
  }
}

TEST_P(OnnxAttentionTest, a_mask_of_rank_3_differs_by_head_and_not_by_batch_entry) {
  Random random;
  OnnxProblem p({.batch = 3, .q_heads = 3, .queries = 4, .keys = 6}, random);
  p.set_mask({3, 4, 6}, true, random);
  std::fill_n(p.mask.begin() + 24, 24, 0.0F);  // head 1 attends to nothing
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
        OnnxProblem p({.past = 12}, random);
        p.set_mask(shape, is_boolean, random);
        SCOPED_TRACE(::testing::PrintToString(shape) + (is_boolean ? " bool" : " float"));
        expect_matches_onnx(p, context());
      }
    }
  }
  // With a single key there is nothing to pad.
  OnnxProblem p({.keys = 1}, random);
  p.set_mask({4, 1}, true, random);
  expect_matches_onnx(p, context());
}

// ---- Caches

TEST_P(OnnxAttentionTest, past_and_present) {
  Random random;
  for (const std::int64_t past : {1, 12, 260}) {
    for (const std::int64_t queries : {1, 4, 9}) {
      for (const bool is_causal : {false, true}) {
        OnnxProblem p({.q_heads = 4,
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
  OnnxProblem p({.batch = 5, .queries = 4, .keys = 40}, random);
  p.nonpad_kv_seqlen = {40, 0, 1, 17, 39};
  expect_matches_onnx(p, context());
  p.set_mask({5, 1, 4, 40}, true, random);
  expect_matches_onnx(p, context());
  p.set_mask({4, 20}, false, random);
  expect_matches_onnx(p, context());
}

// If there are fewer keys than queries, the offset nonpad_kv_seqlen[b] − Nq is negative, and the
// first queries attend to nothing.
TEST_P(OnnxAttentionTest, is_causal_with_nonpad_kv_seqlen_ends_at_the_last_key) {
  Random random;
  for (const std::int64_t queries : {1, 4, 16, 33}) {
    OnnxProblem p({.batch = 6, .queries = queries, .keys = 40}, random);
    p.nonpad_kv_seqlen = {40, 0, 1, 3, 15, 33};
    p.node.is_causal = true;
    SCOPED_TRACE(std::to_string(queries) + " queries");
    expect_matches_onnx(p, context());
    p.set_mask({queries, 40}, true, random);
    expect_matches_onnx(p, context());
  }
  OnnxProblem p({.batch = 1, .q_heads = 1, .kv_heads = 1, .queries = 5, .keys = 8}, random);
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
        OnnxProblem p({.queries = 20, .keys = 24}, random);
        p.node.is_causal = is_causal;
        p.node.left_window_size = left;
        p.node.right_window_size = right;
        expect_matches_onnx(p, context());

        OnnxProblem cached({.queries = 5, .keys = 5, .past = 13}, random);
        cached.node = p.node;
        expect_matches_onnx(cached, context());

        OnnxProblem padded({.batch = 4, .queries = 9, .keys = 24}, random);
        padded.node = p.node;
        padded.nonpad_kv_seqlen = {24, 5, 0, 12};
        expect_matches_onnx(padded, context());
      }
    }
  }
}

TEST_P(OnnxAttentionTest, left_window_size_counts_the_keys_before_the_current_one) {
  Random random;
  OnnxProblem p({.batch = 1, .q_heads = 1, .kv_heads = 1, .queries = 1, .keys = 1, .past = 9},
                random);
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
      OnnxProblem p({.queries = 5, .keys = 19}, random);
      p.node.softcap = softcap;
      p.set_mask({5, 19}, is_boolean, random);
      for (const std::ptrdiff_t row : {0, 3}) {
        std::fill_n(p.mask.begin() + row * 19, 19, is_boolean ? 0.0F : -kInfinity);
      }
      expect_matches_onnx(p, context());
      const OnnxOutputs scaled = run(p, 0, context()), capped = run(p, 1, context()),
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

TEST_P(OnnxAttentionTest, minus_infinity_in_a_float_mask_excludes_despite_softcap) {
  Random random;
  OnnxProblem p({.queries = 7, .keys = 40}, random);
  p.node.softcap = 2.0F;
  p.set_mask({7, 40}, false, random);
  for (std::size_t i = 0; i < p.mask.size(); i += 3) p.mask[i] = -kInfinity;
  expect_matches_onnx(p, context());
  // The values of masked keys are so large that even the smallest weight would show in the output.
  for (std::size_t j = 0; j < 40; j += 4) {
    for (std::size_t i = 0; i < 7; ++i) p.mask[i * 40 + j] = -kInfinity;
    for (std::size_t head = 0; head < 6; ++head) {
      std::fill_n(p.v.begin() + static_cast<std::ptrdiff_t>((head * 40 + j) * 8), 8, 1e30F);
    }
  }
  for (const float y : run(p, 0, context()).y) ASSERT_LT(std::abs(y), 10.0F);
}

// Exporters that cannot write an infinity write the lowest float into masks instead.
TEST_P(OnnxAttentionTest, the_lowest_float_in_a_mask_leaves_no_weight) {
  Random random;
  OnnxProblem p({.queries = 3, .keys = 10}, random);
  p.node.softcap = 2.0F;
  p.set_mask({3, 10}, false, random);
  for (std::size_t i = 0; i < 30; i += 2) p.mask[i] = -std::numeric_limits<float>::max();
  const OnnxOutputs got = run(p, 3, context());
  const Array exact = p.expected(3).qk_matmul_output;
  EXPECT_TRUE(is_within(got.qk_matmul_output, exact, 1e-6));
  for (std::size_t i = 0; i < got.qk_matmul_output.size(); i += 2) {
    ASSERT_EQ(got.qk_matmul_output[i], 0.0F) << i;
  }
}

// The lowest float is finite, so it excludes nothing. If it fills a row of the mask, all keys have
// equal scores, because in float32 the lowest float plus a score equals the lowest float.
TEST_P(OnnxAttentionTest, a_row_of_the_lowest_float_attends_to_all) {
  Random random;
  for (const std::int64_t queries : {1, 3, 60}) {
    OnnxProblem p({.queries = queries, .keys = 10}, random);
    p.set_mask({queries, 10}, false, random);
    std::fill_n(p.mask.end() - 10, 10, -std::numeric_limits<float>::max());
    const OnnxOutputs got = run(p, 3, context());
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
    OnnxProblem p({.queries = 4, .keys = 12}, random);
    p.node.softcap = softcap;
    p.set_mask({4, 12}, false, random);
    p.mask[1 * 12 + 5] = kInfinity;
    const OnnxOutputs got = run(p, 2, context());
    const Array exact = p.expected(2).y;
    for (std::size_t i = 0; i < got.y.size(); ++i) {
      ASSERT_EQ(std::isnan(got.y[i]), i / 8 % 4 == 1) << i;
      ASSERT_EQ(std::isnan(exact.values[i]), i / 8 % 4 == 1) << i;
    }
    for (std::size_t head = 0; head < 6; ++head) {
      EXPECT_EQ(got.qk_matmul_output[(head * 4 + 1) * 12 + 5], kInfinity);
    }
    // Keys excluded by another option stay excluded.
    p.node.is_causal = true;
    EXPECT_THAT(run(p, 2, context()).y,
                ::testing::Each(::testing::Truly([](float y) { return std::isfinite(y); })));
  }
}

TEST_P(OnnxAttentionTest, nan_and_infinity_in_padding_have_no_effect) {
  Random random;
  OnnxProblem p({.batch = 2, .queries = 4, .keys = 20}, random);
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
    OnnxProblem p({.batch = random.integer(1, 3),
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
