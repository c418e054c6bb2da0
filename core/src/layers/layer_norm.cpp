#include "attn/layers/layer_norm.hpp"

#include "layers/norm.hpp"

namespace attn {

LayerNorm::LayerNorm(std::int64_t width, const LayerNormOptions& options)
    : width_(width), options_(options) {
  check_norm_options(width, options.eps);
  add_intermediates({"output"});
  if (!options.elementwise_affine) return;
  weight_ = add_parameter("weight", {width}, Initialization::ones());
  if (options.bias) bias_ = add_parameter("bias", {width});
}

kernels::NormArgs LayerNorm::make_args() const noexcept {
  kernels::NormArgs args;
  args.cols = width_;
  args.weight = weight_.data();
  args.bias = bias_.data();
  args.epsilon = options_.eps;
  return args;
}

void LayerNorm::forward(const ConstAnyTensor& x, const AnyTensor& output, Context& context,
                        Intermediates* intermediates) const {
  normalize(*this, make_args(), x, nullptr, output, context, intermediates);
}

void LayerNorm::forward_sum(const ConstAnyTensor& x, const ConstAnyTensor& y,
                            const AnyTensor& output, Context& context,
                            Intermediates* intermediates) const {
  normalize(*this, make_args(), x, &y, output, context, intermediates);
}

}  // namespace attn
