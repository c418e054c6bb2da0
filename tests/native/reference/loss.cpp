#include "reference/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/scalar.hpp"

namespace reference {

template <class T>
T cross_entropy(const CrossEntropy& p, const ArrayOf<T>& logits) {
  using std::exp, std::log;
  const std::int64_t classes = logits.size(1);
  Sum<T> losses;
  double count = 0;
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    const std::int64_t target = p.targets[static_cast<std::size_t>(i)];
    if (target == p.ignore_index) continue;
    ++count;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t v = 0; v < classes; ++v) {
      largest = std::max(largest, plain(logits.at({i, v})));
    }
    Sum<T> sum;
    for (std::int64_t v = 0; v < classes; ++v) sum.add(exp(logits.at({i, v}) - largest));
    const T log_sum_exp = largest + log(sum.total());
    losses.add(1 - p.label_smoothing, log_sum_exp - logits.at({i, target}));
    for (std::int64_t v = 0; v < classes && p.label_smoothing > 0; ++v) {
      losses.add(p.label_smoothing / static_cast<double>(classes), log_sum_exp - logits.at({i, v}));
    }
  }
  return losses.total() / count;
}

template <class T>
T mean_squared_error(const ArrayOf<T>& x, const Given<ArrayOf<T>>& target) {
  Sum<T> sum;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const T difference = x.values[i] - target.values[i];
    sum.add(difference, difference);
  }
  return sum.total() / static_cast<double>(x.values.size());
}

template double cross_entropy(const CrossEntropy&, const Array&);
template double mean_squared_error(const Array&, const Array&);
template Scalar cross_entropy(const CrossEntropy&, const ArrayOf<Scalar>&);
template Scalar mean_squared_error(const ArrayOf<Scalar>&, const ArrayOf<Scalar>&);

}  // namespace reference
