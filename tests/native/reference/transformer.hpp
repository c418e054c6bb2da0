#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/activation.hpp"
#include "reference/array.hpp"
#include "reference/attention.hpp"
#include "reference/multi_head_attention.hpp"

namespace reference {

/// A layer of an encoder or a decoder, with parameters by name. Biases and norms are optional. A
/// layer may have norms before or after its sublayers, norms of the sublayers' outputs, and norms
/// of query heads and key heads. If "gate_proj.weight" is given, the feed-forward network is gated.
template <class T>
struct TransformerLayerOf {
  std::map<std::string, ArrayOf<T>> weights;
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  Activation activation = Activation::kRelu;
  double eps = 1e-5;
  bool norm_first = false;
  bool parallel = false;  ///< true if both sublayers of an encoder layer read its input
  bool rms = false;       ///< true if norms are RMSNorm; the norms of queries and keys always are
  bool norms_add_one = false;                        ///< true if RMSNorm multiplies by 1 + weight
  std::vector<long double> rotary_frequencies = {};  ///< for self-attention
  RotaryPlaces places = {};                          ///< for self-attention
  /// Dropout factors for the output of each sublayer and for the hidden layer; both may be omitted.
  std::vector<Array> kept_outputs = {};  ///< (B, N, E)
  Array kept_hidden = {};                ///< (B, N, hidden)
};
using TransformerLayer = TransformerLayerOf<double>;

TransformerLayerOf<Scalar> variables(Tape&, const TransformerLayer&);

/// Computes an encoder layer. x is (B, N, E). `options` provides all arguments except query, key
/// and value. Writes attention weights to `weights` if it is not null.
template <class T>
ArrayOf<T> encoder_layer(const TransformerLayerOf<T>&, const Given<ArrayOf<T>>& x,
                         const Given<AttentionOf<T>>& options = {},
                         Given<ArrayOf<T>*> weights = nullptr);

/// The norm that the layer uses: LayerNorm or RMSNorm.
template <class T>
ArrayOf<T> norm(const TransformerLayerOf<T>&, const std::string& name, const Given<ArrayOf<T>>& x);

/// Computes a decoder layer. x is (B, N, E), and memory is (B, M, E).
template <class T>
ArrayOf<T> decoder_layer(const TransformerLayerOf<T>&, const Given<ArrayOf<T>>& x,
                         const Given<ArrayOf<T>>& memory,
                         const Given<AttentionOf<T>>& self_options = {},
                         const Given<AttentionOf<T>>& cross_options = {},
                         Given<ArrayOf<T>*> cross_weights = nullptr);

}  // namespace reference
