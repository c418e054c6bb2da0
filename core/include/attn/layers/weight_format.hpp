#pragma once

#include "attn/element_type.hpp"

namespace attn {

/// How a layer stores its weight matrices.
///
/// float32 weights are stored twice: row-major, for setting and reading them, and in the order in
/// which products read them. float16 and bfloat16 weights are stored only in the order of the
/// products, with two bytes per number, and thus take a quarter of the memory. Products widen them
/// to float32, so results are bit-identical to results with float32 weights of the same values,
/// unless inputs are rounded (see round_inputs). For inputs with few rows, where memory is the
/// bottleneck, such products are faster than products with float32 weights; for inputs with many
/// rows, they are about as fast. A layer with 16-bit weights is for inference only: it has no
/// gradient. Other parameters stay float32.
struct WeightFormat {
  constexpr WeightFormat() = default;
  constexpr WeightFormat(ElementType weight_type, bool rounds_inputs = true)
      : type(weight_type), round_inputs(rounds_inputs) {}

  bool operator==(const WeightFormat&) const = default;

  ElementType type = ElementType::kFloat32;  ///< any type except kInt8
  /// Rounds inputs to bfloat16 for products with kBFloat16 weights if the instruction set has
  /// bfloat16 products. This is faster, above all for inputs with many rows. On other instruction
  /// sets, this option has no effect.
  bool round_inputs = true;
};

}  // namespace attn
