#pragma once

#include <vector>

#include "reference/array.hpp"

namespace reference {

enum class Cell { kTanh, kRelu, kGru };

/// One recurrent layer, with the names of PyTorch's documentation.
struct RecurrentLayer {
  Array weight_ih;         ///< (gates · H, E)
  Array weight_hh;         ///< (gates · H, H)
  Array bias_ih, bias_hh;  ///< (gates · H), or left out
};

struct RecurrentResult {
  Bounded output;  ///< (N, H)
  Bounded h_n;     ///< (layers, H)
};

/// One sequence x (N, E) through layers; h_0 (layers, H) or left out.
RecurrentResult recurrent(Cell cell, const std::vector<RecurrentLayer>& layers, const Array& x,
                          const Array& h_0 = {});

}  // namespace reference
