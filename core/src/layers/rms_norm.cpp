#include "attn/layers/rms_norm.hpp"

#include "layers/norm.hpp"

namespace attn {

RmsNorm::RmsNorm(std::int64_t width, const RmsNormOptions& options)
    : width_(width), options_(options) {
  check_norm_options(width, options.eps);
  add_intermediates({"output"});
  if (!options.elementwise_affine) return;
  weight_ =
      add_parameter("weight", {width},
                    options.zero_centred_weight ? Initialization::zeros() : Initialization::ones());
}

kernels::NormArgs RmsNorm::make_args() const noexcept {
  kernels::NormArgs args;
  args.cols = width_;
  args.centred = false;
  args.weight = weight_.data();
  args.weight_offset = options_.zero_centred_weight ? 1.0F : 0.0F;
  args.epsilon = options_.eps;
  return args;
}

void RmsNorm::forward(const ConstAnyTensor& x, const AnyTensor& output, Context& context,
                      Intermediates* intermediates) const {
  normalize(*this, make_args(), x, nullptr, output, context, intermediates);
}

void RmsNorm::forward_sum(const ConstAnyTensor& x, const ConstAnyTensor& y, const AnyTensor& output,
                          Context& context, Intermediates* intermediates) const {
  normalize(*this, make_args(), x, &y, output, context, intermediates);
}

}  // namespace attn
