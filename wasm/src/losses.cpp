// Computes losses from variables and from tensors.

#include "attn/training/losses.hpp"

#include <emscripten/bind.h>

#include <cstdint>

#include "context.hpp"
#include "fields.hpp"
#include "guarded.hpp"
#include "recording.hpp"
#include "tensor_argument.hpp"

namespace attn::wasm {
namespace {

Variable record_cross_entropy(const Variable& logits, const TensorArgument& targets,
                              const CrossEntropyOptions& options) {
  return cross_entropy(logits, ids(targets), options);
}

/// `gradient` may be null.
float cross_entropy_of(const TensorArgument& logits, const TensorArgument& targets,
                       const CrossEntropyOptions& options, const TensorArgument* gradient) {
  if (!gradient) return cross_entropy(logits.floats(), ids(targets), options, context());
  return cross_entropy_with_gradient(logits.floats(), ids(targets), gradient->result(), options,
                                     context());
}

Variable record_mse_loss(const Variable& prediction, const Variable& target,
                         LossReduction reduction) {
  return mse_loss(prediction, target, reduction);
}

float mse_loss_of(const TensorArgument& prediction, const TensorArgument& target,
                  LossReduction reduction, const TensorArgument* gradient) {
  if (!gradient) return mse_loss(prediction.floats(), target.floats(), reduction, context());
  return mse_loss_with_gradient(prediction.floats(), target.floats(), gradient->result(), reduction,
                                context());
}

}  // namespace

EMSCRIPTEN_BINDINGS(losses) {
  using emscripten::allow_raw_pointers;
  using emscripten::function;
  emscripten::enum_<LossReduction>("LossReduction")
      .value("mean", LossReduction::kMean)
      .value("sum", LossReduction::kSum);
  emscripten::value_object<CrossEntropyOptions>("CrossEntropyOptions")
      .field("ignoreIndex", get_number<&CrossEntropyOptions::ignore_index>,
             set_number<&CrossEntropyOptions::ignore_index>)
      .field("labelSmoothing", &CrossEntropyOptions::label_smoothing)
      .field("reduction", &CrossEntropyOptions::reduction);
  function("recordCrossEntropy", guarded<&record_cross_entropy>);
  function("crossEntropy", guarded<&cross_entropy_of>, allow_raw_pointers());
  function("recordMseLoss", guarded<&record_mse_loss>);
  function("mseLoss", guarded<&mse_loss_of>, allow_raw_pointers());
}

}  // namespace attn::wasm
