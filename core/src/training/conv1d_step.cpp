#include <algorithm>
#include <array>

#include "attn/layers/conv1d.hpp"
#include "elementwise.hpp"
#include "rows.hpp"
#include "training/products.hpp"
#include "training/recording.hpp"
#include "training/row_sums.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;
using training::as_rows;
using training::BackwardPass;
using training::Node;

/// Processes one position κ of the kernel at a time. A position multiplies every stride-th token,
/// so memory is needed for one token per output, not for whole windows.
class Conv1dStep final : public training::Step {
 public:
  struct Parts {
    Node *x, *weight, *bias;
    index stride, dilation, padding;
  };

  explicit Conv1dStep(const Parts& parts) : p_(parts) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    const ConstTensor& weight = p_.weight->value;
    const ConstTensor dy = with_batch(output_gradient), rows = as_rows(dy);
    const index channels = weight.size(1), places = weight.size(2);
    runtime::Execution scratch(pass.context());
    const Tensor tokens(
        scratch.floats(validation::product("x", {dy.size(0), dy.size(1), channels}), "convolution"),
        {dy.size(0), dy.size(1), channels});
    pass.add_to(p_.x, [&](const Tensor& dx) {
      std::fill_n(dx.data(), validation::product("x", dx.shape()), 0.0F);
      for (index place = 0; place < places; ++place) {
        const Place at(*this, place, dx.size(-2), dy.size(1));
        if (at.begin == at.end) continue;
        training::multiply(rows, training::transposed(weight.select(2, place)), as_rows(tokens),
                           pass.context());
        const Tensor inputs = at.select_inputs(with_batch(dx));
        add(inputs, tokens.slice(1, at.begin, at.end), inputs, pass.run);
      }
    });
    pass.add_to(p_.weight, [&](const Tensor& dw) {
      const ConstTensor x = with_batch(p_.x->value);
      for (index place = 0; place < places; ++place) {
        const Place at(*this, place, x.size(1), dy.size(1));
        std::fill_n(tokens.data(), validation::product("x", tokens.shape()), 0.0F);
        if (at.begin < at.end) {
          copy(at.select_inputs(x), tokens.slice(1, at.begin, at.end), pass.run);
        }
        training::multiply_transposed(rows, as_rows(ConstTensor(tokens)), dw.select(2, place),
                                      pass.context());
      }
    });
    pass.add_to(p_.bias, [&](const Tensor& db) { training::sum_rows(rows, db, pass); });
  }

 private:
  /// The outputs [begin, end) for which one position of the kernel reads a token rather than
  /// padding.
  struct Place {
    index first, stride, begin, end;

    Place(const Conv1dStep& step, index place, index length, index outputs)
        : first(place * step.p_.dilation - step.p_.padding), stride(step.p_.stride) {
      begin = std::min(first < 0 ? (stride - 1 - first) / stride : 0, outputs);
      end = first < length ? std::min((length - 1 - first) / stride + 1, outputs) : begin;
      end = std::max(begin, end);
    }

    /// A view of the tokens of x (B, N, channels) that this position of the kernel multiplies.
    template <class T>
    TensorView<T> select_inputs(const TensorView<T>& x) const {
      const std::array shape{x.size(0), end - begin, x.size(2)};
      const std::array strides{x.stride(0), stride * x.stride(1), x.stride(2)};
      return TensorView<T>(x.pointer(index{0}, first + begin * stride), shape, strides);
    }
  };

  Parts p_;
};

}  // namespace

Variable Conv1d::forward(const Variable& x) const {
  training::Recording record("Conv1d", this, {&x});
  require_rows("x", x.value(), "in_channels", options_.in_channels);
  const index outputs = output_length(x.size(-2)), width = options_.out_channels;
  const Tensor y =
      x.rank() == 3 ? record.memory({x.size(0), outputs, width}) : record.memory({outputs, width});
  forward(x.value(), y, record.context());
  return record.finish(y, Conv1dStep({.x = record.node(x),
                                      .weight = record.parameter(*this, parameter("weight")),
                                      .bias = record.parameter(*this, bias_),
                                      .stride = options_.stride,
                                      .dilation = options_.dilation,
                                      .padding = padding_before_}));
}

}  // namespace attn
