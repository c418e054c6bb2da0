#include "reference/feed_forward.hpp"

#include "reference/linear.hpp"
#include "reference/scalar.hpp"

namespace reference {

template <class T>
ArrayOf<T> feed_forward(const FeedForwardOf<T>& p, const ArrayOf<T>& x) {
  ArrayOf<T> hidden = linear<T>({x, {}}, p.weight1, p.bias1).exact;
  for (T& value : hidden.values) value = activate(p.activation, value);
  drop(hidden, p.kept);
  return linear<T>({hidden, {}}, p.weight2, p.bias2).exact;
}

template <class T>
ArrayOf<T> gated_feed_forward(const GatedFeedForwardOf<T>& p, const ArrayOf<T>& x) {
  ArrayOf<T> hidden = linear<T>({x, {}}, p.gate_weight).exact;
  const ArrayOf<T> up = linear<T>({x, {}}, p.up_weight).exact;
  for (std::size_t i = 0; i < hidden.values.size(); ++i) {
    hidden.values[i] = activate(p.activation, hidden.values[i]) * up.values[i];
  }
  drop(hidden, p.kept);
  return linear<T>({hidden, {}}, p.down_weight).exact;
}

template Array feed_forward(const FeedForward&, const Array&);
template Array gated_feed_forward(const GatedFeedForward&, const Array&);
template ArrayOf<Scalar> feed_forward(const FeedForwardOf<Scalar>&, const ArrayOf<Scalar>&);
template ArrayOf<Scalar> gated_feed_forward(const GatedFeedForwardOf<Scalar>&,
                                            const ArrayOf<Scalar>&);

}  // namespace reference
