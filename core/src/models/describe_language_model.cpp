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
#include "models/reject_unsupported.hpp"
#include "nearest_name.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

/// Rejects unsupported fields, including the fields of models with cross attention.
void reject_language_model_fields(const ModelConfig& config) {
  reject_unsupported(config);
  if (config.flag("add_cross_attention", false)) {
    config.reject("add_cross_attention", "false; attn does not support this option");
  }
  if (config.flag("is_encoder_decoder", false)) {
    config.reject("is_encoder_decoder",
                  validation::join({"false, or a model that ",
                                    validation::Name("load_encoder_decoder"), "() supports"}));
  }
}

/// A family, and the name of a tensor by which models of the family are recognised.
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

/// A value of the field "model_type" in config.json, and the function that describes such models.
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
        list_quoted(names)},
       {"one of ", known, nearest.empty() ? "" : "; the nearest is ", nearest});
}

}  // namespace

LanguageModelDescription describe_language_model(std::span<const SafetensorsHeader> files,
                                                 std::string_view config_text,
                                                 const LanguageModelHints& hints,
                                                 std::string_view index_text) {
  ModelTensors tensors = read_tensors(files, index_text);
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
  ModelDescription d{{config,
                      is_own || !config_text.empty(),
                      hints,
                      tensors,
                      result,
                      {tensors, result, hints.weights}},
                     result};

  reject_adapter(tensors);
  std::string type = config.find_text("model_type").value_or("");
  if (is_encoder_decoder_family(type)) {
    config.reject("model_type",
                  validation::join({"a language model; load encoder–decoder models with ",
                                    validation::Name("load_encoder_decoder"), "()"}));
  }
  reject_language_model_fields(config);
  reject_quantized(tensors);
  if (type == "gemma3") {
    // A "gemma3" model accepts text and images. The text part is a complete model.
    d.tied = config.flag("tie_word_embeddings", true);
    config.set_root("text_config");
    type = config.find_text("model_type").value_or("gemma3_text");
    reject_language_model_fields(config);
  }
  if (type.empty() && !config_text.empty() && family_of_names(tensors) == "llama") {
    fail(ErrorCode::kInvalidFormat, "config.json, \"model_type\"", {"none"},
         {"one, because tensor names alone cannot tell Llama-family models apart"});
  }
  result.family = is_own ? "attn" : type.empty() ? family_of_names(tensors) : type;
  if (type.empty() && result.family == "bert") {
    // RoBERTa's tensors have the same names as BERT's, but its positions start at a different
    // number.
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
  LanguageModelOptions& options = result.options;
  options.weights = options.stack.layer.weights = d.plan.format();
  for (TransformerLayerOptions& layer : options.stack.layers) layer.weights = d.plan.format();
  result.unused_fields = config.unused();
  return result;
}

}  // namespace attn
