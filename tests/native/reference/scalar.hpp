#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/array.hpp"

namespace reference {

class Tape;

/// A double that records its computation on the current tape. The references are templates over
/// their number type; with this type they compute gradients. A Scalar made from a double is a
/// constant; Tape::variables makes variables.
class Scalar {
 public:
  Scalar() = default;
  Scalar(double value) : value_(value) {}
  /// A constant with a bound on its error in float32 arithmetic.
  Scalar(double value, double error) : value_(value), error_(static_cast<float>(error)) {}

  double value() const { return value_; }
  /// First-order bound on the error of the value in float32 arithmetic.
  double error() const { return error_; }

  Scalar& operator+=(Scalar other);
  Scalar& operator-=(Scalar other);
  Scalar& operator*=(Scalar other);
  Scalar& operator/=(Scalar other);

 private:
  friend class Tape;

  double value_ = 0;
  float error_ = 0;
  std::int32_t node_ = -1;  // a constant
};

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);
inline Scalar& Scalar::operator+=(Scalar other) { return *this = *this + other; }
inline Scalar& Scalar::operator-=(Scalar other) { return *this = *this - other; }
inline Scalar& Scalar::operator*=(Scalar other) { return *this = *this * other; }
inline Scalar& Scalar::operator/=(Scalar other) { return *this = *this / other; }
Scalar exp(Scalar x);
Scalar log(Scalar x);
Scalar sqrt(Scalar x);
Scalar tanh(Scalar x);
Scalar erfc(Scalar x);
/// 1 / (1 + e⁻ˣ)
Scalar sigmoid(Scalar x);
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The number's value, without its record on the tape.
inline double plain(double x) { return x; }
inline double plain(Scalar x) { return x.value(); }
template <class T>
Array plain(const ArrayOf<T>& x) {
  Array result;
  result.shape = x.shape;
  for (const T& value : x.values) result.values.push_back(plain(value));
  return result;
}

/// The type in which sums are computed. It has more digits than a double if such a type exists.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, long double, T>;
inline double narrow(long double x) { return static_cast<double>(x); }
inline Scalar narrow(Scalar x) { return x; }

/// A sum of numbers and products, in any order. A sum has a single node on the tape, however many
/// terms it has.
template <class T>
class Sum;

template <>
class Sum<double> {
 public:
  void add(double x) { total_ += x; }
  void add(double a, double b) { total_ += a * b; }
  double total() const { return total_; }

 private:
  double total_ = 0;
};

/// Records computations with its variables and computes their gradients. Only one tape can record
/// at a time.
///
///   Tape tape;
///   const ArrayOf<Scalar> x = tape.variables(Array(…)), w = tape.variables(Array(…));
///   tape.backward(inner(linear<Scalar>({x, {}}, w).exact, output_gradient));
///   const Bounded of_w = tape.gradient(w);
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Returns variables of the same shape as `values`; an omitted array stays omitted.
  ArrayOf<Scalar> variables(const Array& values);
  std::map<std::string, ArrayOf<Scalar>> variables(const std::map<std::string, Array>& arrays);
  Scalar variable(double value) { return variables(Array({1}, value)).values[0]; }

  /// Computes the gradient of `loss` with respect to everything that it was computed from. Numbers
  /// with gradient 0, such as numbers that the loss does not use, are skipped, so that a NaN or an
  /// infinity in them does not spread.
  void backward(Scalar loss);

  /// The gradient with respect to variables or to numbers computed from variables. Constants have
  /// gradient 0.
  ///
  /// `error` is a first-order bound on the error of float32 arithmetic. It covers the errors of
  /// forward values and of partial derivatives, each multiplied by its factor in the chain rule.
  /// For each sum of n terms, it adds the usual γ_n times the sum of the terms' magnitudes. The
  /// bound holds for any order in which a sum adds its terms. A bound propagated from layer to
  /// layer grows with every layer, so this bound is useful for single operations but not for stacks
  /// of layers.
  Bounded gradient(const ArrayOf<Scalar>& of) const;
  std::map<std::string, Bounded> gradient(const std::map<std::string, ArrayOf<Scalar>>& of) const;
  Bounded gradient(Scalar of) const { return gradient(ArrayOf<Scalar>({1}, of)); }

  /// An operand x of a value, the partial derivative of the value with respect to x, and a bound on
  /// the derivative's error in float32 arithmetic.
  struct Term {
    Scalar x;
    double partial;
    double error;
  };
  /// Records a value that has its own rounding error in addition to the errors of its terms.
  static Scalar record(double value, double rounding, std::initializer_list<Term> terms);

 private:
  friend class Sum<Scalar>;

  /// The partial derivative of a node with respect to one of its operands.
  struct Edge {
    double partial;
    float error;
    std::int32_t from;
  };
  /// The sum of the terms of a gradient, the sum of their magnitudes, and the bound on the error of
  /// float32 arithmetic.
  struct Gradient {
    double sum = 0, magnitude = 0, error = 0;
    int terms = 0;
  };

  static Edge edge(const Term& term) {
    return {term.partial, static_cast<float>(term.error), term.x.node_};
  }
  static bool is_constant(Scalar x) { return x.node_ < 0; }
  static Scalar record(double value, double error, const std::vector<Edge>& edges);

  /// The memory of the previous tape, kept for the next tape. Requesting hundreds of megabytes from
  /// the system for every tape took longer than all other work.
  static std::vector<Edge>& spare();

  static Tape* current_;

  std::vector<Edge> edges_;
  std::vector<std::uint32_t> ends_;  // end of each node's edges
  std::vector<Gradient> gradients_;  // of each node
};

template <>
class Sum<Scalar> {
 public:
  void add(Scalar x) { add(x, 1); }
  void add(Scalar a, Scalar b);
  Scalar total() const;

 private:
  double total_ = 0, magnitude_ = 0, error_ = 0;
  int count_ = 0;
  std::vector<Tape::Edge> edges_;
};

/// Returns Σ gradient · x, whose gradient with respect to x is `gradient`.
template <class T>
T inner(const ArrayOf<T>& x, const Array& gradient) {
  Sum<T> sum;
  for (std::size_t i = 0; i < x.values.size(); ++i) sum.add(x.values[i], gradient.values[i]);
  return sum.total();
}

}  // namespace reference
