#include "models/weight_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

#include "heap_sort.hpp"
#include "io/safetensors_numbers.hpp"
#include "models/model_tensors.hpp"
#include "validation.hpp"

namespace attn {
namespace {

constexpr std::string_view kWeightsEnding = ".safetensors";

/// Kinds of files that are not a model's weights, or only part of them. The first kind that matches
/// gives the best explanation.
struct OtherFiles {
  std::string_view ending;  ///< how their names end
  const char* kind;
  const char* remedy;
};
constexpr const char* kSaveAgain =
    "a .safetensors file: load the model with transformers and call save_pretrained(folder)";
constexpr const char* kSameModel = "the .safetensors files of the same model";
constexpr const char* kWeightsToo = "the model's .safetensors files and config.json as well";
constexpr OtherFiles kOtherFiles[] = {
    {"adapter_config.json", "an adapter",
     "a whole model: merge the adapter with merge_and_unload() of PEFT and save the result"},
    {"adapter_model.safetensors", "an adapter",
     "a whole model: merge the adapter with merge_and_unload() of PEFT and save the result"},
    {".gguf", "a GGUF file", "the .safetensors files of the same model; attn does not read GGUF"},
    {".bin", "a PyTorch checkpoint", kSaveAgain},
    {".pt", "a PyTorch checkpoint", kSaveAgain},
    {".pth", "a PyTorch checkpoint", kSaveAgain},
    {".ckpt", "a checkpoint", kSaveAgain},
    {".onnx", "an ONNX model", kSameModel},
    {".h5", "weights for TensorFlow", kSameModel},
    {".msgpack", "weights for Flax", kSameModel},
    {".npz", "arrays of NumPy", kSameModel},
    {"vocab.txt", "the vocabulary of a tokenizer", kWeightsToo},
    {"tokenizer.model", "a SentencePiece tokenizer", kWeightsToo},
    {"tokenizer.json", "a tokenizer", kWeightsToo},
    {"config.json", "a configuration", "the model's .safetensors files as well"},
};

const OtherFiles* recognize_other_files(std::span<const std::string> names) {
  for (const OtherFiles& other : kOtherFiles) {
    const auto is_it = [&](const std::string& name) { return name.ends_with(other.ending); };
    if (std::ranges::any_of(names, is_it)) return &other;
  }
  return nullptr;
}

/// A file named stem-00001-of-00002.safetensors.
struct Shard {
  std::string_view stem;
  int number, count;
};

std::optional<Shard> parse_shard(std::string_view name) {
  constexpr std::size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits;
  if (!name.ends_with(kWeightsEnding)) return {};
  name.remove_suffix(kWeightsEnding.size());
  if (name.size() < kTail) return {};
  const std::string_view tail = name.substr(name.size() - kTail);
  if (tail.front() != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return {};
  Shard shard = {.stem = name.substr(0, name.size() - kTail), .number = 0, .count = 0};
  const auto read = [](std::string_view digits, int& number) {
    const char* end = digits.data() + digits.size();
    return std::from_chars(digits.data(), end, number).ptr == end;
  };
  if (!read(tail.substr(1, kDigits), shard.number) ||
      !read(tail.substr(tail.size() - kDigits), shard.count)) {
    return {};
  }
  return shard;
}

void require_all_shards(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::optional<Shard> shard = parse_shard(name);
    if (!shard) continue;
    for (int number = 1; number <= shard->count; ++number) {
      const auto is_it = [&](const std::string& other) {
        const std::optional<Shard> found = parse_shard(other);
        return found && found->stem == shard->stem && found->count == shard->count &&
               found->number == number;
      };
      if (std::ranges::any_of(names, is_it)) continue;
      const std::string digits = std::to_string(number);
      std::string missing(shard->stem);
      missing.append("-").append(5 - std::min<std::size_t>(digits.size(), 5), '0').append(digits);
      missing.append(name, name.size() - 9 - kWeightsEnding.size(), name.npos);
      validation::fail(ErrorCode::kNotFound, "files", {"no ", in_quotes(missing)},
                       {"all ", shard->count, " parts of the model"});
    }
  }
}

}  // namespace

std::vector<std::string> choose_weight_files(std::span<const std::string> names) {
  std::vector<std::string> weights;
  for (const std::string& name : names) {
    if (name == "model.safetensors") return {name};
    if (name.ends_with(kWeightsEnding) && !name.ends_with("adapter_model.safetensors")) {
      weights.push_back(name);
    }
  }
  if (weights.empty()) {
    if (const OtherFiles* other = recognize_other_files(names)) {
      validation::fail(ErrorCode::kNotFound, "files", {other->kind, " without .safetensors files"},
                       {other->remedy});
    }
    const std::vector<std::string> all(names.begin(), names.end());
    validation::fail(ErrorCode::kNotFound, "files", {names.empty() ? "none" : listed(all)},
                     {"one or more .safetensors files"});
  }
  heap_sort(weights);
  require_all_shards(weights);
  return weights;
}

void require_weight_file(std::string_view name) {
  const std::string names[] = {std::string(name)};
  if (const OtherFiles* other = recognize_other_files(names)) {
    validation::fail(ErrorCode::kUnsupported, in_quotes(name), {other->kind}, {other->remedy});
  }
  if (const std::optional<Shard> shard = parse_shard(name); shard && shard->count > 1) {
    validation::fail(ErrorCode::kUnsupported, in_quotes(name), {"one of ", shard->count, " parts"},
                     {"the folder with all parts"});
  }
}

}  // namespace attn
