#include "attn/layers/linear.hpp"

#include <algorithm>
#include <array>

#include "attn/layers/initialization.hpp"
#include "layers/packed_matrix.hpp"
#include "validation.hpp"

namespace attn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool bias)
    : in_features_(in_features), out_features_(out_features) {
  validation::require_at_least("in_features", in_features, 1);
  validation::require_at_least("out_features", out_features, 1);
  parameters_.add("weight", std::array{out_features, in_features});
  if (bias) parameters_.add("bias", std::array{out_features});
  packed_ = std::make_unique<PackedMatrix>(out_features, in_features);
}

Linear::~Linear() = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;

std::vector<std::string> Linear::parameter_names() const { return parameters_.names(); }

ConstTensor Linear::parameter(std::string_view name) const { return parameters_.get(name); }

void Linear::set_parameter(std::string_view name, const ConstTensor& values) {
  parameters_.set(name, values);
  if (name == "weight") packed_->pack(parameters_.get("weight"));
}

void Linear::initialize_xavier(const RandomStream& random, Context& context) {
  const Tensor weight = parameters_.mutable_view("weight");
  xavier_uniform(weight, random, 1, context);
  packed_->pack(weight);
  if (parameters_.contains("bias")) {
    std::fill_n(parameters_.mutable_view("bias").data(), out_features_, 0.0F);
  }
}

void Linear::forward(const ConstTensor& x, const Tensor& output, Context& context) const {
  if (x.rank() != 2 && x.rank() != 3) {
    validation::fail_rows("x", x.shape(), "in_features");
  }
  if (x.rank() == 2) {
    validation::require_shape("x", x, {-1, in_features_});
    validation::require_shape("output", output, {x.size(0), out_features_});
  } else {
    validation::require_shape("x", x, {-1, -1, in_features_});
    validation::require_shape("output", output, {x.size(0), x.size(1), out_features_});
  }
  validation::require_data("x", x);
  validation::require_data("output", output);
  runtime::Execution run(context);
  packed_->multiply(x, parameters_.contains("bias") ? parameters_.get("bias").data() : nullptr,
                    output, run, packed_->take_scratch(run));
}

}  // namespace attn
