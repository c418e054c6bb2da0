#pragma once

#include <cstdint>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// Sinusoidal positional encoding in extended precision, straight from its formula.
struct SinusoidalEncoding {
  std::vector<double> positions;
  std::int64_t width = 0;
  double base = 10000;
  bool concatenated = false;  ///< all sines, then all cosines
};

/// (positions, width)
Array sinusoidal_encoding(const SinusoidalEncoding&);

/// The encoding (positions, width) with every step rounded to float: positions, base, exponents,
/// powers and quotients, and the sines and cosines of the quotients.
Array sinusoidal_encoding_in_float32(const SinusoidalEncoding&);

/// base^(−2j/d). Solves x^d = base^(−2j) with Newton's method, because powl on some systems is no
/// more accurate than pow.
long double sinusoidal_frequency(double base, std::int64_t j, std::int64_t width);

/// The function of a column (cosine or sine) and the index of its frequency.
struct SinusoidalColumn {
  bool cosine;
  std::int64_t j;
};
SinusoidalColumn sinusoidal_column(std::int64_t c, std::int64_t width, bool concatenated);

}  // namespace reference
