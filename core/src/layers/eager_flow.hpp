#pragma once

#include "layers/intermediate_writer.hpp"
#include "layers/transformer.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Computes the forward pass of a Transformer layer; see transformer_forward.hpp. The residual
/// stream is float32. `output`, which may be `x`, is written last.
class EagerFlow {
 public:
  using Memory = ConstAnyTensor;
  struct Terms {};

  EagerFlow(const Module& layer, const TransformerLayerOptions& options, const ConstAnyTensor& x,
            const AnyTensor& output, Intermediates* intermediates, Context& context);

  void attend(const Sublayer& sublayer, const MultiHeadAttention& attention,
              MultiHeadAttentionCall call, const Terms&);
  void attend_to(const ConstAnyTensor& memory, const KeyValueCache* cache, const Sublayer& sublayer,
                 const MultiHeadAttention& attention, const AttentionOptions& options,
                 const Terms&);
  void feed_forward(const Sublayer& sublayer, const AnyFeedForward& network,
                    const Dropout& dropout);

 private:
  /// Returns the sublayer's input, or writes the normalised input to `result_` and returns that
  /// tensor.
  ConstTensor input_of(const Sublayer& sublayer);
  /// Writes the sum of the stream and `result_` to `sum`, which becomes the stream.
  void add_result(const Sublayer& sublayer, const Tensor& sum);

  const bool norm_first_, parallel_;
  const AnyTensor output_;
  Context& context_;
  IntermediateWriter writer_;
  runtime::Execution run_;
  const Tensor result_;  ///< a sublayer's result, until it is added
  const Tensor sum_;     ///< the residual stream after a sublayer
  const ConstTensor x_;  ///< the layer's input
  ConstTensor stream_;
};

}  // namespace attn
