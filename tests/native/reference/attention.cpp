#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace reference {
namespace {

constexpr double kSmallest = 1.2e-38;  // below it, float32 loses relative precision

/// True if a mask is too short to cover key j.
template <class T>
bool is_beyond(const ArrayOf<T>& mask, std::int64_t j) {
  return mask.shape.back() > 1 && j >= mask.shape.back();
}

std::int64_t offset_of(const Array& offsets, std::int64_t b) {
  return offsets.given() ? static_cast<std::int64_t>(offsets.broadcast_at({b})) : 0;
}

/// Returns the row that belongs to a distance in a table of relative keys or values.
template <class T>
std::int64_t relative_row(const ArrayOf<T>& table, std::int64_t h, std::int64_t distance) {
  const std::int64_t k = table.size(1) / 2;
  return (table.size(0) == 1 ? 0 : h) * table.size(1) + std::clamp(distance, -k, k) + k;
}

template <class T>
bool attends(const AttentionOf<T>& p, std::int64_t b, std::int64_t h, std::int64_t i,
             std::int64_t j) {
  if (p.mask.given() && (is_beyond(p.mask, j) || p.mask.broadcast_at({b, h, i, j}) == 0)) {
    return false;
  }
  if (p.bias.given() &&
      (is_beyond(p.bias, j) || plain(p.bias.broadcast_at({b, h, i, j})) == -kInfinity)) {
    return false;
  }
  if (p.causal_offset.given() && j > i + offset_of(p.causal_offset, b)) return false;
  if (p.window_left && i + offset_of(p.window_offset, b) - j > *p.window_left) return false;
  if (p.window_right && j - (i + offset_of(p.window_offset, b)) > *p.window_right) return false;
  if (p.key_lens.given() && static_cast<double>(j) >= p.key_lens.at({b})) return false;
  if (p.valid_lens.given()) {
    const bool per_query = p.valid_lens.shape.size() == 2;
    const double length = per_query ? p.valid_lens.at({b, i}) : p.valid_lens.at({b});
    if (static_cast<double>(j) >= length) return false;
  }
  return true;
}

}  // namespace

