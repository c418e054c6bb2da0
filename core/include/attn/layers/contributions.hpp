#pragma once

#include <vector>

namespace attn {

/// The parts that add up to a linear function of a stack's output at one position, such as a
/// token's logit: direct logit attribution (Elhage et al. 2021, A Mathematical Framework for
/// Transformer Circuits). TransformerEncoder::contributions() and LanguageModel::contributions()
/// compute these parts.
///
/// The residual stream is the sum of the stack's input and of the outputs of all layers. With the
/// final norm's scale s fixed at its value, the norm is linear in this sum, and so is the dot
/// product with a direction u:
///
///   total = u · norm(r) = Σ over parts c of g · c / s + bias,   r = Σ c,  g = weight ∘ u
///
/// For a LayerNorm, s is the standard deviation of r, and g minus its mean replaces g. If a layer
/// normalises the output of attention (norm_outputs), the scale of this norm is fixed in the same
/// way.
///
/// A contribution is not the effect of removing the part: without it, later layers and the norm's
/// scale would change, too. To measure that effect, use Interventions.
struct Contributions {
  /// The parts of one layer.
  struct Layer {
    std::vector<double> heads;  ///< each head's output, without out_proj.bias
    double feed_forward = 0;    ///< the feed-forward network, with its biases
  };

  double embedding = 0;  ///< the input of the first layer, including positions
  std::vector<Layer> layers;
  /// The biases of attention's output projections and of the norms, and the output layer's bias.
  double bias = 0;
  /// The value that the parts add up to, computed from the stack's output. The sum of the parts
  /// differs from it by at most 1e-5 times the sum of their magnitudes.
  double total = 0;
};

}  // namespace attn
