#include "reference/attention_pooling.hpp"

#include <cmath>

#include "reference/linear.hpp"

namespace reference {
namespace {

/// The error bounds stated in the headers of the kernels.
constexpr double kTanhError = 3e-7;

template <class T>
struct Number {
  T exact;
  double error;
};

template <class T>
class Scores {
 public:
  explicit Scores(const PoolingOf<T>& p) : p_(p) {
    if (p.score == PoolingScore::kAdditive) {
      query_ = linear<T>({p.query, {}}, p.query_weight);
      key_ = linear<T>({p.key, {}}, p.key_weight);
    }
  }

  Number<T> operator()(std::int64_t i, std::int64_t j) const {
    switch (p_.score) {
      case PoolingScore::kAverage:
        return {1, 0};
      case PoolingScore::kScaledDot:
        return dot(i, j);
      case PoolingScore::kAdditive:
        return additive(i, j);
      default:
        return of_distance(i, j);
    }
  }

 private:
  Number<T> dot(std::int64_t i, std::int64_t j) const {
    Sum<T> sum;
    double magnitude = 0;
    for (std::int64_t d = 0; d < p_.query.size(1); ++d) {
      const T a = p_.query.at({i, d}), b = p_.key.at({j, d}) * p_.parameter;
      sum.add(a, b);
      magnitude += std::abs(plain(a) * plain(b));
    }
    return {sum.total(), kUnit * static_cast<double>(p_.query.size(1) + 4) * magnitude};
  }

  Number<T> additive(std::int64_t i, std::int64_t j) const {
    using std::tanh;
    Sum<T> sum;
    double magnitude = 0;
    double inherited = 0;
    const std::int64_t hidden = p_.score_weight.size(1);
    for (std::int64_t h = 0; h < hidden; ++h) {
      const T x = query_.exact.at({i, h}) + key_.exact.at({j, h});
      const T weight = p_.score_weight.at({0, h});
      const T t = tanh(x);
      sum.add(weight, t);
      magnitude += std::abs(plain(weight) * plain(t));
      inherited +=
          std::abs(plain(weight)) * (query_.error.at({i, h}) + key_.error.at({j, h}) +
                                     kUnit * std::abs(plain(x)) + kTanhError * std::abs(plain(t)));
    }
    return {sum.total(),
            inherited + kUnit * static_cast<double>(hidden + 1) * (magnitude + inherited)};
  }

  Number<T> of_distance(std::int64_t i, std::int64_t j) const {
    using std::sqrt;
    Sum<T> squares;
    for (std::int64_t d = 0; d < p_.query.size(1); ++d) {
      const T difference = p_.query.at({i, d}) - p_.key.at({j, d});
      squares.add(difference, difference);
    }
    const T square = squares.total();
    const double relative = kUnit * static_cast<double>(p_.query.size(1) + 8);
    const T width = p_.parameter;
    if (p_.score == PoolingScore::kGaussian) {
      const T score = -square / (2 * width * width);
      return {score, -plain(score) * relative};
    }
    const T distance = plain(square) == 0 ? T(0) : sqrt(square) / width;
    const double plain_distance = plain(distance);
    if (std::isnan(plain_distance)) return {distance, p_.score == PoolingScore::kBoxcar ? 0 : NAN};
    if (p_.score == PoolingScore::kBoxcar) return {plain_distance < 1 ? 1.0 : 0.0, 0};
    return {plain_distance < 1 ? 1 - distance : T(0), plain_distance * relative + kUnit};
  }

