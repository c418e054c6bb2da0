#include "attn/layers/gated_feed_forward.hpp"

#include "layers/activate.hpp"
#include "layers/intermediate_writer.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Checks the options before Linear does, so that errors name the options of this layer.
GatedFeedForwardOptions checked(const GatedFeedForwardOptions& options) {
  validation::require_at_least("d_model", options.d_model, 1);
  validation::require_at_least("dim_feedforward", options.dim_feedforward, 1);
  return options;
}

}  // namespace

GatedFeedForward::GatedFeedForward(const GatedFeedForwardOptions& options)
    : options_(checked(options)),
      gate_proj_(options.d_model, options.dim_feedforward, options.bias, options.weights),
      up_proj_(options.d_model, options.dim_feedforward, options.bias, options.weights),
      down_proj_(options.dim_feedforward, options.d_model, options.bias, options.weights) {
  add_child("gate_proj", gate_proj_);
  add_child("up_proj", up_proj_);
  add_child("down_proj", down_proj_);
  add_intermediates({"hidden"});
}

void GatedFeedForward::forward(const ConstAnyTensor& x, const AnyTensor& output,
                               const Dropout& dropout, Context& context,
                               Intermediates* intermediates) const {
  require_rows("x", x, "d_model", options_.d_model);
  require_rows_like("output", output, x, x.size(-2), options_.d_model);
  validation::require_probability("dropout", dropout.probability);
  IntermediateWriter writer(*this, intermediates, x.rank() == 3);

  runtime::Execution run(context);
  const ConstAnyTensor from = with_batch(x);
  const auto shape = {from.size(0), from.size(1), options_.dim_feedforward};
  const std::int64_t count = validation::product("x", shape);
  const Tensor hidden(run.floats(count, "feed-forward"), shape);
  const Tensor factor(run.floats(count, "feed-forward"), shape);
  gate_proj_.forward(from, hidden, context, writer.enter("gate_proj"));
  up_proj_.forward(from, factor, context, writer.enter("up_proj"));
  activate(hidden, factor, hidden, options_.activation, context);
  apply_dropout(hidden, hidden, dropout, context);
  writer.pass("hidden", hidden, run);
  down_proj_.forward(hidden, with_batch(output), context, writer.enter("down_proj"));
  writer.finish();
}

}  // namespace attn
