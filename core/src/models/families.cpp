#include "models/families.hpp"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/safetensors_numbers.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

std::int64_t checked(const char* field, std::int64_t size) {
  if (size < 1 || size > INT32_MAX) {
    fail(ErrorCode::kInvalidFormat, std::string_view(field), {size}, {"at least 1 and below 2^31"});
  }
  return size;
}

}  // namespace

std::int64_t ModelReader::size(const char* field, const std::string& tensor,
                               std::size_t dimension) const {
  const ModelTensors::Found* found = tensors.find(tensor);
  if (has_config && (config.has(field) || !found)) return checked(field, config.integer(field));
  if (!found) {
    fail(ErrorCode::kNotFound, "tensors", {"no ", in_quotes(tensor)},
         {"this tensor or config.json"});
  }
  const std::vector<std::int64_t>& shape = found->entry->shape;
  if (dimension >= shape.size()) {
    validation::fail_shape("tensor " + in_quotes(tensor), shape, {"a matrix"});
  }
  return checked(field, shape[dimension]);
}

std::int64_t ModelReader::heads(const char* field, std::int64_t width) const {
  const std::optional<std::int64_t> given = config.find_integer(field);
  if (!given && has_config) config.integer(field);  // throws, with the field's name
  if (!given && !hints.num_heads) {
    fail(ErrorCode::kInvalidArgument, "num_heads", {"none"},
         {"the number of attention heads or config.json, because tensor shapes do not determine "
          "it"});
  }
  const std::int64_t heads = given.value_or(hints.num_heads.value_or(0));
  if (heads < 1 || heads > INT32_MAX) {
    validation::fail_value("num_heads", heads, {"1 or more heads for width ", width});
  }
  return heads;
}

std::int64_t ModelReader::layers(const char* field, const std::string& path) const {
  const bool given = has_config && (config.has(field) || path.empty());
  const std::int64_t count = given ? config.integer(field) : tensors.count_layers(path);
  if (count < 1 || count > tensors.size()) {
    fail(ErrorCode::kInvalidFormat, "layers", {count},
         {"at least 1 and at most ", tensors.size(), ", the number of tensors"});
  }
  return count;
}

Activation ModelReader::activation(const char* field, Activation otherwise) const {
  const std::optional<std::string> name = config.find_text(field);
  return name ? activation_named(field, *name) : otherwise;
}

Activation ModelReader::activation_named(const char* field, std::string_view name) const {
  constexpr std::pair<std::string_view, Activation> kNames[] = {
      {"gelu", Activation::kGelu},
      {"gelu_new", Activation::kGeluTanh},
      {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_fast", Activation::kGeluTanh},
      {"gelu_accurate", Activation::kGeluTanh},
      {"gelu_python", Activation::kGelu},
      {"gelu_python_tanh", Activation::kGeluTanh},
      {"silu", Activation::kSilu},
      {"swish", Activation::kSilu},
      {"relu", Activation::kRelu},
      {"tanh", Activation::kTanh},
      {"sigmoid", Activation::kSigmoid},
  };
  for (const auto& [known, activation] : kNames) {
    if (name == known) return activation;
  }
  std::string names;
  for (const auto& [known, activation] : kNames) {
    if (!names.empty()) names += known == std::rbegin(kNames)->first ? " or " : ", ";
    names += known;
  }
  config.reject(field, names);
}

void ModelReader::require_config(std::string_view models) const {
  if (has_config) return;
  fail(ErrorCode::kInvalidArgument, "config", {"none"},
       {"config.json, because tensor names and shapes of ", models,
        " models do not determine heads and positions"});
}

std::string ModelReader::embedding(const std::string& embedding, const std::string& head,
                                   bool tied) const {
  return tied && !tensors.has(embedding) && tensors.has(head) ? head : embedding;
}

void ModelDescription::choose_output(const std::string& head, const std::string& embedding,
                                     bool tied) {
  LanguageModelOptions& options = result.options;
  const bool has_head = head != embedding && tensors.has(head);
  options.tied = tied && !has_head;
  options.output = tied || has_head;
  if (tied && has_head) {
    result.warnings.push_back("config.json: tie_word_embeddings is true, but the files have " +
                              in_quotes(head) + ", which attn uses for logits");
  }
  if (!options.output) {
    result.warnings.push_back("config.json: tie_word_embeddings is false, but the files have no " +
                              in_quotes(head) + ", so the model gives no logits");
  }
}

float ModelReader::eps(const char* field, double otherwise) const {
  const double eps = config.number(field, otherwise);
  if (eps < 0 || eps > 1) config.reject(field, "a number from 0 to 1");
  return static_cast<float>(eps);
}

}  // namespace attn
