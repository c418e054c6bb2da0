#include "training/linear_step.hpp"

#include "attn/layers/linear.hpp"
#include "layers/module_access.hpp"
#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "training/products.hpp"
#include "training/row_sums.hpp"
#include "validation.hpp"

namespace attn {

Variable Linear::forward(const Variable& x) const {
  ModuleAccess::require_float32("weight", packed_->type());
  training::Recording record("Linear", this, {&x});
  require_rows("x", x.value(), "in_features", in_features_);
  Tensor y = x.rank() == 3 ? record.memory({x.size(0), x.size(1), out_features_})
                           : record.memory({x.size(0), out_features_});
  forward(x.value(), y, record.context());
  return record.finish(y, training::LinearStep({.x = record.node(x),
                                                .weights = record.parameter(*this, weight_),
                                                .biases = record.parameter(*this, bias_),
                                                .weight = weight_}));
}

namespace training {

void LinearStep::backward(BackwardPass& pass, const ConstTensor& output_gradient) {
  const auto& [x, weights, biases, weight, first_row, first_bias, first_column] = parts_;
  const std::int64_t rows = weight.size(0);
  const ConstTensor dy = as_rows(output_gradient).slice(1, first_column, first_column + rows);
  // Before version 16, clang captures structured bindings only with an initializer.
  pass.add_to(x, [&, &weight = weight](const Tensor& dx) {
    multiply(dy, transposed(weight), as_rows(dx), pass.context());
  });
  pass.add_to_rows(weights, first_row, first_row + rows, [&, &x = x](const Tensor& dw) {
    multiply_transposed(dy, as_rows(x->value), dw, pass.context());
  });
  pass.add_to_rows(biases, first_bias, first_bias + rows,
                   [&](const Tensor& db) { sum_rows(dy, db, pass); });
}

}  // namespace training
}  // namespace attn
