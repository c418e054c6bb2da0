#pragma once

#include "training/recording.hpp"

namespace attn::training {

/// sums = Σ_i x_i of the rows of a matrix, which lie side by side in each row. Their bits depend on
/// the instruction set alone.
void sum_rows(const ConstTensor& x, const Tensor& sums, BackwardPass& pass);

}  // namespace attn::training
