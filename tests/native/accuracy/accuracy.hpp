#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "attn/context.hpp"
#include "attn/layers/module.hpp"
#include "attn/random.hpp"
#include "reference/array.hpp"

/// The table of largest and mean errors that `npm run accuracy` prints, with a row per operation
/// and a column per instruction set. To add a row, define a Row in the file for its topic:
///
///   const Row kLinear("Linear", "(33, 257) to 65", "(n + 1) · 6e-8 · (Σ|x·w| + |b|)",
///                     [](Case& c) {
///                       const std::vector<float> x = c.normals(33 * 257);
///                       …
///                       c.add(output, exact, bounds);
///                     });
namespace accuracy {

/// One operation on one instruction set. Provides the operation's inputs and collects its errors.
class Case {
 public:
  explicit Case(attn::Context& context) : context_(context) {}

  attn::Context& context() const { return context_; }

  /// Normally distributed numbers with mean 0 and the given standard deviation. They are the same
  /// on every machine and differ from call to call.
  std::vector<float> normals(std::int64_t count, float deviation = 1) {
    std::vector<float> values(static_cast<std::size_t>(count));
    attn::fill_normal({values.data(), {count}}, {.seed = 1, .stream = stream_++}, 0, deviation,
                      context_);
    return values;
  }
  std::vector<float> uniforms(std::int64_t count, float low, float high) {
    std::vector<float> values(static_cast<std::size_t>(count));
    attn::fill_uniform({values.data(), {count}}, {.seed = 1, .stream = stream_++}, low, high,
                       context_);
    return values;
  }

  /// Adds a result, its exact value and the documented bound on their difference.
  void add(double got, long double exact, double bound) {
    ++count_;
    const auto error = static_cast<double>(std::abs(got - exact));
    // NaN persists.
    if (!(error <= largest_)) largest_ = error;
    sum_ += error;
    const double share = error == 0 ? 0 : error / bound;
    if (!(share <= largest_share_)) largest_share_ = share;
  }
  void add(const std::vector<float>& got, const reference::Array& exact,
           const reference::Array& bounds) {
    if (got.size() != exact.values.size()) largest_ = largest_share_ = HUGE_VAL;
    for (std::size_t i = 0; i < got.size() && i < exact.values.size(); ++i) {
      add(got[i], exact.values[i], bounds.values[i]);
    }
  }
  void add(const std::vector<float>& got, const reference::Array& exact, double bound) {
    add(got, exact, reference::Array(exact.shape, bound));
  }

  double largest() const { return largest_; }
  double mean() const { return sum_ / static_cast<double>(count_); }
  /// The largest error as a share of its bound; infinite if nothing was measured.
  double largest_share() const { return count_ > 0 ? largest_share_ : HUGE_VAL; }

 private:
  attn::Context& context_;
  std::uint64_t stream_ = 0;
  std::int64_t count_ = 0;
  double largest_ = 0;
  double sum_ = 0;
  double largest_share_ = 0;
};

/// Draws all parameters of a layer with standard deviation `deviation`. If `deviation` is 0, each
/// parameter's standard deviation is 1/√(its number of columns), so that values stay of the order
/// of 1.
std::map<std::string, reference::Array> draw_parameters(Case& c, attn::Module& module,
                                                        float deviation = 0);

/// A row of the table. Constructing a row adds it to the table.
class Row {
 public:
  /// The operation, the shapes and ranges of its inputs, the documented bound, and the function
  /// that measures the errors.
  Row(std::string operation, std::string range, std::string bound, void (*measure)(Case&));

  const std::string& operation() const { return operation_; }
  const std::string& range() const { return range_; }
  const std::string& bound() const { return bound_; }
  void measure(Case& c) const { measure_(c); }

 private:
  std::string operation_;
  std::string range_;
  std::string bound_;
  void (*measure_)(Case&);
};

/// All rows of the table.
const std::vector<Row>& rows();

}  // namespace accuracy
