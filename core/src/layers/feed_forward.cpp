#include "attn/layers/feed_forward.hpp"

#include "layers/intermediate_writer.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Checks the options before Linear does, so that errors name the options of this layer.
FeedForwardOptions checked(const FeedForwardOptions& options) {
  validation::require_at_least("d_model", options.d_model, 1);
  validation::require_at_least("dim_feedforward", options.dim_feedforward, 1);
  if (options.out_features) {
    validation::require_at_least("out_features", *options.out_features, 1);
  }
  return options;
}

}  // namespace

FeedForward::FeedForward(const FeedForwardOptions& options)
    : options_(checked(options)),
      linear1_(options.d_model, options.dim_feedforward, options.bias, options.weights),
      linear2_(options.dim_feedforward, options.out_features.value_or(options.d_model),
               options.bias, options.weights) {
  add_child("linear1", linear1_);
  add_child("linear2", linear2_);
  add_intermediates({"hidden"});
}

void FeedForward::forward(const ConstAnyTensor& x, const AnyTensor& output, const Dropout& dropout,
                          Context& context, Intermediates* intermediates) const {
  require_rows("x", x, "d_model", options_.d_model);
  require_rows_like("output", output, x, x.size(-2), linear2_.out_features());
  validation::require_probability("dropout", dropout.probability);
  IntermediateWriter writer(*this, intermediates, x.rank() == 3);

  runtime::Execution run(context);
  const ConstAnyTensor from = with_batch(x);
  const auto shape = {from.size(0), from.size(1), options_.dim_feedforward};
  const Tensor hidden(run.floats(validation::product("x", shape), "feed-forward"), shape);
  linear1_.forward(from, hidden, context, writer.enter("linear1"));
  apply_activation(hidden, hidden, options_.activation, context);
  apply_dropout(hidden, hidden, dropout, context);
  writer.pass("hidden", hidden, run);
  linear2_.forward(hidden, with_batch(output), context, writer.enter("linear2"));
  writer.finish();
}

}  // namespace attn
