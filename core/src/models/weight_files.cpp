#include "models/weight_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>
#include <tuple>

#include "heap_sort.hpp"
#include "io/foreign_file.hpp"
#include "io/safetensors_numbers.hpp"
#include "models/model_tensors.hpp"
#include "validation.hpp"

namespace attn {
namespace {

constexpr std::string_view kWeightsEnding = ".safetensors";

/// Kinds of files that contain none of a model's weights, or only some of them. The first kind that
/// matches gives the best explanation.
struct OtherFiles {
  std::string_view ending;  ///< ending of the file names
  const char* kind;
  const char* remedy;
};
constexpr const char* kSameModel = "the .safetensors files of the same model";
constexpr const char* kWeightsToo = "the model's .safetensors files and config.json as well";
constexpr const char* kMerge =
    "a whole model; merge the adapter with PEFT's merge_and_unload() and save the result";
constexpr const char* kDownloadAgain = "the complete files; download them again";
constexpr const char* kUnpack = "the files inside; unpack it first";
constexpr OtherFiles kOtherFiles[] = {
    {"adapter_config.json", "an adapter", kMerge},
    {"adapter_model.safetensors", "an adapter", kMerge},
    {"adapter_model.bin", "an adapter", kMerge},
    {".crdownload", "an unfinished download", kDownloadAgain},
    {".download", "an unfinished download", kDownloadAgain},
    {".incomplete", "an unfinished download", kDownloadAgain},
    {".part", "an unfinished download", kDownloadAgain},
    {".aria2", "an unfinished download", kDownloadAgain},
    {".gguf", "a GGUF file", kConvertGguf},
    {".ggml", "a GGML file", kSameModel},
    {".bin", "a PyTorch checkpoint", kConvertCheckpoint},
    {".pt", "a PyTorch checkpoint", kConvertCheckpoint},
    {".pth", "a PyTorch checkpoint", kConvertCheckpoint},
    {".ckpt", "a checkpoint", kConvertCheckpoint},
    {".onnx", "an ONNX model", kSameModel},
    {".h5", "TensorFlow weights", kSameModel},
    {".msgpack", "Flax weights", kSameModel},
    {".npz", "NumPy arrays", kSameModel},
    {".tflite", "a TensorFlow Lite model", kSameModel},
    {".pb", "a TensorFlow model", kSameModel},
    {".zip", "an archive", kUnpack},
    {".tar", "an archive", kUnpack},
    {".gz", "an archive", kUnpack},
    {".tgz", "an archive", kUnpack},
    {".7z", "an archive", kUnpack},
    {".safetensors.index.json", "an index", "the .safetensors files that it names as well"},
    {"vocab.txt", "a tokenizer's vocabulary", kWeightsToo},
    {"vocab.json", "a tokenizer's vocabulary", kWeightsToo},
    {"merges.txt", "a tokenizer's merges", kWeightsToo},
    {".model", "a SentencePiece tokenizer", kWeightsToo},
    {".spm", "a SentencePiece tokenizer", kWeightsToo},
    {"tokenizer.json", "a tokenizer", kWeightsToo},
    {"config.json", "a configuration", "the model's .safetensors files as well"},
};

/// True for files that operating systems add next to others, such as "._model.safetensors" on
/// macOS.
bool is_hidden(std::string_view name) { return name.starts_with('.'); }

const OtherFiles* recognize_other_files(std::span<const std::string> names) {
  for (const OtherFiles& other : kOtherFiles) {
    const auto is_it = [&](const std::string& name) {
      return name.ends_with(other.ending) && !is_hidden(name);
    };
    if (std::ranges::any_of(names, is_it)) return &other;
  }
  return nullptr;
}

/// A file named stem-00001-of-00002.safetensors.
struct Shard {
  std::string_view stem, digits, rest;
  int count = 0, number = 0;
};

std::optional<Shard> parse_shard(std::string_view name) {
  if (!name.ends_with(kWeightsEnding)) return {};
  constexpr std::string_view kOf = "-of-";
  const std::string_view whole = name.substr(0, name.size() - kWeightsEnding.size());
  const std::size_t of = whole.rfind(kOf);
  if (of == whole.npos || of == 0) return {};
  const std::size_t dash = whole.rfind('-', of - 1);
  if (dash == whole.npos) return {};
  Shard shard = {.stem = whole.substr(0, dash),
                 .digits = whole.substr(dash + 1, of - dash - 1),
                 .rest = name.substr(of)};
  const auto read = [](std::string_view digits, int& number) {
    const char* end = digits.data() + digits.size();
    const auto [read_end, error] = std::from_chars(digits.data(), end, number);
    return error == std::errc() && read_end == end && number > 0;
  };
  if (!read(shard.digits, shard.number)) return {};
  if (!read(whole.substr(of + kOf.size()), shard.count)) return {};
  return shard;
}

[[noreturn]] void fail_missing_shard(const Shard& other, int number) {
  const std::string digits = std::to_string(number);
  std::string missing(other.stem);
  missing.append("-");
  missing.append(other.digits.size() - std::min(digits.size(), other.digits.size()), '0');
  missing.append(digits).append(other.rest);
  validation::fail(ErrorCode::kNotFound, "files", {"no ", in_quotes(missing)},
                   {"all ", other.count, " parts of the model"});
}

void require_all_shards(const std::vector<std::string>& names) {
  std::vector<Shard> shards;
  for (const std::string& name : names) {
    if (const std::optional<Shard> shard = parse_shard(name)) shards.push_back(*shard);
  }
  heap_sort(shards, [](const Shard& s) { return std::tuple(s.stem, s.count, s.number); });
  int expected = 1;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Shard& shard = shards[i];
    if (shard.number > expected) fail_missing_shard(shard, expected);
    if (shard.number == expected) ++expected;
    const bool is_last = i + 1 == shards.size() || shards[i + 1].stem != shard.stem ||
                         shards[i + 1].count != shard.count;
    if (!is_last) continue;
    if (expected <= shard.count) fail_missing_shard(shard, expected);
    expected = 1;
  }
}

}  // namespace

std::vector<std::string> choose_weight_files(std::span<const std::string> names) {
  std::vector<std::string> weights;
  for (const std::string& name : names) {
    if (name == "model.safetensors") return {name};
    if (name.ends_with(kWeightsEnding) && !name.ends_with("adapter_model.safetensors") &&
        !is_hidden(name)) {
      weights.push_back(name);
    }
  }
  if (weights.empty()) {
    if (const OtherFiles* other = recognize_other_files(names)) {
      validation::fail(ErrorCode::kNotFound, "files", {other->kind, " without .safetensors files"},
                       {other->remedy});
    }
    validation::fail(ErrorCode::kNotFound, "files", {names.empty() ? "none" : list_quoted(names)},
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
