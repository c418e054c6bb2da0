#pragma once

#include "training/recording.hpp"

namespace attn::training {

/// sums = Σ_i x_i over the rows of a matrix whose columns are contiguous. Rounding depends only on
/// the instruction set.
void sum_rows(const ConstTensor& x, const Tensor& sums, BackwardPass& pass);

}  // namespace attn::training
