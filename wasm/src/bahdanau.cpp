// Bahdanau's decoder and its state.

#include <emscripten/bind.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "attn/layers/bahdanau_decoder.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "layers.hpp"

namespace attn::wasm {
namespace {

using State = BahdanauDecoder::State;

BahdanauDecoder* make_decoder(const BahdanauDecoderOptions& options, const FirstWeights& weights) {
  return initialized(std::make_unique<BahdanauDecoder>(options), weights);
}

/// `encoder_lens` may be null.
State* init_state(const BahdanauDecoder& decoder, const TensorArgument& encoder_outputs,
                  const TensorArgument& hidden, const TensorArgument* encoder_lens) {
  return new State(decoder.init_state(
      encoder_outputs.floats(), hidden.floats(),
      encoder_lens ? encoder_lens->as<const std::int32_t>() : ConstLengths(), context()));
}

/// `alignment` may be null.
void decode(const BahdanauDecoder& decoder, const TensorArgument& tokens, State& state,
            const TensorArgument& logits, const TensorArgument* alignment, const LayerCall* call) {
  decoder.forward(tokens.as<const std::int32_t>(), state, logits.result(),
                  alignment ? alignment->result() : Tensor(), context(), given(call).intermediates);
}

void read_hidden(const State& state, const TensorArgument& output) {
  const ConstTensor hidden = state.hidden();
  std::copy_n(hidden.data(), hidden.size(0) * hidden.size(1) * hidden.size(2),
              output.result().data());
}

State* copy(const State& state) { return new State(state); }

}  // namespace

EMSCRIPTEN_BINDINGS(bahdanau) {
  using emscripten::allow_raw_pointers;

  using O = BahdanauDecoderOptions;
  emscripten::value_object<O>("BahdanauDecoderOptions")
      .field("vocabSize", get_number<&O::vocab_size>, set_number<&O::vocab_size>)
      .field("embedSize", get_number<&O::embed_size>, set_number<&O::embed_size>)
      .field("numHiddens", get_number<&O::num_hiddens>, set_number<&O::num_hiddens>)
      .field("numLayers", get_number<&O::num_layers>, set_number<&O::num_layers>)
      .field("encoderDim", get_number<&O::encoder_dim>, set_number<&O::encoder_dim>);
  emscripten::class_<BahdanauDecoder, emscripten::base<Module>>("BahdanauDecoder")
      .constructor(guarded<&make_decoder>)
      .function("initState", guarded<&init_state>, allow_raw_pointers())
      .function("forward", guarded<&decode>, allow_raw_pointers());
  emscripten::class_<State>("BahdanauDecoderState")
      .function("readHidden", &read_hidden)
      .function("copy", guarded<&copy>, allow_raw_pointers());
}

}  // namespace attn::wasm
