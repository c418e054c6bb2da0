#include "attn/layers/add_norm.hpp"

#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {

AddNorm::AddNorm(std::int64_t width, const LayerNormOptions& options) : norm_(width, options) {}

std::vector<CompositeModule::Child> AddNorm::children() const {
  return {{"ln", const_cast<LayerNorm*>(&norm_)}};
}

void AddNorm::forward(const ConstTensor& x, const ConstTensor& y, const Tensor& output,
                      const Dropout& dropout, Context& context) const {
  validation::require_probability("dropout", dropout.probability);
  if (!dropout.training || dropout.probability == 0) {
    norm_.forward_sum(x, y, output, context);
    return;
  }
  validation::require_data("x", x);
  validation::require_same_shape("y", y, x);
  validation::require_data("y", y);
  runtime::Execution run(context);
  const Tensor dropped(run.floats(validation::product("y", y.shape()), "dropout"), y.shape());
  apply_dropout(y, dropped, dropout, context);
  norm_.forward_sum(x, dropped, output, context);
}

}  // namespace attn
