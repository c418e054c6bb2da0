#pragma once

#include <span>
#include <string_view>

#include "attn/io/safetensors.hpp"
#include "models/model_config.hpp"
#include "models/model_tensors.hpp"

namespace attn {

/// Finds the tensors of a model. `index` is the text of its index, or empty. Throws the errors of
/// ModelTensors, and kInvalidArgument if `files` are not the files that the index names.
ModelTensors read_tensors(std::span<const SafetensorsHeader> files, std::string_view index);

/// Rejects fields that change results in a way that attn does not support.
void reject_unsupported(const ModelConfig& config);

/// Rejects the weights of LoRA and similar adapters, which are useless without the model that they
/// adapt, and models in which PEFT keeps a layer twice, before and after training.
void reject_adapter(const ModelTensors& tensors);

/// Rejects quantised weights that the configuration does not mention. Recognises the tensor names
/// and types of GPTQ, AWQ, MLX, bitsandbytes and scaled FP8.
void reject_quantized(ModelTensors& tensors);

}  // namespace attn
