#pragma once

#include "attn/element_type.hpp"

namespace attn {

/// How a layer keeps its weight matrices.
///
/// Of float32 they are kept twice, as they are set and read and in the order in which products read
/// them. Of float16 and bfloat16 they are kept in two bytes a number, in the latter order alone: a
/// quarter of the memory. Products widen them, and so give the bits that float32 weights of the
/// same values give; with few rows, where memory is the limit, they are faster, and with many about
/// as fast. Such a layer is for inference: it has no gradient. Other parameters stay float32.
struct WeightFormat {
  constexpr WeightFormat() = default;
  constexpr WeightFormat(ElementType weight_type, bool rounds_inputs = true)
      : type(weight_type), round_inputs(rounds_inputs) {}

  bool operator==(const WeightFormat&) const = default;

  ElementType type = ElementType::kFloat32;  ///< any but kInt8
  /// With kBFloat16, where the instruction set has products of bfloat16, inputs are rounded to it
  /// for them, which is faster, above all with many rows. Elsewhere it changes nothing.
  bool round_inputs = true;
};

}  // namespace attn
