#include "reference/attention_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace reference {
namespace {

constexpr double kUnit = 1.0 / (1 << 24);

/// Terms that are added up, with the sum of their magnitudes times the relative error of each.
struct Sum {
  explicit Sum(const Array& shape_of) {
    if (!shape_of.given()) return;
    total.exact = Array(shape_of.shape);
    total.error = Array(shape_of.shape);
  }

  void add(std::int64_t at, double term, double error) {
    total.exact.values[static_cast<std::size_t>(at)] += term;
    total.error.values[static_cast<std::size_t>(at)] += error;
  }

  bool wanted() const { return total.exact.given(); }

  Bounded total;
};

/// Where (b, h, i, j) lies in an array that broadcasts to it; −1 for a key beyond it.
std::int64_t broadcast_offset(const Array& array, const std::vector<std::int64_t>& indices) {
  std::int64_t flat = 0;
  const std::size_t skip = indices.size() - array.shape.size();
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    const std::int64_t index = array.shape[i] == 1 ? 0 : indices[skip + i];
    if (index >= array.shape[i]) return -1;
    flat = flat * array.shape[i] + index;
  }
  return flat;
}

std::int64_t offset_of(const Array& offsets, std::int64_t b) {
  return offsets.given() ? static_cast<std::int64_t>(offsets.broadcast_at({b})) : 0;
}

std::int64_t relative_row(const Array& table, std::int64_t h, std::int64_t distance) {
  const std::int64_t k = table.size(1) / 2;
  return (table.size(0) == 1 ? 0 : h) * table.size(1) + std::clamp(distance, -k, k) + k;
}

}  // namespace

