#include "reference/attention_pooling.hpp"

#include <cmath>
#include <limits>

#include "reference/linear.hpp"

namespace reference {
namespace {

constexpr double kUnit = 1.0 / (1 << 24);
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// What the headers of the kernels state.
constexpr double kTanhError = 3e-7;

struct Number {
  double exact;
  double error;
};

class Scores {
 public:
  explicit Scores(const Pooling& p) : p_(p) {
    if (p.score == Pooling::Score::kAdditive) {
      query_ = linear({p.query, {}}, p.query_weight);
      key_ = linear({p.key, {}}, p.key_weight);
    }
  }

  Number operator()(std::int64_t i, std::int64_t j) const {
    switch (p_.score) {
      case Pooling::Score::kAverage:
        return {1, 0};
      case Pooling::Score::kScaledDot:
        return dot(i, j);
      case Pooling::Score::kAdditive:
        return additive(i, j);
      default:
        return of_distance(i, j);
    }
  }

 private:
  Number dot(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t d = 0; d < p_.query.size(1); ++d) {
      const double term = p_.query.at({i, d}) * p_.key.at({j, d}) * p_.parameter;
      sum += term;
      magnitude += std::abs(term);
    }
    return {sum, kUnit * static_cast<double>(p_.query.size(1) + 4) * magnitude};
  }

  Number additive(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    double magnitude = 0;
    double inherited = 0;
    const std::int64_t hidden = p_.score_weight.size(1);
    for (std::int64_t h = 0; h < hidden; ++h) {
      const double x = query_.exact.at({i, h}) + key_.exact.at({j, h});
      const double weight = p_.score_weight.at({0, h});
      const double t = std::tanh(x);
      sum += weight * t;
      magnitude += std::abs(weight * t);
      inherited += std::abs(weight) * (query_.error.at({i, h}) + key_.error.at({j, h}) +
                                       kUnit * std::abs(x) + kTanhError * std::abs(t));
    }
    return {sum, inherited + kUnit * static_cast<double>(hidden + 1) * (magnitude + inherited)};
  }

  Number of_distance(std::int64_t i, std::int64_t j) const {
    double square = 0;
    for (std::int64_t d = 0; d < p_.query.size(1); ++d) {
      const double difference = p_.query.at({i, d}) - p_.key.at({j, d});
      square += difference * difference;
    }
    const double relative = kUnit * static_cast<double>(p_.query.size(1) + 8);
    const double width = p_.parameter;
    const double distance = std::sqrt(square) / width;
    switch (p_.score) {
      case Pooling::Score::kGaussian:
        return {-square / (2 * width * width), square / (2 * width * width) * relative};
      case Pooling::Score::kBoxcar:
        return {std::isnan(distance) ? distance : distance < 1 ? 1.0 : 0.0, 0};
      default:
        return {std::isnan(distance) ? distance : std::fmax(1 - distance, 0),
                distance * relative + kUnit};
    }
  }

  const Pooling& p_;
  Bounded query_, key_;
};

}  // namespace

PoolingResult attention_pooling(const Pooling& p) {
  const std::int64_t queries = p.query.size(0);
  const std::int64_t keys = p.key.size(0);
  const std::int64_t width = p.value.size(1);
  const bool softmax = p.score == Pooling::Score::kScaledDot ||
                       p.score == Pooling::Score::kGaussian || p.score == Pooling::Score::kAdditive;
  const auto bounded = [](std::vector<std::int64_t> shape, double fill) {
    return Bounded{Array(shape, fill), Array(shape)};
  };
  PoolingResult result{bounded({queries, width}, 0),
                       bounded({queries, keys}, softmax ? -kInfinity : 0),
                       bounded({queries, keys}, 0)};
  const Scores score(p);
  for (std::int64_t i = 0; i < queries; ++i) {
    std::vector<std::int64_t> attended;
    double largest = -kInfinity;
    double largest_error = 0;
    std::int64_t best = -1;
    bool is_nan = false;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (p.attends && !p.attends(i, j)) continue;
      const Number s = score(i, j);
      result.scores.exact.at({i, j}) = s.exact;
      result.scores.error.at({i, j}) = s.error;
      if (!softmax && s.exact == 0) continue;
      attended.push_back(j);
      is_nan = is_nan || std::isnan(s.exact);
      if (best < 0 || s.exact > largest) best = j;
      largest = std::fmax(largest, s.exact);
      largest_error = std::fmax(largest_error, s.error);
    }
    if (attended.empty()) continue;
    if (p.hard) {
      for (std::int64_t c = 0; c < width; ++c) {
        result.output.exact.at({i, c}) = is_nan ? NAN : p.value.at({best, c});
      }
      if (!is_nan) result.weights.exact.at({i, best}) = 1;
      continue;
    }
    double sum = 0;
    double sum_error = 0;
    for (const std::int64_t j : attended) {
      const double s = result.scores.exact.at({i, j});
      sum += softmax ? std::exp(s - largest) : s;
      sum_error += result.scores.error.at({i, j});
    }
    const double count = static_cast<double>(attended.size());
    for (const std::int64_t j : attended) {
      const double s = result.scores.exact.at({i, j});
      const double weight = (softmax ? std::exp(s - largest) : s) / sum;
      // The softmax: twice the scores' error, two exponentials (of which one rounds its argument),
      // and a sum. The kernels with an edge: their own error, that of the sum, and the division.
      const double relative =
          softmax ? std::expm1(2 * largest_error) + kUnit * (count + 16 + 4 * (largest - s))
                  : sum_error / sum + kUnit * (count + 8);
      const double own = softmax ? 0 : result.scores.error.at({i, j}) / sum;
      result.weights.exact.at({i, j}) = weight;
      result.weights.error.at({i, j}) = weight * relative + own + 1e-37;
    }
    for (std::int64_t c = 0; c < width; ++c) {
      double output = 0;
      double error = 0;
      for (const std::int64_t j : attended) {
        const double value = p.value.at({j, c});
        output += result.weights.exact.at({i, j}) * value;
        error += (result.weights.error.at({i, j}) +
                  kUnit * (count + 4) * result.weights.exact.at({i, j})) *
                 std::abs(value);
      }
      result.output.exact.at({i, c}) = output;
      result.output.error.at({i, c}) = error + 1e-37;
    }
  }
  return result;
}

}  // namespace reference
