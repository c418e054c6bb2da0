#include "attention/onnx_attention_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"

namespace attn_test {
namespace {

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

}  // namespace

void onnx_attention(const OnnxNode& node, const attn::Tensor& y,
                    const attn::Tensor& qk_matmul_output, attn::KeyValueCache* present,
                    attn::Context& context) {
  // (B, N, H·D) has the same memory as (B, H, N, D) with different strides.
  const bool merged = node.q.rank() == 3;
  const attn::ConstTensor query = merged ? node.q.split_heads(node.q_num_heads) : node.q;
  attn::ConstTensor key = merged ? node.k.split_heads(node.kv_num_heads) : node.k;
  attn::ConstTensor value = merged ? node.v.split_heads(node.kv_num_heads) : node.v;
  const attn::Tensor output = merged ? y.split_heads(node.q_num_heads) : y;

  const std::int64_t past = node.past_key.is_none() ? 0 : node.past_key.size(2);
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

  // ONNX pads a mask that is too short with false or −∞. This includes masks of length 1, although
  // attn broadcasts every dimension of size 1. A mask of length 0 excludes every key.
  std::vector<std::int32_t> mask_lengths;
  const bool masked = !node.bool_mask.is_none() || !node.float_mask.is_none();
  const std::int64_t mask_length = !node.bool_mask.is_none() ? node.bool_mask.size(-1)
                                   : masked                  ? node.float_mask.size(-1)
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
  options.diagonal = !node.nonpad_kv_seqlen.is_none() && node.past_key.is_none()
                         ? attn::Diagonal::bottom_right()
                         : attn::Diagonal::offset(past);
  options.causal = node.is_causal;
  const auto side = [](std::int64_t size) {
    return size < 0 ? std::nullopt : std::optional<std::int64_t>(size);
  };
  options.window =
      attn::Window{.left = side(node.left_window_size), .right = side(node.right_window_size)};

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

OnnxOutputs run(const OnnxProblem& p, int mode, attn::Context& context) {
  OnnxNode node = p.node;
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

void expect_matches_onnx(const OnnxProblem& p, attn::Context& context) {
  float largest_value = 0;
  for (const float x : p.v) largest_value = std::max(largest_value, std::abs(x));
  for (const float x : p.past_value) largest_value = std::max(largest_value, std::abs(x));
  std::vector<float> first_y;
  for (int mode = 0; mode <= 3; ++mode) {
    SCOPED_TRACE("qk_matmul_output_mode " + std::to_string(mode));
    const OnnxOutputs got = run(p, mode, context);
    const reference::OnnxAttentionResult exact = p.expected(mode);
    const double root =
        std::sqrt(static_cast<double>(p.sizes.head_size)) * std::max(1.0, exact.largest_score / 20);
    EXPECT_TRUE(is_within(got.y, exact.y, 2.5e-6 * root * largest_value)) << "y";
    EXPECT_TRUE(is_within(got.present_key, exact.present_key, 0)) << "present_key";
    EXPECT_TRUE(is_within(got.present_value, exact.present_value, 0)) << "present_value";
    const reference::Array weight_error(exact.qk_matmul_output.shape, 1.3e-6 * root);
    EXPECT_TRUE(is_within(got.qk_matmul_output, exact.qk_matmul_output,
                          mode == 3 ? weight_error : exact.score_error))
        << "qk_matmul_output";
    if (mode == 0) first_y = got.y;
    EXPECT_TRUE(same_bits(got.y, first_y)) << "another mode changes y";
  }
}

}  // namespace attn_test
