#pragma once

#include <cstdint>

#include "attn/any_tensor.hpp"
#include "attn/tensor_view.hpp"
#include "elementwise.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

/// Inputs and outputs of any type for what computes in float32.
namespace attn {

/// An input as float32: as it lies there, or widened in scratch memory. One that lacks data still
/// does.
inline ConstTensor widened(const ConstAnyTensor& from, runtime::Execution& run) {
  if (from.type() == ElementType::kFloat32) return from.as<float>();
  const auto shape = from.shape();
  if (!from.data()) return ConstTensor(nullptr, shape);
  const std::int64_t count = validation::product("x", shape);
  const Tensor to(run.floats(count, "widened numbers"), shape);
  if (count > 0) widen(from, to, run);
  return to;
}

/// Float32 memory for an output: its own, or scratch memory, which round_to() then rounds.
inline Tensor unrounded(const AnyTensor& output, runtime::Execution& run) {
  if (output.type() == ElementType::kFloat32) return output.as<float>();
  const auto shape = output.shape();
  if (!output.data()) return Tensor(nullptr, shape);
  return Tensor(run.floats(validation::product("output", shape), "numbers to be rounded"), shape);
}
inline void round_to(const AnyTensor& output, const Tensor& values,
                     runtime::Execution& run) noexcept {
  if (output.type() != ElementType::kFloat32) narrow(values, output, run);
}

}  // namespace attn
