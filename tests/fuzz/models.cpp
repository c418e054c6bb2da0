// Uses any text as a model's files: first the configuration, up to a line "----", then for each
// tensor a line with its name, dtype and sizes. attn must either reject the text with an error or
// load a model that can run.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/context.hpp"
#include "attn/error.hpp"
#include "attn/models/load_encoder_decoder.hpp"
#include "attn/models/load_language_model.hpp"
#include "attn/owned_tensor.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// Removes and returns the text before the next `end`, or the whole text if there is none.
std::string_view take(std::string_view& text, std::string_view end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return taken;
}

/// Makes a header whose tensors follow each other without gaps, as the file format requires.
attn::SafetensorsHeader header_of(std::string_view lines) {
  attn::SafetensorsHeader header;
  std::int64_t end = 0;
  while (!lines.empty()) {
    std::string_view line = take(lines, "\n");
    attn::SafetensorsEntry entry;
    entry.name = take(line, " ");
    entry.dtype = take(line, " ");
    std::int64_t bytes = entry.dtype == "F32" ? 4 : 2;
    while (!line.empty()) {
      const std::string size(take(line, " ").substr(0, 18));
      entry.shape.push_back(std::max(0LL, std::atoll(size.c_str())));
      if (__builtin_mul_overflow(bytes, entry.shape.back(), &bytes)) return header;
    }
    entry.begin = end;
    if (__builtin_add_overflow(end, bytes, &end)) return header;
    entry.end = end;
    header.tensors.push_back(std::move(entry));
  }
  return header;
}

/// Loads a model with numbers of about ±0.3, or of about ±1.6 if the type is float16.
template <class Loader, class Description>
auto load(const Description& description, attn::Context& context) {
  Loader loader(description, description.memory, context);
  for (std::size_t i = 0; i < description.weights.size(); ++i) {
    const attn::WeightSource& source = description.weights[i];
    std::vector<std::byte> small(static_cast<std::size_t>(source.end - source.begin));
    for (std::size_t at = 0; at < small.size(); ++at) {
      const auto drawn = static_cast<std::uint32_t>(at + i + 1) * 2654435761U;
      small[at] = static_cast<std::byte>(at % 2 == 0 ? drawn >> 24 : 0x3e | (drawn >> 24 & 0x80));
    }
    loader.write(i, small, context);
  }
  return loader.finish();
}

/// Accepts the two errors that a model may give: its position table may be too short, or its
/// weights may make a layer overflow.
void require_expected(const attn::Error& error) {
  require(error.code() == attn::ErrorCode::kInvalidArgument ||
          error.code() == attn::ErrorCode::kUnsupported);
}

void run(const attn::LanguageModelDescription& description, attn::Context& context) {
  const attn::LanguageModel model = load<attn::LanguageModelLoader>(description, context);
  const attn::LanguageModelOptions& options = model.options();
  attn::OwnedTensor logits;
  if (options.output && options.vocab_size > 0) logits = attn::OwnedTensor({1, options.vocab_size});
  const auto hidden_with = [&](const attn::TensorView<const double>& positions) {
    attn::OwnedTensor hidden({2, model.d_model()});
    const attn::LanguageModelCall call{.positions = positions, .hidden = hidden};
    if (options.vocab_size > 0) {
      const std::vector<std::int64_t> ids{0, options.vocab_size - 1};
      model.forward(ids, logits, call, context);
    } else {
      const attn::OwnedTensor x({2, model.d_model()});
      model.forward(x, {}, call, context);
    }
    return hidden;
  };
  try {
    const attn::OwnedTensor hidden = hidden_with({});
    // Passing the default positions explicitly must not change the output.
    const auto layers = model.encoder().layers();
    const bool rotates = std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
      return layer.options().positions.rotary.has_value();
    });
    const std::vector<double> positions{0, 1};
    bool is_given = false;
    try {
      const attn::OwnedTensor same = hidden_with({positions.data(), {2}});
      is_given = true;
      require(std::memcmp(same.values().data(), hidden.values().data(),
                          hidden.values().size_bytes()) == 0);
    } catch (const attn::Error& error) {
      require(error.code() == attn::ErrorCode::kInvalidArgument);
    }
    require(is_given == (rotates || options.max_positions > 0));
  } catch (const attn::Error& error) {
    require_expected(error);
  }
}

void run(const attn::EncoderDecoderDescription& description, attn::Context& context) {
  const attn::EncoderDecoderModel model = load<attn::EncoderDecoderLoader>(description, context);
  const std::vector<std::int64_t> ids{0, model.options().vocab_size - 1};
  try {
    require(model.generate(ids, {.max_new_tokens = 2}, context).size() == 2);
  } catch (const attn::Error& error) {
    require_expected(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view config = take(text, "\n----\n");
  static attn::Context context({.num_threads = 1});
  try {
    require(!attn::safetensors_index_files(config).empty() || config.size() >= 2);
  } catch (const attn::Error& error) {
    require(error.code() == attn::ErrorCode::kInvalidFormat);
  }
  try {
    attn::SafetensorsHeader header = header_of(text);
    // attn's own files contain their configuration in the metadata.
    const bool own = config.find("numLayers") != config.npos;
    if (own) header.metadata.emplace_back("config", config);
    constexpr std::int64_t kMost = 1 << 20;
    try {
      const auto description = attn::describe_encoder_decoder(std::vector{header}, config);
      require(!description.weights.empty() && description.num_parameters >= 0);
      if (description.memory < kMost) run(description, context);
    } catch (const attn::Error& error) {
      require(!std::string_view(error.what()).empty());
      require(error.code() != attn::ErrorCode::kFileError);
    }
    const auto description = attn::describe_language_model(
        std::vector{header}, own ? std::string_view() : config,
        {.num_heads = config.empty() ? std::optional<std::int64_t>(3) : std::nullopt});
    require(!description.weights.empty() && description.num_parameters >= 0);
    if (description.memory < kMost) run(description, context);
  } catch (const attn::Error& error) {
    require(!std::string_view(error.what()).empty());
    require(error.code() != attn::ErrorCode::kFileError);
  }
  return 0;
}
