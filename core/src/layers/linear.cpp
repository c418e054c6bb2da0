#include "attn/layers/linear.hpp"

#include <array>

#include "attn/layers/embedding.hpp"
#include "layers/intermediate_writer.hpp"
#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "validation.hpp"

namespace attn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool bias, WeightFormat weights)
    : in_features_(in_features), out_features_(out_features) {
  validation::require_at_least("in_features", in_features, 1);
  validation::require_at_least("out_features", out_features, 1);
  const auto xavier = Initialization::xavier_uniform();
  packed_ = std::make_shared<PackedMatrix>(out_features, in_features, weights);
  if (packed_->is_kept()) {
    add_kept_parameter("weight", std::array{out_features, in_features}, xavier,
                       make_keeper({packed_}));
  } else {
    weight_ = add_parameter("weight", {out_features, in_features}, xavier);
    when_changed(
        [packed = packed_, weight = weight_](Context& context) { packed->pack(weight, context); });
  }
  if (bias) bias_ = add_parameter("bias", {out_features});
  add_intermediates({"output"});
}

Linear::Linear(const Embedding& embedding, bool bias, Context& context)
    : in_features_(embedding.options().embedding_dim),
      out_features_(embedding.options().num_embeddings),
      packed_(embedding.packed_) {
  if (bias) bias_ = add_parameter("bias", {out_features_});
  add_intermediates({"output"});
  if (packed_) return;
  packed_ = std::make_shared<PackedMatrix>(out_features_, in_features_);
  const ConstTensor weight = embedding.parameter("weight");
  // The embedding may outlive this layer, so the embedding's refresh function has only a weak
  // pointer to the packed matrix.
  weight_ = share_parameter(embedding, "weight",
                            [packed = std::weak_ptr(packed_), weight](Context& changed_in) {
                              if (const auto matrix = packed.lock()) {
                                matrix->pack(weight, changed_in);
                              }
                            });
  packed_->pack(weight_, context);
}

void Linear::forward(const ConstAnyTensor& x, const AnyTensor& output, Context& context,
                     Intermediates* intermediates) const {
  require_rows("x", x, "in_features", in_features_);
  require_rows_like("output", output, x, x.size(-2), out_features_);
  IntermediateWriter writer(*this, intermediates);
  runtime::Execution run(context);
  const Tensor intermediate = writer.prepare("output", output);
  packed_->multiply(x, bias_.data(), output, run, packed_->take_scratch(x, output, run));
  writer.finish_value("output", intermediate, output, run);
  writer.finish();
}

}  // namespace attn
