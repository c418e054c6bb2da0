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

/// A layer of an encoder or a decoder, by the names of its parameters. Biases may be missing. The
/// feed-forward network is a gated one where there is a gate, heads of queries and keys are
/// normalised and what sublayers give is where there are such norms, and the norm before or behind
/// a sublayer may be missing.
template <class T>
struct TransformerLayerOf {
  std::map<std::string, ArrayOf<T>> weights;
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  Activation activation = Activation::kRelu;
  double eps = 1e-5;
  bool norm_first = false;
  bool rms = false;                                  ///< RMSNorm, which qk-norm always is
  bool norms_add_one = false;                        ///< RMSNorm multiplies by 1 + weight
  std::vector<long double> rotary_frequencies = {};  ///< of self-attention
  RotaryPlaces places = {};                          ///< of self-attention
  /// What dropout multiplies by: what each sublayer gives, and the hidden layer; or left out.
  std::vector<Array> kept_outputs = {};  ///< (B, N, E)
  Array kept_hidden = {};                ///< (B, N, hidden)
};
using TransformerLayer = TransformerLayerOf<double>;

TransformerLayerOf<Scalar> variables(Tape&, const TransformerLayer&);

/// x (B, N, E). `options` gives everything but query, key and value. Attention weights go to
/// `weights` if it is not null.
template <class T>
ArrayOf<T> encoder_layer(const TransformerLayerOf<T>&, const Given<ArrayOf<T>>& x,
                         const Given<AttentionOf<T>>& options = {},
                         Given<ArrayOf<T>*> weights = nullptr);

/// What the layer uses: of LayerNorm, or of RMSNorm.
template <class T>
ArrayOf<T> norm(const TransformerLayerOf<T>&, const std::string& name, const Given<ArrayOf<T>>& x);

/// x (B, N, E), memory (B, M, E).
template <class T>
ArrayOf<T> decoder_layer(const TransformerLayerOf<T>&, const Given<ArrayOf<T>>& x,
                         const Given<ArrayOf<T>>& memory,
                         const Given<AttentionOf<T>>& self_options = {},
                         const Given<AttentionOf<T>>& cross_options = {},
                         Given<ArrayOf<T>*> cross_weights = nullptr);

}  // namespace reference
