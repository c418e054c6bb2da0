#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attn/models/load_encoder_decoder.hpp"
#include "attn/models/load_language_model.hpp"
#include "models/model_config.hpp"
#include "models/model_plan.hpp"

/// The families of models that attn recognises: what their configurations mean and how their
/// tensors are named.
namespace attn {

/// The inputs of a function that describes a model, and the results that all kinds of models have.
struct ModelReader {
  ModelConfig& config;
  bool has_config;
  const LanguageModelHints& hints;
  ModelTensors& tensors;
  ModelFilesDescription& files;
  ModelPlan plan;
  /// True if the embedding and the output layer are tied. Has a value only if the text model's
  /// configuration is part of a larger configuration, because the larger one contains the flag.
  std::optional<bool> tied = {};

  /// A size from the configuration or, if it does not contain the field, from a tensor.
  std::int64_t size(const char* field, const std::string& tensor, std::size_t dimension) const;

  std::int64_t heads(const char* field, std::int64_t width) const;

  std::int64_t layers(const char* field, const std::string& path) const;

  Activation activation(const char* field, Activation otherwise) const;
  /// Returns the activation with this name in model files. Errors name the field that contains the
  /// name.
  Activation activation_named(const char* field, std::string_view name) const;

  float eps(const char* field, double otherwise) const;

  /// Throws kInvalidArgument without config.json. `models` is the name of the family.
  void require_config(std::string_view models) const;

  /// The name of the tensor that embeds tokens: `embedding`, or `head` if a model with tied weights
  /// was saved without `embedding`.
  std::string embedding(const std::string& embedding, const std::string& head, bool tied) const;
};

/// The inputs and results of a function that describes a language model.
struct ModelDescription : ModelReader {
  LanguageModelDescription& result;

  /// Decides which matrix gives logits, as Transformers does. An output layer in the files is
  /// always used, regardless of `tied`. Without an output layer, the embedding is used if the
  /// weights are tied.
  void choose_output(const std::string& head, const std::string& embedding, bool tied);
};

/// The inputs and results of a function that describes an encoder–decoder model.
struct EncoderDecoderReader : ModelReader {
  EncoderDecoderDescription& result;
};

/// True for the value of "model_type" in an encoder–decoder model's config.json.
bool is_encoder_decoder_family(std::string_view type);

void describe_gpt2(ModelDescription& d);
/// Describes BERT, DistilBERT and RoBERTa, including the other model types with RoBERTa's
/// architecture.
void describe_bert(ModelDescription& d);
/// Describes Llama and the families that descend from it. `d.result.family` names the family.
void describe_llama(ModelDescription& d);
/// Describes GPT-NeoX, GPT-Neo and OPT.
void describe_decoder(ModelDescription& d);
void describe_pytorch_encoder(ModelDescription& d);
/// Describes a model trained with attn, such as the language model of the page.
void describe_attn_encoder(ModelDescription& d);

}  // namespace attn
