#include "attn/layers/add_norm.hpp"

#include "layers/intermediate_writer.hpp"
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
  IntermediateWriter writer(*this, intermediates);
  runtime::Execution run(context);
  ConstTensor dropped = y;
  if (dropout.training && dropout.probability > 0) {
    const Tensor memory(run.floats(validation::product("y", y.shape()), "dropout"), y.shape());
    apply_dropout(y, memory, dropout, context);
    dropped = memory;
  }
  const Tensor sum = writer.allocate("sum", x.shape());
  if (!sum.is_none()) add(x, dropped, sum, run);
  norm_.forward_sum(x, dropped, output, context, writer.enter("ln"));
  writer.finish();
}

}  // namespace attn