std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance,
                       bool bidirectional) {
  std::int64_t first = 0;
  if (bidirectional) {
    num_buckets /= 2;
    if (distance > 0) first = num_buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::int64_t exact = num_buckets / 2;
  if (distance < exact) return first + distance;
  std::int64_t bucket = exact;
  const auto ratio = static_cast<long double>(max_distance) / static_cast<long double>(exact);
  const auto edge = [&](std::int64_t b) {
    return static_cast<long double>(exact) *
           std::pow(ratio, static_cast<long double>(b - exact) /
                               static_cast<long double>(num_buckets - exact));
  };
  while (bucket + 1 < num_buckets &&
         static_cast<long double>(distance) >= edge(bucket + 1) * (1 - 1e-12L)) {
    ++bucket;
  }
  return first + bucket;
}

AttentionOf<Scalar> variables(Tape& tape, const Attention& p) {
  return {p,
          tape.variables(p.query),
          tape.variables(p.key),
          tape.variables(p.value),
          tape.variables(p.bias),
          tape.variables(p.relative_keys),
          tape.variables(p.relative_values),
          tape.variables(p.alibi_slopes),
          tape.variables(p.t5_table),
          tape.variables(p.sinks)};
}

template <class T>
AttentionResultOf<T> attention(const AttentionOf<T>& p) {
  using std::exp, std::log, std::tanh;
  const std::int64_t batch = p.query.size(0), heads = p.query.size(1),
                     num_queries = p.query.size(2), dim = p.query.size(3), num_keys = p.key.size(2),
                     value_dim = p.value.size(3);
  const std::int64_t key_heads = p.key.size(1);
  const std::int64_t group = heads == 0 ? 1 : heads / key_heads;
  const double scale = p.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));

  AttentionResultOf<T> r;
  r.output = ArrayOf<T>({batch, heads, num_queries, value_dim});
  r.output_error = Array(r.output.shape);
  r.log_sum_exp = ArrayOf<T>({batch, heads, num_queries});
  r.log_sum_exp_error = Array(r.log_sum_exp.shape);
  r.scaled_scores = r.capped_scores = r.biased_scores = r.weights =
      ArrayOf<T>({batch, heads, num_queries, num_keys});
  r.attended = r.scaled_scores_error = r.capped_scores_error = r.biased_scores_error =
      r.weights_error = Array(r.weights.shape);

  const auto row_of = [](auto& array, std::int64_t row, std::int64_t length) {
    return std::span(array.values)
        .subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length));
  };
  // The T5 bucket of each distance, starting at distance −Nq − offset. It is computed once for all
  // heads.
  std::vector<std::int64_t> buckets(
      p.t5_table.given() ? static_cast<std::size_t>(num_queries + num_keys) : 0);
  const double terms = static_cast<double>(num_keys);
  std::vector<double> weight_error(static_cast<std::size_t>(num_keys));

  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::size_t at = 0; at < buckets.size(); ++at) {
      buckets[at] =
          t5_bucket(static_cast<std::int64_t>(at) - num_queries - offset_of(p.relative_offset, b),
                    p.t5_table.size(0), p.t5_max_distance, p.t5_bidirectional);
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t key_head = b * key_heads + h / group;
      for (std::int64_t i = 0; i < num_queries; ++i) {
        const std::int64_t row = (b * heads + h) * num_queries + i;
        const auto query = row_of(p.query, row, dim);
        const auto scaled = row_of(r.scaled_scores, row, num_keys);
        const auto capped = row_of(r.capped_scores, row, num_keys);
        const auto biased = row_of(r.biased_scores, row, num_keys);
        const auto biased_error = row_of(r.biased_scores_error, row, num_keys);
        const auto weights = row_of(r.weights, row, num_keys);
        const auto attended = row_of(r.attended, row, num_keys);
        T& log_sum_exp = r.log_sum_exp.values[static_cast<std::size_t>(row)];

        // Scores and their errors.
        const T sink = p.sinks.given() ? p.sinks.at({h}) : T(-kInfinity);
        double largest = plain(sink);
        for (std::int64_t at = 0; at < num_keys; ++at) {
          const auto j = static_cast<std::size_t>(at);
          const auto key = row_of(p.key, key_head * num_keys + at, dim);
          Sum<T> dot;
          double magnitude = 0;
          for (std::size_t d = 0; d < query.size(); ++d) {
            dot.add(query[d], key[d]);
            magnitude += std::abs(plain(query[d]) * plain(key[d]));
          }
          // Counts one rounding per product and per addition, plus one for `scale` itself and one
          // for its product with the query.
          const std::int64_t distance = at - i - offset_of(p.relative_offset, b);
          if (p.relative_keys.given()) {
            const auto relative =
                row_of(p.relative_keys, relative_row(p.relative_keys, h, distance), dim);
            for (std::size_t d = 0; d < query.size(); ++d) {
              dot.add(query[d], relative[d]);
              magnitude += std::abs(plain(query[d]) * plain(relative[d]));
            }
          }
          double error = kUnit * static_cast<double>(dim + 6) * std::abs(scale) * magnitude +
                         kSmallest * static_cast<double>(dim);
          if (p.query_error.given()) {
            const auto query_error = row_of(p.query_error, row, dim);
            const auto key_error = row_of(p.key_error, key_head * num_keys + at, dim);
            for (std::size_t d = 0; d < query.size(); ++d) {
              error +=
                  std::abs(scale) * (query_error[d] * (std::abs(plain(key[d])) + key_error[d]) +
                                     std::abs(plain(query[d])) * key_error[d]);
            }
          }
          scaled[j] = scale * dot.total();
          row_of(r.scaled_scores_error, row, num_keys)[j] = error;

          capped[j] = p.softcap > 0 ? p.softcap * tanh(scaled[j] / p.softcap) : scaled[j];
          if (p.softcap > 0) error += 8 * kUnit * std::abs(plain(capped[j]));
          row_of(r.capped_scores_error, row, num_keys)[j] = error;

          biased[j] = capped[j];
          T by_distance = 0;
          if (p.alibi_slopes.given()) {
            by_distance -= p.alibi_slopes.at({h}) * std::abs(static_cast<double>(distance));
            error += 2 * kUnit * std::abs(plain(by_distance));
          }
          if (p.t5_table.given()) {
            const auto at_distance = static_cast<std::size_t>(at - i + num_queries);
            by_distance += p.t5_table.at({buckets[at_distance], h});
            error += 2 * kUnit * std::abs(plain(by_distance));
          }
          biased[j] += by_distance;
          error += kUnit * std::abs(plain(biased[j]));
          if (p.bias.given() && !is_beyond(p.bias, at)) {
            biased[j] += p.bias.broadcast_at({b, h, i, at});
            error += kUnit * std::abs(plain(biased[j]));
          }
          biased_error[j] = error;

          if (attends(p, b, h, i, at)) {
            attended[j] = 1;
            largest = std::max(largest, plain(biased[j]));
          } else {
            biased[j] = -kInfinity;
          }
        }

        // Softmax. A NaN among the attended scores makes the sum NaN, as it should.
        Sum<T> sum;
        bool any = false;
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          any = true;
          weights[j] = exp(biased[j] - largest);
          sum.add(weights[j]);
        }
        if (!any) {
          log_sum_exp = sink;
          continue;
        }
        if (p.sinks.given()) sum.add(exp(sink - largest));
        const T total = sum.total();
        log_sum_exp = largest + log(total);

        // Four errors add up to the relative error of exp(score − max): the error of the score, the
        // error of the difference and its scaling, the error of the exponential, and the error of
        // rescaling it from block to block.
        double sum_error = kUnit * (terms + 16);
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          weights[j] /= total;
          weight_error[j] = biased_error[j] +
                            kUnit * (2.5 * std::abs(plain(biased[j]) - largest) + 8 + terms / 32);
          sum_error += plain(weights[j]) * weight_error[j];
        }
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          weight_error[j] = plain(weights[j]) * (weight_error[j] + sum_error) + kSmallest;
          if (p.kept.given()) {
            const double kept = p.kept.at({b, h, i, static_cast<std::int64_t>(j)});
            weights[j] *= kept;
            weight_error[j] = weight_error[j] * kept + 2 * kUnit * plain(weights[j]);
          }
          row_of(r.weights_error, row, num_keys)[j] = weight_error[j];
        }
        r.log_sum_exp_error.values[static_cast<std::size_t>(row)] =
            sum_error + kUnit * (2 * std::abs(largest) + 4 * std::abs(std::log(plain(total))) + 4);

        const auto output_error = row_of(r.output_error, row, value_dim);
        std::vector<Sum<T>> output(output_error.size());
        for (std::size_t j = 0; j < attended.size(); ++j) {
          if (attended[j] == 0) continue;
          const std::int64_t at = key_head * num_keys + static_cast<std::int64_t>(j);
          const double weight = plain(weights[j]);
          const auto add = [&](std::span<const T> value) {
            for (std::size_t c = 0; c < value.size(); ++c) {
              output[c].add(weights[j], value[c]);
              output_error[c] +=
                  std::abs(plain(value[c])) * (weight_error[j] + kUnit * (terms + 2) * weight);
            }
          };
          add(row_of(p.value, at, value_dim));
          if (p.value_error.given()) {
            const auto value_error = row_of(p.value_error, at, value_dim);
            for (std::size_t c = 0; c < value_error.size(); ++c) {
              output_error[c] += weight * value_error[c];
            }
          }
          if (p.relative_values.given()) {
            const std::int64_t distance =
                static_cast<std::int64_t>(j) - i - offset_of(p.relative_offset, b);
            add(row_of(p.relative_values, relative_row(p.relative_values, h, distance), value_dim));
          }
        }
        for (std::size_t c = 0; c < output.size(); ++c) {
          const T total_of_column = output[c].total();
          row_of(r.output, row, value_dim)[c] = total_of_column;
          output_error[c] += 4 * kUnit * std::abs(plain(total_of_column)) + kSmallest;
        }
        // An attended NaN reaches the output even if its weight is dropped, but the dropped weight
        // is returned as 0.
        for (std::size_t j = 0; p.kept.given() && j < attended.size(); ++j) {
          if (p.kept.at({b, h, i, static_cast<std::int64_t>(j)}) != 0) continue;
          weights[j] = 0;
          row_of(r.weights_error, row, num_keys)[j] = 0;
        }
      }
    }
  }
  return r;
}

template AttentionResult attention(const Attention&);
template AttentionResultOf<Scalar> attention(const AttentionOf<Scalar>&);

}  // namespace reference
