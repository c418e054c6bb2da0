#include "reference/onnx_attention.hpp"

#include <algorithm>
#include <cmath>

namespace reference {
namespace {

/// (B, N, H·D) reshaped to (B, N, H, D) and transposed to (B, H, N, D).
Array split_heads(const Array& x, std::int64_t heads) {
  if (x.shape.size() == 4) return x;
  const std::int64_t dim = x.size(2) / heads;
  Array result({x.size(0), heads, x.size(1), dim});
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t i = 0; i < x.size(1); ++i) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < dim; ++d) {
          result.at({b, h, i, d}) = x.at({b, i, h * dim + d});
        }
      }
    }
  }
  return result;
}

Array merge_heads(const Array& x) {
  const std::int64_t heads = x.size(1), dim = x.size(3);
  Array result({x.size(0), x.size(2), heads * dim});
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < x.size(2); ++i) {
        for (std::int64_t d = 0; d < dim; ++d) {
          result.at({b, i, h * dim + d}) = x.at({b, h, i, d});
        }
      }
    }
  }
  return result;
}

/// Concatenates along the sequence dimension.
Array concatenate(const Array& past, const Array& x) {
  if (!past.given()) return x;
  const std::int64_t before = past.size(2);
  Array result({x.size(0), x.size(1), before + x.size(2), x.size(3)});
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t h = 0; h < x.size(1); ++h) {
      for (std::int64_t j = 0; j < result.size(2); ++j) {
        for (std::int64_t d = 0; d < x.size(3); ++d) {
          result.at({b, h, j, d}) =
              j < before ? past.at({b, h, j, d}) : x.at({b, h, j - before, d});
        }
      }
    }
  }
  return result;
}

/// Repeats each head `times` times consecutively: h0, h0, h1, h1, …
Array repeat_heads(const Array& x, std::int64_t times) {
  Array result({x.size(0), x.size(1) * times, x.size(2), x.size(3)});
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t h = 0; h < result.size(1); ++h) {
      for (std::int64_t j = 0; j < x.size(2); ++j) {
        for (std::int64_t d = 0; d < x.size(3); ++d) {
          result.at({b, h, j, d}) = x.at({b, h / times, j, d});
        }
      }
    }
  }
  return result;
}

/// The mask as a bias, padded with −∞ to the number of keys.
Array padded_bias(const Array& mask, bool is_boolean, std::int64_t num_keys) {
  std::vector<std::int64_t> shape = mask.shape;
  const std::int64_t length = shape.back();
  shape.back() = num_keys;
  Array result(shape, -kInfinity);
  const std::size_t rows =
      num_keys == 0 ? 0 : result.values.size() / static_cast<std::size_t>(num_keys);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < length; ++j) {
      const double value = mask.values[row * static_cast<std::size_t>(length) + j];
      result.values[row * static_cast<std::size_t>(num_keys) + j] =
          is_boolean ? (value != 0 ? 0 : -kInfinity) : value;
    }
  }
  return result;
}

/// x rounded to a significand of `digits` bits, ties to even.
double rounded(double x, int digits) {
  if (digits >= 53 || x == 0 || !std::isfinite(x)) return x;
  int exponent;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

}  // namespace

OnnxAttentionResult onnx_attention(const OnnxAttention& node) {
  OnnxAttentionResult r;
  const Array q = split_heads(node.q, node.q_num_heads);
  r.present_key = concatenate(node.past_key, split_heads(node.k, node.kv_num_heads));
  r.present_value = concatenate(node.past_value, split_heads(node.v, node.kv_num_heads));

  const std::int64_t batch = q.size(0), heads = q.size(1), num_queries = q.size(2), dim = q.size(3),
                     num_keys = r.present_key.size(2);
  const Array k = repeat_heads(r.present_key, heads / r.present_key.size(1));
  const Array v = repeat_heads(r.present_value, heads / r.present_value.size(1));
  const std::int64_t value_dim = v.size(3);
  const double scale = node.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));

  const Array mask = node.attn_mask.given()
                         ? padded_bias(node.attn_mask, node.attn_mask_is_boolean, num_keys)
                         : Array({1});
  const std::int64_t past = node.past_key.given() ? node.past_key.size(2) : 0;

  Array scores({batch, heads, num_queries, num_keys});
  Array capped = scores, biased = scores, weights = scores;
  r.score_error = scores;
  r.y = Array({batch, heads, num_queries, value_dim});
  for (std::int64_t b = 0; b < batch; ++b) {
    const bool padded = node.nonpad_kv_seqlen.given();
    const double length = padded ? node.nonpad_kv_seqlen.at({b}) : 0;
    // The number of valid keys before the block of queries.
    const std::int64_t offset =
        padded && !node.past_key.given() ? static_cast<std::int64_t>(length) - num_queries : past;
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < num_queries; ++i) {
        double largest = -kInfinity;
        for (std::int64_t j = 0; j < num_keys; ++j) {
          double dot = 0, magnitude = 0;
          for (std::int64_t d = 0; d < dim; ++d) {
            const double product = q.at({b, h, i, d}) * k.at({b, h, j, d});
            dot += product;
            magnitude += std::abs(product);
          }
          scores.at({b, h, i, j}) = scale * dot;
          double error = kUnit * static_cast<double>(dim + 6) * std::abs(scale) * magnitude + 1e-38;
          double score = scale * dot;
          if (node.softcap > 0) {
            score = node.softcap * std::tanh(score / node.softcap);
            if (node.qk_matmul_output_mode > 0) error += 8 * kUnit * std::abs(score);
          }
          capped.at({b, h, i, j}) = score;

          double added = mask.broadcast_at({b, h, i, j});
          if (node.is_causal && j > i + offset) added += -kInfinity;
          if (node.left_window_size >= 0 && i + offset - j > node.left_window_size) {
            added += -kInfinity;
          }
          if (node.right_window_size >= 0 && j - (i + offset) > node.right_window_size) {
            added += -kInfinity;
          }
          if (padded && static_cast<double>(j) >= length) added += -kInfinity;
          score += added;
          biased.at({b, h, i, j}) = score;
          if (std::isfinite(score)) {
            if (node.qk_matmul_output_mode > 1) error += 2 * kUnit * std::abs(score);
            r.largest_score = std::max(r.largest_score, std::abs(score));
          }
          r.score_error.at({b, h, i, j}) = error;
          // With a score of NaN or +∞, the whole row becomes NaN in the softmax below.
          if (score > largest || std::isnan(score)) largest = score;
        }
        if (largest == -kInfinity) continue;

        double sum = 0;
        for (std::int64_t j = 0; j < num_keys; ++j) {
          const double score = rounded(biased.at({b, h, i, j}), node.softmax_digits);
          const double highest = rounded(largest, node.softmax_digits);
          weights.at({b, h, i, j}) =
              rounded(std::exp(rounded(score - highest, node.softmax_digits)), node.softmax_digits);
          sum = rounded(sum + weights.at({b, h, i, j}), node.softmax_digits);
        }
        for (std::int64_t j = 0; j < num_keys; ++j) {
          double& weight = weights.at({b, h, i, j});
          weight = rounded(weight / sum, node.softmax_digits);
          for (std::int64_t c = 0; c < value_dim; ++c) {
            r.y.at({b, h, i, c}) += weight * v.at({b, h, j, c});
          }
        }
      }
    }
  }
  if (node.q.shape.size() == 3) r.y = merge_heads(r.y);
  const Array* const by_mode[] = {&scores, &capped, &biased, &weights};
  r.qk_matmul_output = *by_mode[node.qk_matmul_output_mode];
  return r;
}

}  // namespace reference
