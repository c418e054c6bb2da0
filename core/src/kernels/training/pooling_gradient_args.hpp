#pragma once

#include "kernels/strided.hpp"

namespace attn::kernels {

/// How weights were computed from the scores of query-key pairs.
enum class PairWeight : int {
  kSoftmax,       ///< the softmax of scores
  kGaussian,      ///< the softmax of −distance² / (2·width²)
  kEpanechnikov,  ///< max(1 − distance/width, 0), divided by the row's sum
};

/// The backward pass of weights, row by row, with d = weight_gradient − Σ_j weight_j ·
/// weight_gradient_j:
///
///   kSoftmax       gradient_j = weight_j · d_j
///   kGaussian      gradient_j = weight_j · d_j / width²
///   kEpanechnikov  gradient_j = d_j / (Σ_k score_k · width · distance_j)
///
/// For kGaussian and kEpanechnikov, the gradients of query and key are then ±gradient · (key −
/// query). gradient_j is 0 if the weight or the distance is 0, even if other numbers are not
/// finite.
struct WeightGradientArgs {
  PairWeight pair = PairWeight::kSoftmax;
  index rows = 0;
  index cols = 0;
  const float* weights = nullptr;          ///< weights (rows, cols); the arrays below have the same
                                           ///< shape
  const float* weight_gradient = nullptr;  ///< gradient of a weight; read only if the weight is not
                                           ///< 0
  const float* scores = nullptr;           ///< scores −2 · distance²; unused for kSoftmax
  float width = 1;
  float* gradient = nullptr;
  float* selected = nullptr;    ///< weight_gradient, or 0 where the weight is 0; null if it is not
                                ///< needed
  float* width_sums = nullptr;  ///< (rows): the gradient of ln width, summed over j; or null
};

/// The term that one member of a pair adds to the gradient of the other.
enum class PairTerm : int {
  kOther,       ///< factor · x_n
  kDifference,  ///< factor · (x_n − y_i)
  kTanh,        ///< factor · tanh'(x_n + y_i)
};

/// sums[i] = Σ_n term(factor[i, n], x_n, y_i), over the pairs whose factor is not 0.
struct PairSumsArgs {
  PairTerm term = PairTerm::kOther;
  index rows = 0;
  index count = 0;  ///< number of vectors x_n
  index cols = 0;
  Strided<const float> factors;
  const float* x = nullptr;               ///< (count, cols)
  const float* y = nullptr;               ///< (rows, cols); unused for kOther
  const float* column_weights = nullptr;  ///< (cols): factors on the sums, for kTanh
  float* sums = nullptr;                  ///< (rows, cols)
  float* tanh_sums = nullptr;             ///< (rows, cols): Σ_n factor · tanh(x_n + y_i); or null
};

}  // namespace attn::kernels
