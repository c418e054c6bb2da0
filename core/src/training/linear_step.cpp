#include "training/linear_step.hpp"

#include "attn/layers/linear.hpp"
#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "training/row_sums.hpp"

namespace attn {

Variable Linear::forward(const Variable& x) const {
  training::Recording record("Linear", this, {&x});
  require_rows("x", x.value(), "in_features", in_features_);
  Tensor y = x.rank() == 3 ? record.memory({x.size(0), x.size(1), out_features_})
                           : record.memory({x.size(0), out_features_});
  forward(x.value(), y, record.context());
  return record.finish(y, training::LinearStep(record.node(x), record.parameter(*this, weight_),
                                               record.parameter(*this, bias_), weight_));
}

namespace training {
namespace {

/// c = a · bᵀ: a (rows, depth), b (cols, depth), c (rows, cols).
void multiply(const ConstTensor& a, const ConstTensor& b, const Tensor& c, Context& context) {
  runtime::Execution run(context);
  float* packed = run.floats(kernels::packed_size(b.size(0), b.size(1)), "matrix product");
  float* scratch = take_product_scratch(b.size(1), run);
  pack_matrix(b, packed, b.size(1), run);
  multiply_packed(a, packed, nullptr, c, run, scratch);
}

/// (B, N, width), row-major, seen as (B·N, width).
template <class T>
TensorView<T> as_rows(const TensorView<T>& x) {
  if (x.rank() == 2) return x;
  return TensorView<T>(x.data(), {x.size(0) * x.size(1), x.size(2)});
}

ConstTensor transposed(const ConstTensor& x) {
  return ConstTensor(x.data(), std::array{x.size(1), x.size(0)},
                     std::array{x.stride(1), x.stride(0)});
}

}  // namespace

void LinearStep::backward(BackwardPass& pass, const ConstTensor& output_gradient) {
  const ConstTensor dy = as_rows(output_gradient);
  const std::int64_t end = first_row_ + weight_.size(0);
  pass.add_to(x_, [&](const Tensor& dx) {
    multiply(dy, transposed(weight_), as_rows(dx), pass.context());
  });
  pass.add_to_rows(weights_, first_row_, end, [&](const Tensor& dw) {
    multiply(transposed(dy), transposed(as_rows(x_->value)), dw, pass.context());
  });
  pass.add_to_rows(biases_, first_row_, end, [&](const Tensor& db) { sum_rows(dy, db, pass); });
}

}  // namespace training
}  // namespace attn
