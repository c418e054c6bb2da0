#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/models/load_language_model.hpp"
#include "io/safetensors_numbers.hpp"
#include "models/families.hpp"
#include "models/model_config.hpp"
#include "models/model_tensors.hpp"
#include "models/safetensors_index.hpp"
#include "nearest_name.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

/// Rejects fields that change results in a way that attn does not support.
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
  for (const char* field :
       {"add_cross_attention", "is_encoder_decoder", "use_bidirectional_attention", "alibi",
        "attn_temperature_tuning", "attn_output_gate", "use_mrope", "enable_moe_block"}) {
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

/// A tensor that distinguishes a family from others.
struct Mark {
  const char* family;
  const char* tensor;
};
constexpr Mark kMarks[] = {
    {"distilbert", "transformer.layer.0.attention.q_lin.weight"},
    {"bert", "encoder.layer.0.attention.self.query.weight"},
    {"gpt2", "h.0.attn.c_attn.weight"},
    {"gpt_neox", "layers.0.attention.query_key_value.weight"},
    {"gpt_neo", "h.0.attn.attention.q_proj.weight"},
    {"opt", "layers.0.self_attn_layer_norm.weight"},
    {"llama", "layers.0.self_attn.q_proj.weight"},
    {"torch.nn.TransformerEncoder", "layers.0.self_attn.in_proj_weight"},
};

/// The names of each family in the field "model_type" of config.json.
struct Family {
  std::string_view name;
  void (*describe)(ModelDescription&);
};
constexpr Family kFamilies[] = {
    {"gpt2", describe_gpt2},         {"gpt_neox", describe_decoder},
    {"gpt_neo", describe_decoder},   {"opt", describe_decoder},
    {"bert", describe_bert},         {"distilbert", describe_bert},
    {"roberta", describe_bert},      {"xlm-roberta", describe_bert},
    {"camembert", describe_bert},    {"llama", describe_llama},
    {"mistral", describe_llama},     {"smollm3", describe_llama},
    {"qwen2", describe_llama},       {"qwen3", describe_llama},
    {"gemma", describe_llama},       {"gemma2", describe_llama},
    {"gemma3_text", describe_llama}, {"gpt_oss", describe_llama},
    {"olmo2", describe_llama},       {"torch.nn.TransformerEncoder", describe_pytorch_encoder},
};

std::string family_of_names(const ModelTensors& tensors) {
  for (const auto& [family, tensor] : kMarks) {
    const std::optional<std::string> prefix = tensors.prefix_of(tensor);
    if (!prefix) continue;
    return std::string_view(family) == "bert" && prefix->ends_with("roberta.") ? "roberta" : family;
  }
  return {};
}

/// Rejects the weights of LoRA and similar adapters, which are useless without the model that they
/// adapt, and models in which PEFT keeps a layer twice, before and after training.
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

/// Rejects quantised weights that the configuration does not mention. Recognises the tensor names
/// and types of GPTQ, AWQ, MLX, bitsandbytes and scaled FP8.
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

[[noreturn]] void fail_unknown(const ModelTensors& tensors, const std::string& type) {
  std::string known;
  for (const Family& family : kFamilies) known.append(family.name).append(", ");
  known += "or a model trained with attn";
  const std::vector<std::string> names = tensors.names();
  std::string nearest = family_of_names(tensors);
  if (nearest.empty() && !names.empty()) {
    // The first attention layer identifies the model family best.
    const auto is_attention_layer = [](const std::string& name) {
      return name.find("0.") != name.npos && name.find("att") != name.npos;
    };
    const auto first_attention = std::ranges::find_if(names, is_attention_layer);
    std::vector<std::string> marks;
    for (const Mark& mark : kMarks) marks.emplace_back(mark.tensor);
    const std::string name =
        (first_attention == names.end() ? names.front() : *first_attention).substr(0, 200);
    const std::string& mark = nearest_name(name, marks);
    nearest = kMarks[std::ranges::find(marks, mark) - marks.begin()].family;
    nearest += ", which has " + mark;
  }
  fail(ErrorCode::kUnsupported, "architecture",
       {type.empty() ? "an unknown architecture" : in_quotes(type), " with the tensors ",
        list_names(names)},
       {"one of ", known, nearest.empty() ? "" : "; the nearest is ", nearest});
}

}  // namespace

LanguageModelDescription describe_language_model(std::span<const SafetensorsHeader> files,
                                                 std::string_view config_text,
                                                 const LanguageModelHints& hints,
                                                 std::string_view index_text) {
  std::optional<SafetensorsIndex> index;
  if (!index_text.empty()) {
    index = read_safetensors_index(index_text);
    if (index->files.size() != files.size()) {
      fail(ErrorCode::kInvalidArgument, "files", {files.size()},
           {index->files.size(), "; pass the files that the index names, in the same order"});
    }
  }
  ModelTensors tensors(files, index ? &*index : nullptr);
  // attn's own files describe their model in their metadata.
  std::string own;
  if (config_text.empty()) {
    for (const SafetensorsHeader& file : files) {
      for (const auto& [key, value] : file.metadata) {
        if (key == "config") own = value;
      }
    }
  }
  const bool is_own = !own.empty();
  ModelConfig config(is_own ? "metadata" : "config.json", is_own                ? own
                                                          : config_text.empty() ? "{}"
                                                                                : config_text);
  LanguageModelDescription result;
  ModelDescription d{config, is_own || !config_text.empty(),  hints, tensors,
                     result, {tensors, result, hints.weights}};

  reject_adapter(tensors);
  std::string type = config.find_text("model_type").value_or("");
  reject_unsupported(config);
  reject_quantized(tensors);
  if (type == "gemma3") {
    // A "gemma3" model accepts text and images. The text part is a complete model.
    d.tied = config.flag("tie_word_embeddings", true);
    config.set_root("text_config");
    type = config.find_text("model_type").value_or("gemma3_text");
    reject_unsupported(config);
  }
  if (type.empty() && !config_text.empty() && family_of_names(tensors) == "llama") {
    fail(ErrorCode::kInvalidFormat, "config.json, \"model_type\"", {"none"},
         {"one, because tensor names alone cannot tell Llama-family models apart"});
  }
  result.family = is_own ? "attn" : type.empty() ? family_of_names(tensors) : type;
  if (type.empty() && result.family == "bert") {
    // RoBERTa's tensors have the same names, but its positions start at a different number.
    const std::string architecture = config.find_text("architectures.0").value_or("");
    for (const char* name : {"Roberta", "XLMRoberta", "Camembert"}) {
      if (architecture.starts_with(name)) result.family = "roberta";
    }
  }
  const auto family = std::ranges::find(kFamilies, std::string_view(result.family), &Family::name);
  if (is_own) {
    describe_attn_encoder(d);
  } else if (family != std::end(kFamilies)) {
    family->describe(d);
  } else {
    fail_unknown(tensors, type);
  }
  result.unused_fields = config.unused();
  return result;
}

}  // namespace attn