AttentionGradient attention_gradient(const Attention& p, const Array& output_gradient) {
  const AttentionResult forward = attention(p);
  const std::int64_t batch = p.query.size(0), heads = p.query.size(1),
                     num_queries = p.query.size(2), dim = p.query.size(3), num_keys = p.key.size(2),
                     value_dim = p.value.size(3), key_heads = p.key.size(1);
  const std::int64_t group = heads == 0 ? 1 : heads / key_heads;
  const double scale = p.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));

  Sum query(p.query), key(p.key), value(p.value), scores(forward.weights), weights(forward.weights),
      bias(p.bias), slopes(p.alibi_slopes), table(p.t5_table), relative_keys(p.relative_keys),
      relative_values(p.relative_values), sinks(p.sinks);
  const auto at = [](const Array& array, std::int64_t row, std::int64_t column) {
    return array.values[static_cast<std::size_t>(row * array.shape.back() + column)];
  };
  // One product, one sum and their rounding, of so many terms.
  const double terms = static_cast<double>(std::max({dim, value_dim, num_keys, num_queries})) + 32;

  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t kv = b * key_heads + h / group;
      for (std::int64_t i = 0; i < num_queries; ++i) {
        const std::int64_t row = (b * heads + h) * num_queries + i;
        const double lse = forward.log_sum_exp.values[static_cast<std::size_t>(row)];
        std::vector<double> weight(static_cast<std::size_t>(num_keys));
        std::vector<double> weight_error = weight, slope = weight, slope_error = weight;
        double delta = 0, delta_error = 0;
        for (std::int64_t j = 0; j < num_keys; ++j) {
          const auto k = static_cast<std::size_t>(j);
          if (at(forward.attended, row, j) == 0) continue;
          weight[k] = std::exp(at(forward.biased_scores, row, j) - lse);
          // Of the score, of the log-sum-exp, and of taking the exponential.
          weight_error[k] =
              weight[k] *
              (at(forward.biased_scores_error, row, j) +
               forward.log_sum_exp_error.values[static_cast<std::size_t>(row)] +
               kUnit * (4 * std::abs(at(forward.biased_scores, row, j)) + 4 * std::abs(lse) + 16));
          const double kept = p.kept.given() ? p.kept.at({b, h, i, j}) : 1;
          double dot = 0, magnitude = 0;
          for (std::int64_t d = 0; d < value_dim; ++d) {
            double v = at(p.value, kv * num_keys + j, d);
            if (p.relative_values.given()) {
              const std::int64_t distance = j - i - offset_of(p.relative_offset, b);
              v += at(p.relative_values, relative_row(p.relative_values, h, distance), d);
            }
            dot += at(output_gradient, row, d) * v;
            magnitude += std::abs(at(output_gradient, row, d) * v);
          }
          slope[k] = dot * kept;
          slope_error[k] = magnitude * kept * kUnit * terms;
          delta += weight[k] * slope[k];
          delta_error += weight_error[k] * std::abs(slope[k]) + weight[k] * slope_error[k] +
                         2 * kUnit * terms * weight[k] * magnitude * kept;
        }
        if (sinks.wanted() && std::isfinite(lse)) {
          const double weight_of_sink = std::exp(p.sinks.at({h}) - lse);
          sinks.add(
              h, -weight_of_sink * delta,
              weight_of_sink *
                      (delta_error + kUnit * (terms + 8 * std::abs(lse)) * 2 * std::abs(delta)) +
                  weight_of_sink * forward.log_sum_exp_error.values[static_cast<std::size_t>(row)] *
                      std::abs(delta));
        }
        for (std::int64_t j = 0; j < num_keys; ++j) {
          const auto k = static_cast<std::size_t>(j);
          if (at(forward.attended, row, j) == 0) continue;
          const double kept = p.kept.given() ? p.kept.at({b, h, i, j}) : 1;
          double gradient = weight[k] * (slope[k] - delta);
          double error = weight_error[k] * std::abs(slope[k] - delta) +
                         weight[k] * (slope_error[k] + delta_error) +
                         8 * kUnit * weight[k] * (std::abs(slope[k]) + std::abs(delta));
          const auto sum_error = [&](double factor) {
            return error * std::abs(factor) + kUnit * terms * std::abs(gradient * factor) + 1e-37;
          };
          scores.add(row * num_keys + j, gradient, error + 1e-37);
          weights.add(row * num_keys + j, slope[k], slope_error[k] + 1e-37);
          if (bias.wanted()) {
            const std::int64_t place = broadcast_offset(p.bias, {b, h, i, j});
            if (place >= 0) bias.add(place, gradient, sum_error(1) * 2);
          }
          const std::int64_t distance = j - i - offset_of(p.relative_offset, b);
          if (slopes.wanted()) {
            const double factor = -std::abs(static_cast<double>(distance));
            slopes.add(h, gradient * factor, sum_error(factor) * 2);
          }
          if (table.wanted()) {
            const std::int64_t bucket =
                t5_bucket(distance, p.t5_table.size(0), p.t5_max_distance, p.t5_bidirectional);
            table.add(bucket * heads + h, gradient, sum_error(1) * 2);
          }
          if (p.softcap > 0) {
            const double capped = at(forward.capped_scores, row, j) / p.softcap;
            const double capped_error =
                at(forward.capped_scores_error, row, j) / p.softcap * 2 * std::abs(capped);
            error = error * (1 - capped * capped) + std::abs(gradient) * (capped_error + 8 * kUnit);
            gradient *= 1 - capped * capped;
          }
          for (std::int64_t d = 0; d < dim; ++d) {
            const double q = at(p.query, row, d);
            double other = at(p.key, kv * num_keys + j, d);
            key.add((kv * num_keys + j) * dim + d, scale * gradient * q, sum_error(scale * q));
            if (p.relative_keys.given()) {
              const std::int64_t place = relative_row(p.relative_keys, h, distance);
              const double a = at(p.relative_keys, place, d);
              query.add(row * dim + d, scale * gradient * a, sum_error(scale * a));
              relative_keys.add(place * dim + d, scale * gradient * q, sum_error(scale * q) * 2);
            }
            query.add(row * dim + d, scale * gradient * other, sum_error(scale * other));
          }
          for (std::int64_t d = 0; d < value_dim; ++d) {
            const double g = at(output_gradient, row, d);
            const double term = weight[k] * kept * g;
            const double term_error =
                weight_error[k] * kept * std::abs(g) + kUnit * terms * std::abs(term) + 1e-37;
            value.add((kv * num_keys + j) * value_dim + d, term, term_error);
            if (p.relative_values.given()) {
              relative_values.add(relative_row(p.relative_values, h, distance) * value_dim + d,
                                  term, term_error * 2);
            }
          }
        }
      }
    }
  }
  return {query.total, key.total,    value.total, scores.total,        weights.total,
          bias.total,  slopes.total, table.total, relative_keys.total, relative_values.total,
          sinks.total};
}

}  // namespace reference
