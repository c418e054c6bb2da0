#include "attn/layers/feed_forward.hpp"

#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// The options, if they are right: named as the caller knows them, not as Linear does.
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
      linear1_(options.d_model, options.dim_feedforward, options.bias),
      linear2_(options.dim_feedforward, options.out_features.value_or(options.d_model),
               options.bias) {}

std::vector<CompositeModule::Child> FeedForward::children() const {
  auto& self = const_cast<FeedForward&>(*this);
  return {{"linear1", &self.linear1_}, {"linear2", &self.linear2_}};
}

void FeedForward::initialize_xavier(const RandomStream& random, Context& context) {
  linear1_.initialize_xavier(random, context);
  linear2_.initialize_xavier({random.seed, random.stream + 1}, context);
}

void FeedForward::forward(const ConstTensor& x, const Tensor& output, const Dropout& dropout,
                          Context& context) const {
  if (x.rank() != 2 && x.rank() != 3) {
    validation::fail_rows("x", x.shape(), "d_model");
  }
  const std::int64_t batch = x.rank() == 3 ? x.size(0) : 1;
  const std::int64_t length = x.size(-2);
  if (x.rank() == 3) {
    validation::require_shape("x", x, {-1, -1, options_.d_model});
    validation::require_shape("output", output, {batch, length, linear2_.out_features()});
  } else {
    validation::require_shape("x", x, {-1, options_.d_model});
    validation::require_shape("output", output, {length, linear2_.out_features()});
  }
  validation::require_data("x", x);
  validation::require_data("output", output);
  validation::require_probability("dropout", dropout.probability);

  runtime::Execution run(context);
  float* memory = run.floats(validation::product("x", {batch, length, options_.dim_feedforward}),
                             "feed-forward");
  const Tensor hidden = x.rank() == 3 ? Tensor(memory, {batch, length, options_.dim_feedforward})
                                      : Tensor(memory, {length, options_.dim_feedforward});
  linear1_.forward(x, hidden, context);
  apply_activation(hidden, hidden, options_.activation, context);
  apply_dropout(hidden, hidden, dropout, context);
  linear2_.forward(hidden, output, context);
}

}  // namespace attn
