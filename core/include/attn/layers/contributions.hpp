#pragma once

#include <vector>

namespace attn {

/// A linear function of a stack's output at one position, such as a token's logit, split into parts
/// that add up to it. This is direct logit attribution (Elhage et al. 2021, A Mathematical
/// Framework for Transformer Circuits). TransformerEncoder::contributions() and
/// LanguageModel::contributions() compute the parts.
///
/// The residual stream is the sum of the stack's input and of the outputs of all sublayers. If the
/// final norm's scale s is treated as a constant, the norm is linear in this sum, and so is the dot
/// product with a direction u:
///
///   total = u · norm(r) = Σ over parts c of g · c / s + bias,   r = Σ c,  g = weight ∘ u
///
/// For a LayerNorm, s is the standard deviation of r, and g is replaced with g minus its mean. If a
/// layer normalises the output of attention (norm_outputs), that norm's scale is a constant, too.
///
/// A contribution is not the effect of removing the part: without it, later layers and the norm's
/// scale would change, too. To measure that effect, use Interventions.
struct Contributions {
  /// The parts of one layer.
  struct Layer {
    std::vector<double> heads;  ///< each head's output, without out_proj.bias
    double feed_forward = 0;    ///< "mlp_out": the feed-forward network, with all biases
  };

  double embedding = 0;  ///< the input of the first layer, including positions
  std::vector<Layer> layers;
  /// The biases of attention's output projections, of the norms after them, of the final norm, and
  /// of the output layer.
  double bias = 0;
  /// The value that the parts add up to, computed from the stack's output. The sum of the parts
  /// differs from it by at most 1e-5 times the sum of their magnitudes.
  double total = 0;
};

}  // namespace attn
