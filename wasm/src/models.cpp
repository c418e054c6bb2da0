// Whole models from their files.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/models/language_model.hpp"
#include "attn/models/load_language_model.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "io/json.hpp"
#include "models/weight_files.hpp"
#include "states.hpp"
#include "validation.hpp"

namespace attn::wasm {
namespace {

std::span<const std::byte> bytes(Arguments& a) { return std::as_bytes(a.span<char>()); }

/// A JSON text that grows, member by member.
class JsonWriter {
 public:
  template <class T>
  void number(const char* key, T value) {
    begin(key);
    validation::append(text_, {value});
  }
  void flag(const char* key, bool value) {
    begin(key);
    text_ += value ? "true" : "false";
  }
  void text(const char* key, std::string_view value) {
    begin(key);
    text_ += to_json(value);
  }
  /// What `write` writes, in these brackets.
  template <class F>
  void nested(const char* key, const char* brackets, F&& write) {
    begin(key);
    text_ += brackets[0];
    first_ = true;
    write();
    first_ = false;
    text_ += brackets[1];
  }
  void texts(const char* key, const std::vector<std::string>& values) {
    nested(key, "[]", [&] {
      for (const std::string& value : values) text(nullptr, value);
    });
  }

  std::string take() { return std::move(text_); }

 private:
  /// Members of arrays have no key.
  void begin(const char* key) {
    if (!first_) text_ += ',';
    first_ = false;
    if (key) validation::append(text_, {"\"", std::string_view(key), "\":"});
  }

