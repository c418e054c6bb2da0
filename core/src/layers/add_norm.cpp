#include "attn/layers/add_norm.hpp"

#include "layers/showing.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {

AddNorm::AddNorm(std::int64_t width, const LayerNormOptions& options) : norm_(width, options) {
  add_child("ln", norm_);
  add_intermediates({"sum"});
}

void AddNorm::forward(const ConstTensor& x, const ConstTensor& y, const Tensor& output,
                      const Dropout& dropout, Context& context,
                      Intermediates* intermediates) const {
  validation::require_probability("dropout", dropout.probability);
  validation::require_data("x", x);
  validation::require_same_shape("y", y, x);
  validation::require_data("y", y);
  Showing show(*this, intermediates);
  runtime::Execution run(context);
  ConstTensor dropped = y;
  if (dropout.training && dropout.probability > 0) {
    const Tensor memory(run.floats(validation::product("y", y.shape()), "dropout"), y.shape());
    apply_dropout(y, memory, dropout, context);
    dropped = memory;
  }
  const Tensor sum = show.take("sum", x.shape());
  if (!sum.is_none()) add(x, dropped, sum, run);
  norm_.forward_sum(x, dropped, output, context, show.within("ln"));
  show.done();
}

}  // namespace attn
