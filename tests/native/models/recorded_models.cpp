#include "models/recorded_models.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>

namespace attn_test {

std::string recorded_folder(const std::string& name) { return ATTN_TEST_MODELS "/" + name; }

std::vector<RecordedModel> recorded_models() {
  const attn::LanguageModelHints three{.num_heads = 3};
  const attn::LanguageModelHints first{
      .num_heads = 3, .activation = attn::Activation::kGelu, .norm_first = true};
  const std::string pytorch = "torch.nn.TransformerEncoder";
  return {{"gpt2", "gpt2"},
          {"gpt2_prefix", "gpt2"},
          {"gpt_neox", "gpt_neox"},
          {"gpt_neox_sequential", "gpt_neox"},
          {"gpt_neo", "gpt_neo"},
          {"opt", "opt"},
          {"opt_projected", "opt"},
          {"bert", "bert"},
          {"bert_plain", "bert"},
          {"roberta", "roberta"},
          {"distilbert", "distilbert"},
          {"llama", "llama"},
          {"llama_none", "llama"},
          {"llama_linear", "llama"},
          {"llama_dynamic", "llama"},
          {"llama_yarn", "llama"},
          {"smollm3", "smollm3"},
          {"mistral", "mistral"},
          {"qwen2", "qwen2"},
          {"qwen3", "qwen3"},
          {"gemma", "gemma"},
          {"gemma2", "gemma2"},
          {"gemma3", "gemma3_text"},
          {"gpt_oss_dense", "gpt_oss"},
          {"olmo2", "olmo2"},
          {"pytorch_encoder", pytorch, three},
          {"pytorch_encoder_first", pytorch, first},
          {"attn_rotary", "attn"},
          {"attn_sinusoidal", "attn"}};
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no " + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

RecordedFiles recorded_files(const std::string& name) {
  const auto at = [&](const std::string& file) { return recorded_folder(name) + "/" + file; };
  RecordedFiles result;
  if (std::filesystem::exists(at("config.json"))) {
    const std::vector<std::byte> bytes = bytes_of(at("config.json"));
    result.config.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  if (std::filesystem::exists(at("model.safetensors"))) {
    result.files = {bytes_of(at("model.safetensors"))};
  } else {
    for (const char* part : {"1", "2"}) {
      result.files.push_back(
          bytes_of(recorded_folder("llama") + "/model-0000" + part + "-of-00002.safetensors"));
    }
  }
  return result;
}

std::vector<attn::SafetensorsHeader> RecordedFiles::headers() const {
  std::vector<attn::SafetensorsHeader> result;
  for (const auto& file : files) {
    result.push_back(attn::read_safetensors_header(file, std::ssize(file)));
  }
  return result;
}

attn::Safetensors recorded_results(const std::string& name) {
  return attn::Safetensors::load(recorded_folder(name) + "/expected.safetensors");
}

attn::LanguageModel load_from_memory(const RecordedFiles& files,
                                     const attn::LanguageModelHints& hints, std::int64_t slice) {
  const auto description = attn::describe_language_model(files.headers(), files.config, hints);
  attn::LanguageModelLoader loader(description);
  for (std::size_t i = 0; i < description.weights.size(); ++i) {
    const attn::WeightSource& source = description.weights[i];
    const auto file = std::span(files.files[source.file]);
    for (std::int64_t at = source.begin; at < source.end; at += slice) {
      const auto count = static_cast<std::size_t>(std::min(slice, source.end - at));
      loader.write(i, file.subspan(static_cast<std::size_t>(at), count));
    }
  }
  return loader.finish();
}

}  // namespace attn_test
