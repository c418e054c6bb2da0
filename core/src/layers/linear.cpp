#include "attn/layers/linear.hpp"

#include <array>

#include "attn/layers/embedding.hpp"
#include "layers/packed_matrix.hpp"
#include "layers/showing.hpp"
#include "rows.hpp"
#include "validation.hpp"

namespace attn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool bias,
               ElementType weight_type)
    : in_features_(in_features), out_features_(out_features) {
  validation::require_at_least("in_features", in_features, 1);
  validation::require_at_least("out_features", out_features, 1);
  const auto xavier = Initialization::xavier_uniform();
  if (weight_type == ElementType::kBFloat16) {
    packed_ = std::make_shared<PackedMatrix>(out_features, in_features, weight_type);
    add_kept_parameter(
        "weight", std::array{out_features, in_features}, xavier,
        {.type = weight_type,
         .read = [packed = packed_](const Tensor& to) { packed->unpack(to); },
         .write = [packed = packed_](const ConstTensor& from,
                                     Context& context) { packed->pack(from, context); }});
  } else if (weight_type == ElementType::kFloat32) {
    weight_ = add_parameter("weight", {out_features, in_features}, xavier);
    packed_ = std::make_shared<PackedMatrix>(out_features, in_features);
    when_changed(
        [packed = packed_, weight = weight_](Context& context) { packed->pack(weight, context); });
  } else {
    validation::fail(ErrorCode::kInvalidArgument, "weight_type", {to_string(weight_type)},
                     {"float32 or bfloat16"});
  }
  if (bias) bias_ = add_parameter("bias", {out_features});
  add_intermediates({"output"});
}

Linear::Linear(const Embedding& embedding, bool bias, Context& context)
    : in_features_(embedding.options().embedding_dim),
      out_features_(embedding.options().num_embeddings),
      packed_(std::make_shared<PackedMatrix>(out_features_, in_features_)) {
  const ConstTensor weight = embedding.parameter("weight");
  // The embedding may outlive this layer.
  weight_ = share_parameter(embedding, "weight",
                            [packed = std::weak_ptr(packed_), weight](Context& changed_in) {
                              if (const auto matrix = packed.lock()) {
                                matrix->pack(weight, changed_in);
                              }
                            });
  packed_->pack(weight_, context);
  if (bias) bias_ = add_parameter("bias", {out_features_});
  add_intermediates({"output"});
}

void Linear::forward(const ConstTensor& x, const Tensor& output, Context& context,
                     Intermediates* intermediates) const {
  require_rows("x", x, "in_features", in_features_);
  require_rows_like("output", output, x, x.size(-2), out_features_);
  Showing show(*this, intermediates);
  runtime::Execution run(context);
  const Tensor shown = show.take("output", output.shape());
  packed_->multiply(x, bias_.data(), output, run, packed_->take_scratch(run));
  show.fill(shown, output, run);
  show.done();
}

}  // namespace attn
