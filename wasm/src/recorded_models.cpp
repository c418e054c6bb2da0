// Language models called with a tape.

#include <emscripten/bind.h>

#include "attn/models/language_model.hpp"
#include "attn/training/tape.hpp"
#include "guarded.hpp"
#include "recording.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

Variable predict(Tape& tape, const LanguageModel& model, const TensorArgument& tokens,
                 const TensorArgument* token_types, const AttentionOptions* attention,
                 const TensorArgument* positions) {
  LanguageModelCall call{.attention = given(attention)};
  if (token_types) call.token_types = ids(*token_types);
  if (positions) call.positions = positions->as<const double>();
  return model.forward(tape, ids(tokens), call);
}

}  // namespace

EMSCRIPTEN_BINDINGS(recorded_models) {
  emscripten::function("recordLanguageModel", guarded<&predict>, emscripten::allow_raw_pointers());
}

}  // namespace attn::wasm
