// Records feed-forward networks, and the norms around them, on a tape. No steps are defined here,
// because the layers and functions used here record their own steps.

#include "attn/layers/feed_forward.hpp"

#include "attn/layers/add_norm.hpp"
#include "attn/layers/gated_feed_forward.hpp"
#include "attn/training/functions.hpp"
#include "rows.hpp"
#include "training/activation_step.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {

Variable FeedForward::forward(const Variable& x, const Dropout& dropout) const {
  require_rows("x", x.value(), "d_model", options_.d_model);
  validation::require_probability("dropout", dropout.probability);
  const Variable activated = apply_activation(linear1_.forward(x), options_.activation);
  const Variable hidden = apply_dropout(activated, dropout);
  training::record_intermediate(*this, "hidden", hidden);
  return linear2_.forward(hidden);
}

Variable GatedFeedForward::forward(const Variable& x, const Dropout& dropout) const {
  require_rows("x", x.value(), "d_model", options_.d_model);
  validation::require_probability("dropout", dropout.probability);
  const Variable gated = training::activate("GatedFeedForward", gate_proj_.forward(x),
                                            up_proj_.forward(x), options_.activation);
  const Variable hidden = apply_dropout(gated, dropout);
  training::record_intermediate(*this, "hidden", hidden);
  return down_proj_.forward(hidden);
}

Variable AddNorm::forward(const Variable& x, const Variable& y, const Dropout& dropout) const {
  validation::require_probability("dropout", dropout.probability);
  validation::require_same_shape("y", y.value(), x.value());
  const Variable sum = x + apply_dropout(y, dropout);
  training::record_intermediate(*this, "sum", sum);
  return norm_.forward(sum);
}

}  // namespace attn
