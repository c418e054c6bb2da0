#include "models/reject_unsupported.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "io/safetensors_numbers.hpp"
#include "models/safetensors_index.hpp"
#include "validation.hpp"

namespace attn {

using validation::fail;

ModelTensors read_tensors(std::span<const SafetensorsHeader> files, std::string_view index_text) {
  std::optional<SafetensorsIndex> index;
  if (!index_text.empty()) {
    index = read_safetensors_index(index_text);
    if (index->files.size() != files.size()) {
      fail(ErrorCode::kInvalidArgument, "files", {files.size()},
           {index->files.size(), "; pass the files that the index names, in the same order"});
    }
  }
  return ModelTensors(files, index ? &*index : nullptr);
}

void reject_unsupported(const ModelConfig& config) {
  for (const char* field : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (config.integer(field, 0) > 0) {
      config.reject(field, "0; attn does not support mixtures of experts");
    }
  }
  for (const char* field : {"quantization_config", "compression_config", "quantization"}) {
    if (config.has_any(field))
      config.reject(field, "none; attn does not support quantised weights");
  }
  for (const char* field : {"pruned_heads", "per_layer_config"}) {
    if (config.has_any(field)) config.reject(field, "none; attn does not support this option");
  }
  for (const char* field : {"use_bidirectional_attention", "alibi", "attn_temperature_tuning",
                            "attn_output_gate", "use_mrope", "enable_moe_block"}) {
    if (config.flag(field, false)) config.reject(field, "false; attn does not support this option");
  }
  for (const char* field : {"logit_scale", "logits_scaling", "embedding_multiplier",
                            "residual_multiplier", "attention_multiplier"}) {
    if (config.number(field, 1) != 1) config.reject(field, "1; attn does not support other values");
  }
  for (const char* field : {"clip_qkv", "attention_chunk_size", "swiglu_limit"}) {
    if (config.has(field)) config.reject(field, "none; attn does not support this option");
  }
}

void reject_adapter(const ModelTensors& tensors) {
  constexpr std::string_view kParts[] = {"lora_",
                                         "lora.down",
                                         ".base_layer.",
                                         ".ia3_",
                                         ".modules_to_save",
                                         ".original_module.",
                                         "prompt_embeddings"};
  for (const ModelTensors::Found& tensor : tensors.all()) {
    const std::string& name = tensor.entry->name;
    const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
    if (std::ranges::none_of(kParts, has)) continue;
    fail(ErrorCode::kUnsupported, "tensor " + in_quotes(name), {"weights of an adapter"},
         {"a whole model; merge the adapter with PEFT's merge_and_unload() and save the result"});
  }
}

void reject_quantized(ModelTensors& tensors) {
  constexpr std::string_view kEndings[] = {".qweight",          ".weight_packed", ".weight_scale",
                                           ".weight_scale_inv", ".weight.absmax", ".SCB"};
  constexpr std::string_view kScales = "scales";
  for (const ModelTensors::Found& tensor : tensors.all()) {
    const std::string& name = tensor.name;
    const auto is_ending = [&](std::string_view ending) { return name.ends_with(ending); };
    bool is_quantized = std::ranges::any_of(kEndings, is_ending);
    if (!is_quantized && name.ends_with(".scales")) {
      const ModelTensors::Found* weight =
          tensors.find(name.substr(0, name.size() - kScales.size()) + "weight");
      is_quantized = weight && weight->entry->dtype == "U32";
    }
    if (!is_quantized) continue;
    fail(ErrorCode::kUnsupported, "tensor " + in_quotes(tensor.entry->name),
         {"part of quantised weights"}, {"weights in F32, F16 or BF16"});
  }
}

}  // namespace attn
