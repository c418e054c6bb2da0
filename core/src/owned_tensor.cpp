#include "attn/owned_tensor.hpp"

#include <algorithm>

#include "validation.hpp"

namespace attn {
namespace {

std::size_t count_of(std::span<const std::int64_t> shape) {
  // Makes TensorView check the shape before memory is allocated.
  (void)Tensor(nullptr, shape);
  return validation::allocation("shape", validation::product("shape", shape), sizeof(float));
}

}  // namespace

OwnedTensor::OwnedTensor(std::span<const std::int64_t> shape)
    : shape_(shape.begin(), shape.end()), values_(count_of(shape)) {}

OwnedTensor::OwnedTensor(std::span<const std::int64_t> shape, std::vector<float> values)
    : shape_(shape.begin(), shape.end()), values_(std::move(values)) {
  (void)Tensor(std::span(values_), shape);
}

void OwnedTensor::fill(float value) noexcept { std::ranges::fill(values_, value); }

}  // namespace attn