  std::string text_;
  bool first_ = true;
};

std::int64_t head_dim_of(const TransformerLayerOptions& layer) {
  return layer.head_dim.value_or(layer.d_model / layer.num_heads);
}

/// Of a layer that has any, with their width.
RotaryEmbeddingOptions rotary_options_of(const TransformerLayerOptions& layer) {
  RotaryEmbeddingOptions options = *layer.positions.rotary;
  if (options.rotary_dim == 0) options.rotary_dim = head_dim_of(layer);
  return options;
}

void write_layer(JsonWriter& json, const TransformerLayerOptions& layer) {
  const std::int64_t head_dim = head_dim_of(layer);
  json.number("dModel", layer.d_model);
  json.number("numHeads", layer.num_heads);
  json.number("numKvHeads", layer.num_kv_heads.value_or(layer.num_heads));
  json.number("headDim", head_dim);
  json.number("dimFeedforward", layer.dim_feedforward);
  json.number("activation", static_cast<int>(layer.activation));
  json.flag("gatedFeedForward", layer.gated_feed_forward);
  json.flag("normFirst", layer.norm_first);
  json.flag("normOutputs", layer.norm_outputs);
  json.flag("qkNorm", layer.qk_norm.has_value());
  json.flag("sinks", layer.sinks);
  json.number("softcap", layer.softcap);
  if (layer.scale) json.number("scale", *layer.scale);
  if (layer.window && layer.window->left) json.number("windowLeft", *layer.window->left);
  json.flag("rmsNorm", layer.rms_norm.has_value());
  json.flag("zeroCentredNorm", layer.rms_norm && layer.rms_norm->zero_centred_weight);
  json.number("normEps", layer.rms_norm ? layer.rms_norm->eps : layer.layer_norm_eps);
  if (!layer.positions.rotary) return;
  const RotaryEmbeddingOptions rotary = rotary_options_of(layer);
  json.number("rotaryDim", rotary.rotary_dim);
  json.number("rotaryBase", rotary.base);
  if (const std::size_t rule = rotary.scaling.index()) {
    json.number("rotaryScaling", static_cast<int>(rule - 1));
  }
}

std::string to_json(const LanguageModelDescription& description) {
  const LanguageModelOptions& options = description.options;
  const TransformerEncoderOptions& stack = options.stack;
  JsonWriter json;
  json.nested(nullptr, "{}", [&] {
    json.text("family", description.family);
    json.number("numParameters", description.num_parameters);
    json.number("memory", description.memory);
    json.number("weightType", static_cast<int>(options.weights.type));
    json.number("vocabSize", options.vocab_size);
    json.number("maxPositions",
                std::max<std::int64_t>(options.max_positions - options.first_position, 0));
    json.flag("sinusoidal", options.sinusoidal.has_value());
    json.number("numTokenTypes", options.num_token_types);
    json.flag("causal", options.causal);
    json.flag("hasLogits", options.output && options.vocab_size > 0);
    json.flag("tied", options.tied);
    json.flag("hasPooler", options.pooler);
    json.number("finalSoftcap", options.final_softcap);
    json.nested("layers", "[]", [&] {
      for (std::int64_t l = 0;
           l < std::max<std::int64_t>(stack.num_layers, std::ssize(stack.layers)); ++l) {
        const auto& layer =
            stack.layers.empty() ? stack.layer : stack.layers[static_cast<std::size_t>(l)];
        json.nested(nullptr, "{}", [&] { write_layer(json, layer); });
      }
    });
    json.nested("weights", "[]", [&] {
      for (const WeightSource& weight : description.weights) {
        json.nested(nullptr, "{}", [&] {
          json.text("tensor", weight.tensor);
          json.text("parameter", weight.parameter);
          json.number("file", weight.file);
          json.number("begin", weight.begin);
          json.number("end", weight.end);
        });
      }
    });
    json.texts("unusedTensors", description.unused_tensors);
    json.texts("unusedFields", description.unused_fields);
    json.texts("warnings", description.warnings);
  });
  return json.take();
}

/// The bytes that a file's header takes, from its first eight.
void header_size(Arguments& a) {
  const auto beginning = bytes(a);
  a.give(static_cast<double>(safetensors_header_size(beginning, a.integer())));
}

void index_files(Arguments& a) { a.give(safetensors_index_files(a.text())); }

/// Gives the names of the files with weights, of those of all files in a folder without an index.
void weight_files(Arguments& a) {
  std::vector<std::string> names;
  for (std::int64_t files = a.integer(); files > 0; --files) names.emplace_back(a.text());
  a.give(choose_weight_files(names));
}

/// Gives the description as JSON, and where it is kept.
void describe(Arguments& a) {
  std::vector<SafetensorsHeader> headers;
  for (std::int64_t files = a.integer(); files > 0; --files) {
    const auto beginning = bytes(a);
    headers.push_back(read_safetensors_header(beginning, a.integer()));
  }
  const std::string_view config = a.text();
  const std::string_view index = a.text();
  LanguageModelHints hints;
  hints.num_heads = a.optional_integer();
  if (a.flag()) hints.activation = a.choice<Activation>();
  hints.norm_first = a.flag();
  hints.causal = a.flag();
  if (a.flag()) hints.weights = a.choice<ElementType>();
  auto description = std::make_unique<LanguageModelDescription>(
      describe_language_model(headers, config, hints, index));
  std::vector<std::string> texts{to_json(*description)};
  a.give(std::move(texts));
  a.give(static_cast<const void*>(description.release()));
}

void delete_description(Arguments& a) { delete &a.object<LanguageModelDescription>(); }

void make_loader(Arguments& a) {
  const auto& description = a.object<LanguageModelDescription>();
  a.give(static_cast<const void*>(
      new LanguageModelLoader(description, a.optional_integer(), context())));
}

void delete_loader(Arguments& a) { delete &a.object<LanguageModelLoader>(); }

void write_weights(Arguments& a) {
  auto& loader = a.object<LanguageModelLoader>();
  const auto source = a.integer<std::size_t>();
  loader.write(source, bytes(a), context());
}

void finish(Arguments& a) {
  a.give_layer(std::make_unique<LanguageModel>(a.object<LanguageModelLoader>().finish()).release());
}

void layer_of_model(Arguments& a) {
  const auto& layer =
      a.layer<LanguageModel>().encoder().layers()[static_cast<std::size_t>(a.integer())];
  a.give_layer(const_cast<Module*>(static_cast<const Module*>(&layer)));
}

/// Writes the frequencies of a layer's rotary positions, for a length where they depend on it;
/// gives the factor of cosines and sines.
void rotary_frequencies(Arguments& a) {
  const auto& layer =
      a.layer<LanguageModel>().encoder().layers()[static_cast<std::size_t>(a.integer())].options();
  const double length = a.number();
  const TensorView<double> output = a.tensor<double>();
  const RotaryEmbedding rotary(rotary_options_of(layer));
  const std::vector<double> frequencies = rotary.frequencies(length);
  if (output.size(0) != std::ssize(frequencies)) {
    validation::fail_shape("frequencies", output.shape(), {frequencies.size(), " numbers"});
  }
  std::ranges::copy(frequencies, output.data());
  a.give(rotary.attention_factor());
}

void make_caches(Arguments& a) {
  const auto& model = a.layer<LanguageModel>();
  const std::int64_t batch = a.integer(), capacity = a.integer();
  give_state(a, model.make_caches(batch, capacity, a.choice<ElementType>()));
}

/// From ids, or where there are none from vectors.
void run_model(Arguments& a) {
  const auto& model = a.layer<LanguageModel>();
  const ConstLengths ids = a.lengths();
  const ConstTensor x = a.floats();
  LanguageModelCall call;
  if (const ConstLengths types = a.lengths(); !types.is_none()) call.token_types = types;
  const Tensor logits = a.result();
  call.hidden = a.result();
  call.pooled = a.result();
  if (auto* caches = optional_state<Caches>(a, "caches")) call.caches = *caches;
  call.attention = attention_options(a);
  call.positions = a.positions();
  call.intermediates = a.intermediates();
  if (ids.is_none()) {
    model.forward(x, logits, call, context());
  } else {
    model.forward(IdView(ids), logits, call, context());
  }
  a.give_intermediates();
}

SamplingOptions sampling_options(Arguments& a) {
  SamplingOptions options;
  options.temperature = a.number();
  options.top_k = a.integer();
  options.random = a.random();
  return options;
}

void choose(Arguments& a) {
  const ConstTensor logits = a.floats();
  const SamplingOptions options = sampling_options(a);
  a.give(static_cast<double>(choose_token(logits, options, a.integer())));
}

/// Gives the new ids as texts, of which there may be any number.
void generate(Arguments& a) {
  const auto& model = a.layer<LanguageModel>();
  const ConstLengths ids = a.lengths();
  GenerationOptions options;
  options.max_new_tokens = a.integer();
  options.sampling = sampling_options(a);
  for (std::int64_t stops = a.integer(); stops > 0; --stops)
    options.stop_ids.push_back(a.integer());
  std::vector<std::string> said;
  for (const std::int64_t id : model.generate(ids, options, context())) {
    said.push_back(std::to_string(id));
  }
  a.give(std::move(said));
}

}  // namespace

EMSCRIPTEN_BINDINGS(models) {
  operation("safetensorsHeaderSize", &header_size);
  operation("safetensorsIndexFiles", &index_files);
  operation("chooseWeightFiles", &weight_files);
  operation("describeLanguageModel", &describe);
  operation("deleteLanguageModelDescription", &delete_description);
  operation("makeLanguageModelLoader", &make_loader);
  operation("deleteLanguageModelLoader", &delete_loader);
  operation("writeLanguageModel", &write_weights);
  operation("makeLanguageModel", &finish);
  operation("layerOfLanguageModel", &layer_of_model);
  operation("rotaryFrequenciesOfLayer", &rotary_frequencies);
  operation("makeLanguageModelCaches", &make_caches);
  operation("forwardLanguageModel", &run_model);
  operation("chooseToken", &choose);
  operation("generate", &generate);
}

}  // namespace attn::wasm
