#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attn/models/load_language_model.hpp"
#include "models/model_config.hpp"
#include "models/model_plan.hpp"

/// The families of models that attn recognizes: what their configurations mean and how their
/// tensors are named.
namespace attn {

/// The inputs and results of describing a model.
struct ModelDescription {
  ModelConfig& config;
  bool has_config;
  const LanguageModelHints& hints;
  ModelTensors& tensors;
  LanguageModelDescription& result;
  ModelPlan plan;
  /// Whether the embedding and the output layer are tied, if a configuration around the text
  /// model's own one says so.
  std::optional<bool> tied = {};

  /// A size from the configuration or, without one, from a tensor.
  std::int64_t size(const char* field, const std::string& tensor, std::size_t dimension) const;

  std::int64_t heads(const char* field, std::int64_t width) const;

  std::int64_t layers(const char* field, const std::string& path) const;

  Activation activation(const char* field, Activation otherwise) const;

  float eps(const char* field, double otherwise) const;

  /// The tensor that embeds tokens: `embedding`, or if a model with tied weights was saved without
  /// it, `head`.
  std::string embedding(const std::string& embedding, const std::string& head, bool tied) const;

  /// Decides which matrix gives logits, as Transformers does: an output layer in the files counts
  /// whatever the flag says, and without one the embedding counts if they are tied.
  void choose_output(const std::string& head, const std::string& embedding, bool tied);
};

/// GPT-2.
void describe_gpt2(ModelDescription& d);
/// BERT, DistilBERT, and RoBERTa under each of its names.
void describe_bert(ModelDescription& d);
/// Llama and the families that descend from it: `d.result.family`.
void describe_llama(ModelDescription& d);
/// torch.nn.TransformerEncoder.
void describe_pytorch_encoder(ModelDescription& d);
/// A model that was trained with attn, as the page's.
void describe_own(ModelDescription& d);

}  // namespace attn
