#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attn/models/load_language_model.hpp"
#include "models/model_config.hpp"
#include "models/model_plan.hpp"

/// The families of models that files are recognised as: what their configurations mean, and what
/// their tensors are called.
namespace attn {

/// Everything that a family is described from and to.
struct ModelDescription {
  ModelConfig& config;
  bool has_config;
  const LanguageModelHints& hints;
  ModelTensors& tensors;
  LanguageModelDescription& result;
  ModelPlan plan;

  /// A size of the configuration, or of a tensor where it does not say.
  std::int64_t size(const char* field, const std::string& tensor, std::size_t dimension) const;

  std::int64_t heads(const char* field, std::int64_t width) const;

  std::int64_t layers(const char* field, const std::string& path) const;

  Activation activation(const char* field, Activation otherwise) const;

  float eps(const char* field, double otherwise) const;
};

/// GPT-2.
void describe_gpt2(ModelDescription& d);
/// BERT, DistilBERT, and RoBERTa under each of its names.
void describe_bert(ModelDescription& d);
/// Llama and what came of it, `d.result.family`.
void describe_llama(ModelDescription& d);
/// torch.nn.TransformerEncoder.
void describe_pytorch_encoder(ModelDescription& d);
/// A model that was trained with attn, as the page's.
void describe_own(ModelDescription& d);

}  // namespace attn
