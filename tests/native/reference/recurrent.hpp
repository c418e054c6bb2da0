#pragma once

#include <vector>

#include "reference/array.hpp"
#include "reference/scalar.hpp"

namespace reference {

enum class Cell { kTanh, kRelu, kGru };

/// One recurrent layer, with the names of PyTorch's documentation.
template <class T>
struct RecurrentLayerOf {
  ArrayOf<T> weight_ih;         ///< (gates · H, E)
  ArrayOf<T> weight_hh;         ///< (gates · H, H)
  ArrayOf<T> bias_ih, bias_hh;  ///< (gates · H), or omitted
};
using RecurrentLayer = RecurrentLayerOf<double>;

std::vector<RecurrentLayerOf<Scalar>> variables(Tape&, const std::vector<RecurrentLayer>&);

template <class T>
struct RecurrentResultOf {
  BoundedOf<T> output;  ///< (N, H)
  BoundedOf<T> h_n;     ///< (layers, H)
};
using RecurrentResult = RecurrentResultOf<double>;

/// Processes one sequence x (N, E) through all layers; h_0 is (layers, H) or omitted.
template <class T>
RecurrentResultOf<T> recurrent(Cell cell, const Given<std::vector<RecurrentLayerOf<T>>>& layers,
                               const ArrayOf<T>& x, const Given<ArrayOf<T>>& h_0 = {});

}  // namespace reference
