#pragma once

// The semantics of the ONNX operators Attention-23, -24 and -25, with all attributes and inputs,
// implemented with attn. Tests compare them with the operator as its specification describes it
// (reference/onnx_attention.hpp).
//
// What the opsets specify, including later corrections:
// - Stages of a score: scale · q·k, softcap, attn_mask together with all other exclusions, softmax.
//   qk_matmul_output_mode 0 to 3 returns them in this order. As first published (ONNX 1.18),
//   softcap came after the mask, and the meanings of modes 1 and 2 were swapped. ONNX corrected
//   both in 2026 for all opsets, because a softcap after the mask gives masked keys the weight of a
//   score of -softcap.
// - is_causal: query i attends to keys j <= i + offset; offset is the length of past_key, or
//   nonpad_kv_seqlen[b] - Nq if that is given (it may be negative), or 0. Using this offset with
//   nonpad_kv_seqlen is also a correction of 2026; before that, the offset was 0.
// - Opset 24 adds nonpad_kv_seqlen and masks that are shorter than the keys. Opset 25 adds
//   left_window_size and right_window_size: keys with i + offset - left <= j <= i + offset + right,
//   where -1 means no bound. The offset is the same as for is_causal, even if is_causal is not set.
//
// How attn differs:
// - A fully masked row gives an output of zeros and, in mode 3, weights of zeros. ONNX has required
//   this since 2026; before that, its reference implementation gave NaN.
// - attn skips excluded values. ONNX multiplies them by 0, and 0 * NaN and 0 * infinity give NaN.
// - If attn_mask is +infinity for a key that another option excludes, attn excludes the key,
//   whereas ONNX adds infinity - infinity = NaN. For an attended key, +infinity makes the row NaN
//   in both.
// - attn applies a negative scale, whereas ONNX takes the square root of the scale.
// - attn ignores softmax_precision; the test of that name explains why. All tensors are float32.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attention/attention_problem.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/context.hpp"
#include "attn/tensor_view.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/onnx_attention.hpp"

namespace attn_test {

/// The ONNX TensorProto types that softmax_precision may name.
enum class OnnxPrecision : int { kFloat = 1, kFloat16 = 10, kDouble = 11, kBfloat16 = 16 };

/// A node with its inputs, under ONNX's names. A default-constructed tensor stands for an omitted
/// input.
struct OnnxNode {
  bool is_causal = false;
  std::int64_t kv_num_heads = 0;
  std::int64_t q_num_heads = 0;
  int qk_matmul_output_mode = 0;
  std::optional<float> scale = {};
  float softcap = 0;
  std::optional<OnnxPrecision> softmax_precision = {};
  std::int64_t left_window_size = -1;
  std::int64_t right_window_size = -1;

  attn::ConstTensor q, k, v;
  attn::ConstTensor float_mask;  ///< attn_mask of a float type
  attn::ConstMask bool_mask;     ///< attn_mask of type bool
  attn::ConstTensor past_key, past_value;
  attn::ConstLengths nonpad_kv_seqlen;
};

/// Computes ONNX Attention with attn. Afterwards `present` contains present_key and present_value.
/// `present` is required if past_key is given or if these outputs are wanted.
void onnx_attention(const OnnxNode& node, const attn::Tensor& y,
                    const attn::Tensor& qk_matmul_output, attn::KeyValueCache* present,
                    attn::Context& context);

struct OnnxSizes {
  std::int64_t batch = 2;
  std::int64_t q_heads = 3;
  std::int64_t kv_heads = 3;
  std::int64_t queries = 4;
  std::int64_t keys = 6;
  std::int64_t head_size = 8;
  std::int64_t v_head_size = 8;
  std::int64_t past = 0;
};

/// A node and the memory for its inputs.
struct OnnxProblem {
  OnnxSizes sizes;
  OnnxNode node;  ///< the node's attributes; run() sets its tensors
  int rank = 4;
  Layout layout = Layout::kContiguous;
  std::vector<float> q, k, v, past_key, past_value;
  bool mask_is_boolean = false;
  std::vector<std::int64_t> mask_shape;
  std::vector<float> mask;
  std::vector<std::int32_t> nonpad_kv_seqlen;

  OnnxProblem(const OnnxSizes& s, Random& random)
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

  /// Sets a mask of normally distributed numbers, or of booleans that are mostly true.
  void set_mask(std::vector<std::int64_t> new_shape, bool is_boolean, Random& random) {
    mask_shape = std::move(new_shape);
    mask_is_boolean = is_boolean;
    mask.clear();
    for (std::int64_t i = 0; i < AttentionProblem::count(mask_shape); ++i) {
      mask.push_back(is_boolean ? (random.chance(0.7) ? 1.0F : 0.0F) : random.normal());
    }
  }

  reference::OnnxAttentionResult expected(int mode) const {
    reference::OnnxAttention p;
    p.q = reference::Array(q_shape(), q);
    p.k = reference::Array(k_shape(), k);
    p.v = reference::Array(v_shape(), v);
    if (has_mask()) p.attn_mask = reference::Array(mask_shape, mask);
    p.attn_mask_is_boolean = mask_is_boolean;
    if (sizes.past > 0) {
      p.past_key = reference::Array(past_shape(sizes.head_size), past_key);
      p.past_value = reference::Array(past_shape(sizes.v_head_size), past_value);
    }
    if (!nonpad_kv_seqlen.empty())
      p.nonpad_kv_seqlen = reference::Array({sizes.batch}, nonpad_kv_seqlen);
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

struct OnnxOutputs {
  std::vector<float> y, present_key, present_value, qk_matmul_output;
};

OnnxOutputs run(const OnnxProblem& p, int mode, attn::Context& context);

/// Compares all outputs in all modes, within the bounds that the header of attention states.
void expect_matches_onnx(const OnnxProblem& p, attn::Context& context);

}  // namespace attn_test
