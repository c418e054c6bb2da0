#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace reference {
namespace {

constexpr double kUnit = 1.0 / (1 << 24);  // float32 rounds to within this, relatively
constexpr double kSmallest = 1.2e-38;      // below it, float32 loses relative precision
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool attends(const Attention& p, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  if (p.mask.given() && p.mask.broadcast_at({b, h, i, j}) == 0) return false;
  if (p.bias.given() && p.bias.broadcast_at({b, h, i, j}) == -kInfinity) return false;
  if (p.causal_offset && j > i + *p.causal_offset) return false;
  if (p.window_left && j < i + p.window_offset - *p.window_left) return false;
  if (p.window_right && j > i + p.window_offset + *p.window_right) return false;
  if (p.valid_lens.given()) {
    const bool per_query = p.valid_lens.shape.size() == 2;
    const double length = per_query ? p.valid_lens.at({b, i}) : p.valid_lens.at({b});
    if (static_cast<double>(j) >= length) return false;
  }
  return true;
}

}  // namespace

AttentionResult attention(const Attention& p) {
  const std::int64_t batch = p.query.size(0), heads = p.query.size(1),
                     num_queries = p.query.size(2), dim = p.query.size(3), num_keys = p.key.size(2),
                     value_dim = p.value.size(3);
  const std::int64_t key_heads = p.key.size(1);
  const std::int64_t group = heads == 0 ? 1 : heads / key_heads;
  const double scale = p.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));

  AttentionResult r;
  r.output = r.output_error = Array({batch, heads, num_queries, value_dim});
  r.log_sum_exp = r.log_sum_exp_error = Array({batch, heads, num_queries});
  r.scaled_scores = r.capped_scores = r.biased_scores = r.weights = r.attended =
      r.scaled_scores_error = r.capped_scores_error = r.biased_scores_error = r.weights_error =
          Array({batch, heads, num_queries, num_keys});

  const auto row_of = [](Array& array, std::int64_t row, std::int64_t length) {
    return std::span(array.values)
        .subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length));
  };
  const auto in_row = [](const Array& array, std::int64_t row, std::int64_t length) {
    return std::span(array.values)
        .subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length));
  };
  const double terms = static_cast<double>(num_keys);
  std::vector<double> weight_error(static_cast<std::size_t>(num_keys));

  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t key_head = b * key_heads + h / group;
      for (std::int64_t i = 0; i < num_queries; ++i) {
        const std::int64_t row = (b * heads + h) * num_queries + i;
        const auto query = in_row(p.query, row, dim);
        const auto scaled = row_of(r.scaled_scores, row, num_keys);
        const auto capped = row_of(r.capped_scores, row, num_keys);
        const auto biased = row_of(r.biased_scores, row, num_keys);
        const auto biased_error = row_of(r.biased_scores_error, row, num_keys);
        const auto weights = row_of(r.weights, row, num_keys);
        const auto attended = row_of(r.attended, row, num_keys);
        double& log_sum_exp = r.log_sum_exp.values[static_cast<std::size_t>(row)];

        // Scores, with the error of each.
        double largest = -kInfinity;
        for (std::int64_t at = 0; at < num_keys; ++at) {
          const auto j = static_cast<std::size_t>(at);
          const auto key = in_row(p.key, key_head * num_keys + at, dim);
          double dot = 0, magnitude = 0;
          for (std::size_t d = 0; d < query.size(); ++d) {
            dot += query[d] * key[d];
            magnitude += std::abs(query[d] * key[d]);
          }
          // One rounding per product and addition; scale itself, and its product with the query.
          double error = kUnit * static_cast<double>(dim + 5) * std::abs(scale) * magnitude +
                         kSmallest * static_cast<double>(dim);
          if (p.query_error.given()) {
            const auto query_error = in_row(p.query_error, row, dim);
            const auto key_error = in_row(p.key_error, key_head * num_keys + at, dim);
            for (std::size_t d = 0; d < query.size(); ++d) {
              error += std::abs(scale) * (query_error[d] * (std::abs(key[d]) + key_error[d]) +
                                          std::abs(query[d]) * key_error[d]);
            }
          }
          scaled[j] = scale * dot;
          row_of(r.scaled_scores_error, row, num_keys)[j] = error;

          capped[j] = p.softcap > 0 ? p.softcap * std::tanh(scaled[j] / p.softcap) : scaled[j];
          if (p.softcap > 0) error += 8 * kUnit * std::abs(capped[j]);
          row_of(r.capped_scores_error, row, num_keys)[j] = error;

          biased[j] = capped[j];
          if (p.bias.given()) {
            biased[j] += p.bias.broadcast_at({b, h, i, at});
            error += kUnit * std::abs(biased[j]);
          }
          biased_error[j] = error;

          if (attends(p, b, h, i, at)) {
            attended[j] = 1;
            largest = std::max(largest, biased[j]);
          }
        }

        // Softmax. NaN among the attended scores makes the sum NaN, as it should.
        double sum = 0;
        bool any = false;
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          any = true;
          weights[j] = std::exp(biased[j] - largest);
          sum += weights[j];
        }
        if (!any) {
          log_sum_exp = -kInfinity;
          continue;
        }
        log_sum_exp = largest + std::log(sum);

        // Relative error of exp(score − max): of the score, of forming and scaling the difference,
        // and of the exponential itself and its rescaling from block to block.
        double sum_error = kUnit * (terms + 16);
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          weights[j] /= sum;
          weight_error[j] =
              biased_error[j] + kUnit * (2.5 * std::abs(biased[j] - largest) + 8 + terms / 32);
          sum_error += weights[j] * weight_error[j];
        }
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          weight_error[j] = weights[j] * (weight_error[j] + sum_error) + kSmallest;
          row_of(r.weights_error, row, num_keys)[j] = weight_error[j];
        }
        r.log_sum_exp_error.values[static_cast<std::size_t>(row)] =
            sum_error + kUnit * (2 * std::abs(largest) + 4 * std::abs(std::log(sum)) + 4);

        const auto output = row_of(r.output, row, value_dim);
        const auto output_error = row_of(r.output_error, row, value_dim);
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          const auto value =
              in_row(p.value, key_head * num_keys + static_cast<std::int64_t>(j), value_dim);
          const auto value_error =
              p.value_error.given()
                  ? in_row(p.value_error, key_head * num_keys + static_cast<std::int64_t>(j),
                           value_dim)
                  : value;
          for (std::size_t c = 0; c < value.size(); ++c) {
            output[c] += weights[j] * value[c];
            double error = std::abs(value[c]) * (weight_error[j] + kUnit * terms * weights[j]);
            if (p.value_error.given()) error += weights[j] * value_error[c];
            output_error[c] += error;
          }
        }
        for (std::size_t c = 0; c < output.size(); ++c) {
          output_error[c] += 4 * kUnit * std::abs(output[c]) + kSmallest;
        }
      }
    }
  }
  return r;
}

}  // namespace reference
