#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/scaled_dot_product_attention.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "reference/attention.hpp"

namespace attn_test {

struct AttentionSizes {
  std::int64_t batch = 1;
  std::int64_t query_heads = 1;
  std::int64_t key_heads = 1;
  std::int64_t num_queries = 1;
  std::int64_t num_keys = 1;
  std::int64_t head_dim = 1;
  std::int64_t value_dim = 1;
};

/// One call of scaled_dot_product_attention, with memory for all it reads. Values are row-major;
/// `layout` says how they lie in memory.
struct AttentionProblem {
  AttentionSizes sizes;
  int rank = 4;  ///< of query, key, value and output; 3 wants one head, 2 also batch 1
  Layout layout = Layout::kContiguous;

  std::vector<float> query, key, value;

  std::optional<float> scale;
  float softcap = 0;
  std::vector<float> bias;
  std::vector<std::int64_t> bias_shape;
  std::vector<std::uint8_t> mask;
  std::vector<std::int64_t> mask_shape;
  std::optional<attn::Diagonal> causal;
  std::optional<attn::Window> window;
  std::vector<std::int32_t> valid_lens;  ///< batch, or batch · num_queries values

  /// Standard normal query, key and value.
  AttentionProblem(const AttentionSizes& sizes_, Random& random)
      : sizes(sizes_),
        query(random.normals(count(query_shape()))),
        key(random.normals(count(key_shape()))),
        value(random.normals(count(value_shape()))) {}

  std::vector<std::int64_t> query_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries, sizes.head_dim};
  }
  std::vector<std::int64_t> key_shape() const {
    return {sizes.batch, sizes.key_heads, sizes.num_keys, sizes.head_dim};
  }
  std::vector<std::int64_t> value_shape() const {
    return {sizes.batch, sizes.key_heads, sizes.num_keys, sizes.value_dim};
  }
  std::vector<std::int64_t> output_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries, sizes.value_dim};
  }
  std::vector<std::int64_t> score_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries, sizes.num_keys};
  }
  std::vector<std::int64_t> row_shape() const {
    return {sizes.batch, sizes.query_heads, sizes.num_queries};
  }
  std::vector<std::int64_t> valid_lens_shape() const {
    if (static_cast<std::int64_t>(valid_lens.size()) == sizes.batch) return {sizes.batch};
    return {sizes.batch, sizes.num_queries};
  }

  static std::int64_t count(const std::vector<std::int64_t>& shape) {
    std::int64_t result = 1;
    for (const std::int64_t size : shape) result *= size;
    return result;
  }

  /// What the double-precision reference makes of it.
  reference::AttentionResult expected() const {
    reference::Attention p;
    p.query = reference::Array(query_shape(), query);
    p.key = reference::Array(key_shape(), key);
    p.value = reference::Array(value_shape(), value);
    if (scale) p.scale = *scale;
    p.softcap = softcap;
    if (!bias.empty()) p.bias = reference::Array(bias_shape, bias);
    if (!mask.empty()) p.mask = reference::Array(mask_shape, mask);
    if (causal) p.causal_offset = causal->resolve(sizes.num_queries, sizes.num_keys);
    if (window) {
      p.window_left = window->left;
      p.window_right = window->right;
      p.window_offset = window->diagonal.resolve(sizes.num_queries, sizes.num_keys);
    }
    if (!valid_lens.empty()) p.valid_lens = reference::Array(valid_lens_shape(), valid_lens);
    return reference::attention(p);
  }
};

/// Which outputs to ask for beside the output itself.
struct AttentionWants {
  bool scores = false;  ///< scaled, capped and biased ones
  bool weights = false;
  bool log_sum_exp = false;
};

struct AttentionOutputs {
  std::vector<float> output, log_sum_exp, scaled_scores, capped_scores, biased_scores, weights;
};

/// Calls the core. Outputs start as a number that no result has, in the layout of the problem.
AttentionOutputs attend(const AttentionProblem&, attn::Context&,
                        const AttentionWants& = {true, true, true});

/// Calls the core, with all outputs, and compares each with the reference.
void expect_matches_reference(const AttentionProblem&, attn::Context&);

}  // namespace attn_test
