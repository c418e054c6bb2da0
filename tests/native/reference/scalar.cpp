#include "reference/scalar.hpp"

#include <cassert>

namespace reference {

Tape* Tape::current_ = nullptr;

Tape::Tape() {
  assert(!current_);
  current_ = this;
  edges_.swap(spare());
  edges_.clear();
}

Tape::~Tape() {
  spare().swap(edges_);
  current_ = nullptr;
}

std::vector<Tape::Edge>& Tape::spare() {
  static std::vector<Edge> edges;
  return edges;
}

ArrayOf<Scalar> Tape::variables(const Array& values) {
  ArrayOf<Scalar> result(values);
  for (Scalar& x : result.values) {
    x.node_ = static_cast<std::int32_t>(ends_.size());
    ends_.push_back(static_cast<std::uint32_t>(edges_.size()));
  }
  return result;
}

std::map<std::string, ArrayOf<Scalar>> Tape::variables(const std::map<std::string, Array>& arrays) {
  std::map<std::string, ArrayOf<Scalar>> result;
  for (const auto& [name, array] : arrays) result[name] = variables(array);
  return result;
}

Scalar Tape::record(double value, double rounding, std::initializer_list<Term> terms) {
  Scalar result(value);
  double error = rounding;
  bool constant = true;
  for (const Term& term : terms) {
    error += std::abs(term.partial) * term.x.error();
    constant = constant && is_constant(term.x);
  }
  result.error_ = static_cast<float>(error);
  if (constant) return result;
  for (const Term& term : terms) {
    if (!is_constant(term.x)) current_->edges_.push_back(edge(term));
  }
  result.node_ = static_cast<std::int32_t>(current_->ends_.size());
  current_->ends_.push_back(static_cast<std::uint32_t>(current_->edges_.size()));
  return result;
}

Scalar Tape::record(double value, double error, const std::vector<Edge>& edges) {
  Scalar result(value);
  if (edges.empty()) return result;
  current_->edges_.insert(current_->edges_.end(), edges.begin(), edges.end());
  result.error_ = static_cast<float>(error);
  result.node_ = static_cast<std::int32_t>(current_->ends_.size());
  current_->ends_.push_back(static_cast<std::uint32_t>(current_->edges_.size()));
  return result;
}

void Tape::backward(Scalar loss) {
  gradients_.assign(ends_.size(), {});
  if (is_constant(loss)) return;
  gradients_[static_cast<std::size_t>(loss.node_)].sum = 1;
  for (std::size_t node = gradients_.size(); node-- > 0;) {
    Gradient& of = gradients_[node];
    of.error += kUnit * (of.terms + 1) * of.magnitude;
    if (of.sum == 0 && of.error == 0) continue;
    for (std::size_t at = node == 0 ? 0 : ends_[node - 1]; at < ends_[node]; ++at) {
      const Edge& edge = edges_[at];
      const double term = of.sum * edge.partial;
      Gradient& from = gradients_[static_cast<std::size_t>(edge.from)];
      from.sum += term;
      from.magnitude += std::abs(term);
      from.error += of.error * std::abs(edge.partial) + std::abs(of.sum) * edge.error;
      ++from.terms;
    }
  }
}

Bounded Tape::gradient(const ArrayOf<Scalar>& of) const {
  constexpr double kSmallest = 1e-37;  // below it, float32 loses relative precision
  if (!of.given()) return {};
  Bounded result{Array(of.shape), Array(of.shape)};
  for (std::size_t i = 0; i < of.values.size(); ++i) {
    if (is_constant(of.values[i])) continue;
    const Gradient& gradient = gradients_[static_cast<std::size_t>(of.values[i].node_)];
    result.exact.values[i] = gradient.sum;
    result.error.values[i] = gradient.error + kSmallest;
  }
  return result;
}

std::map<std::string, Bounded> Tape::gradient(
    const std::map<std::string, ArrayOf<Scalar>>& of) const {
  std::map<std::string, Bounded> result;
  for (const auto& [name, array] : of) result[name] = gradient(array);
  return result;
}

void Sum<Scalar>::add(Scalar a, Scalar b) {
  const double term = a.value() * b.value();
  total_ += term;
  magnitude_ += std::abs(term);
  error_ += std::abs(a.value()) * b.error() + std::abs(b.value()) * a.error();
  ++count_;
  if (!Tape::is_constant(a)) edges_.push_back(Tape::edge({a, b.value(), b.error()}));
  if (!Tape::is_constant(b)) edges_.push_back(Tape::edge({b, a.value(), a.error()}));
}

Scalar Sum<Scalar>::total() const {
  return Tape::record(total_, error_ + kUnit * (count_ + 1) * magnitude_, edges_);
}

Scalar operator+(Scalar a, Scalar b) {
  const double y = a.value() + b.value();
  return Tape::record(y, kUnit * std::abs(y), {{a, 1, 0}, {b, 1, 0}});
}

Scalar operator-(Scalar a, Scalar b) {
  const double y = a.value() - b.value();
  return Tape::record(y, kUnit * std::abs(y), {{a, 1, 0}, {b, -1, 0}});
}

Scalar operator-(Scalar a) { return Tape::record(-a.value(), 0, {{a, -1, 0}}); }

Scalar operator*(Scalar a, Scalar b) {
  const double y = a.value() * b.value();
  return Tape::record(y, kUnit * std::abs(y),
                      {{a, b.value(), b.error()}, {b, a.value(), a.error()}});
}

Scalar operator/(Scalar a, Scalar b) {
  const double y = a.value() / b.value();
  const double inverse = 1 / b.value();
  const double relative = std::abs(b.error() * inverse) + 2 * kUnit;
  return Tape::record(
      y, kUnit * std::abs(y),
      {{a, inverse, std::abs(inverse) * relative},
       {b, -y * inverse,
        std::abs(inverse) * (std::abs(a.error() * inverse) + std::abs(y) * 2 * relative)}});
}

// The error bounds of these functions are the bounds in the headers of attn's kernels, rounded up.

Scalar exp(Scalar x) {
  const double y = std::exp(x.value());
  return Tape::record(y, 8 * kUnit * y, {{x, y, y * (x.error() + 8 * kUnit)}});
}

Scalar log(Scalar x) {
  const double y = std::log(x.value());
  const double inverse = 1 / x.value();
  return Tape::record(y, kUnit * (4 * std::abs(y) + 4),
                      {{x, inverse, inverse * (x.error() * inverse + 2 * kUnit)}});
}

Scalar sqrt(Scalar x) {
  const double y = std::sqrt(x.value());
  return Tape::record(y, 2 * kUnit * y,
                      {{x, 0.5 / y, 0.5 / y * (x.error() / (2 * x.value()) + 4 * kUnit)}});
}

Scalar tanh(Scalar x) {
  const double y = std::tanh(x.value());
  const double slope = 1 - y * y;
  return Tape::record(y, 3e-7 * std::abs(y),
                      {{x, slope, 2 * std::abs(y) * (x.error() * slope + 3e-7) + 2 * kUnit}});
}

Scalar erfc(Scalar x) {
  const double y = std::erfc(x.value());
  const double slope = -2 / std::sqrt(std::acos(-1.0)) * std::exp(-x.value() * x.value());
  return Tape::record(y, (1e-6 + 6e-7 * x.value() * x.value()) * y,
                      {{x, slope,
                        std::abs(slope) * (2 * std::abs(x.value()) * x.error() +
                                           kUnit * (16 + 4 * x.value() * x.value()))}});
}

Scalar sigmoid(Scalar x) {
  const double y = sigmoid(x.value());
  const double slope = y * (1 - y);
  return Tape::record(y, 4e-7 * y, {{x, slope, slope * x.error() + (8e-7 + 2 * kUnit) * y}});
}

}  // namespace reference
