#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "attn/any_tensor.hpp"
#include "host_tensor.hpp"

namespace attn_test {

/// A tensor of any element type that owns its memory. Takes and returns its numbers as floats.
class TypedTensor {
 public:
  TypedTensor(attn::ElementType type, std::vector<std::int64_t> shape,
              const std::vector<float>& numbers, Layout layout = Layout::kContiguous)
      : type_(type) {
    if (type == attn::ElementType::kFloat32) floats_ = {std::move(shape), numbers, layout};
    if (type == attn::ElementType::kFloat16)
      halves_ = {std::move(shape), rounded<attn::Float16>(numbers), layout};
    if (type == attn::ElementType::kBFloat16) {
      brains_ = {std::move(shape), rounded<attn::BFloat16>(numbers), layout};
    }
  }

  attn::AnyTensor view() {
    if (type_ == attn::ElementType::kFloat16) return halves_.view();
    if (type_ == attn::ElementType::kBFloat16) return brains_.view();
    return floats_.view();
  }
  std::vector<float> values() const {
    std::vector<float> result = floats_.values();
    for (const attn::Float16 x : halves_.values()) result.push_back(x);
    for (const attn::BFloat16 x : brains_.values()) result.push_back(x);
    return result;
  }
  bool gaps_are_untouched() const {
    return floats_.gaps_are_untouched() && halves_.gaps_are_untouched() &&
           brains_.gaps_are_untouched();
  }

 private:
  template <class T>
  static std::vector<T> rounded(const std::vector<float>& numbers) {
    return {numbers.begin(), numbers.end()};
  }

  attn::ElementType type_;
  FloatTensor floats_;
  HostTensor<attn::Float16> halves_;
  HostTensor<attn::BFloat16> brains_;
};

/// Rounds numbers to an element type and returns them as floats.
inline std::vector<float> as_type(attn::ElementType type, const std::vector<float>& numbers) {
  return TypedTensor(type, {std::ssize(numbers)}, numbers).values();
}

}  // namespace attn_test