  const PoolingOf<T>& p_;
  BoundedOf<T> query_, key_;
};

}  // namespace

PoolingOf<Scalar> variables(Tape& tape, const Pooling& p) {
  return {p.score,
          tape.variable(p.parameter),
          p.hard,
          tape.variables(p.query),
          tape.variables(p.key),
          tape.variables(p.value),
          tape.variables(p.query_weight),
          tape.variables(p.key_weight),
          tape.variables(p.score_weight),
          p.attends};
}

template <class T>
PoolingResultOf<T> attention_pooling(const PoolingOf<T>& p) {
  using std::exp;
  const std::int64_t queries = p.query.size(0);
  const std::int64_t keys = p.key.size(0);
  const std::int64_t width = p.value.size(1);
  const bool softmax = p.score == PoolingScore::kScaledDot || p.score == PoolingScore::kGaussian ||
                       p.score == PoolingScore::kAdditive;
  const auto bounded = [](std::vector<std::int64_t> shape, double fill) {
    return BoundedOf<T>{ArrayOf<T>(shape, fill), Array(shape)};
  };
  PoolingResultOf<T> result{bounded({queries, width}, 0),
                            bounded({queries, keys}, softmax ? -kInfinity : 0),
                            bounded({queries, keys}, 0)};
  const Scores<T> score(p);
  for (std::int64_t i = 0; i < queries; ++i) {
    std::vector<std::int64_t> attended;
    double largest = -kInfinity;
    double largest_error = 0;
    std::int64_t best = -1;
    bool is_nan = false;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (p.attends && !p.attends(i, j)) continue;
      const Number<T> s = score(i, j);
      const double exact = plain(s.exact);
      result.scores.exact.at({i, j}) = s.exact;
      result.scores.error.at({i, j}) = s.error;
      if (!softmax && exact == 0) continue;
      attended.push_back(j);
      is_nan = is_nan || std::isnan(exact);
      if (best < 0 || exact > largest) best = j;
      largest = std::fmax(largest, exact);
      largest_error = std::fmax(largest_error, s.error);
    }
    if (attended.empty()) continue;
    if (p.hard) {
      for (std::int64_t c = 0; c < width; ++c) {
        result.output.exact.at({i, c}) = is_nan ? T(NAN) : p.value.at({best, c});
      }
      if (!is_nan) result.weights.exact.at({i, best}) = 1;
      continue;
    }
    Sum<T> sum;
    double sum_error = 0;
    for (const std::int64_t j : attended) {
      const T s = result.scores.exact.at({i, j});
      sum.add(softmax ? exp(s - largest) : s);
      sum_error += result.scores.error.at({i, j});
    }
    const T total = sum.total();
    const double count = static_cast<double>(attended.size());
    for (const std::int64_t j : attended) {
      const T s = result.scores.exact.at({i, j});
      const T weight = (softmax ? exp(s - largest) : s) / total;
      // The softmax adds twice the error of the scores, the errors of two exponentials, and the
      // error of a sum. One of the exponentials rounds its argument. The other kernels add their
      // own error, the error of the sum, and the error of the division.
      const double relative =
          softmax ? std::expm1(2 * largest_error) + kUnit * (count + 16 + 4 * (largest - plain(s)))
                  : sum_error / plain(total) + kUnit * (count + 8);
      const double own = softmax ? 0 : result.scores.error.at({i, j}) / plain(total);
      result.weights.exact.at({i, j}) = weight;
      result.weights.error.at({i, j}) = plain(weight) * relative + own + 1e-37;
    }
    for (std::int64_t c = 0; c < width; ++c) {
      Sum<T> output;
      double error = 0;
      for (const std::int64_t j : attended) {
        const T weight = result.weights.exact.at({i, j}), value = p.value.at({j, c});
        output.add(weight, value);
        error += (result.weights.error.at({i, j}) + kUnit * (count + 4) * plain(weight)) *
                 std::abs(plain(value));
      }
      result.output.exact.at({i, c}) = output.total();
      result.output.error.at({i, c}) = error + 1e-37;
    }
  }
  return result;
}

template PoolingResult attention_pooling(const Pooling&);
template PoolingResultOf<Scalar> attention_pooling(const PoolingOf<Scalar>&);

}  // namespace reference
