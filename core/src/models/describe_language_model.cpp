#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "attn/models/load_language_model.hpp"
#include "attn/positions/rotary_embedding.hpp"
#include "heap_sort.hpp"
#include "io/safetensors_numbers.hpp"
#include "kernels/kernel_table.hpp"
#include "models/model_config.hpp"
#include "nearest_name.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

constexpr std::size_t kNamesShown = 16;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    if (i > 0) text += ", ";
    text += in_quotes(names[i]);
  }
  if (names.size() > kNamesShown) {
    text += " and " + std::to_string(names.size() - kNamesShown) + " more";
  }
  return text;
}

/// The tensors of all files by their names, and which of them a model has taken.
class ModelTensors {
 public:
  explicit ModelTensors(std::span<const SafetensorsHeader> files) : files_(files) {
    for (std::size_t file = 0; file < files.size(); ++file) {
      for (const SafetensorsEntry& entry : files[file].tensors) {
        tensors_.push_back({&entry, file, false});
      }
    }
    heap_sort(tensors_, name_of);
    const auto twice = std::ranges::adjacent_find(tensors_, {}, name_of);
    if (twice != tensors_.end()) {
      fail(ErrorCode::kInvalidFormat, "tensor " + in_quotes(name_of(*twice)), {"it in two files"},
           {"it once"});
    }
  }

  struct Found {
    const SafetensorsEntry* entry;
    std::size_t file;
    bool used;
  };

  Found* find(std::string_view name) {
    const auto found = std::ranges::lower_bound(tensors_, name, {}, name_of);
    return found == tensors_.end() || name_of(*found) != name ? nullptr : &*found;
  }
  bool has(std::string_view name) { return find(name) != nullptr; }

  /// What stands in front of `ending` in the first name that ends with it as a whole, if any does.
  std::optional<std::string> prefix_of(std::string_view ending) const {
    for (const Found& tensor : tensors_) {
      const std::string_view name = name_of(tensor);
      if (!name.ends_with(ending)) continue;
      const std::string_view prefix = name.substr(0, name.size() - ending.size());
      if (prefix.empty() || prefix.ends_with('.')) return std::string(prefix);
    }
    return {};
  }

  /// How many layers there are, from `path` + "0." on.
  std::int64_t count_layers(const std::string& path) const {
    std::int64_t count = 0;
    const auto has_layer = [&] {
      const std::string layer = path + std::to_string(count) + ".";
      const auto next = std::ranges::lower_bound(tensors_, std::string_view(layer), {}, name_of);
      return next != tensors_.end() && name_of(*next).starts_with(layer);
    };
    while (has_layer()) ++count;
    return count;
  }

  std::vector<std::string> names(bool unused_only = false) const {
    std::vector<std::string> names;
    for (const Found& tensor : tensors_) {
      if (!unused_only || !tensor.used) names.emplace_back(name_of(tensor));
    }
    return names;
  }

  std::int64_t size() const { return std::ssize(tensors_); }
  const SafetensorsHeader& file(std::size_t i) const { return files_[i]; }

 private:
  static std::string_view name_of(const Found& found) { return found.entry->name; }

  std::span<const SafetensorsHeader> files_;
  std::vector<Found> tensors_;
};

/// What a matrix of a file is used for.
enum class Use {
  kTable,       ///< rows of it are looked up
  kProduct,     ///< products read it
  kTransposed,  ///< the same, and the file has its columns as rows
};

/// Notes which tensors a model is made of.
class Plan {
 public:
  Plan(ModelTensors& tensors, LanguageModelDescription& description)
      : tensors_(tensors), description_(description) {}

  bool has(const std::string& name) const { return tensors_.has(name); }

  /// The next rows of a parameter: a matrix (rows, cols).
  void matrix(const std::string& parameter, const std::string& name, std::int64_t rows,
              std::int64_t cols, Use use = Use::kProduct) {
    const bool transposed = use == Use::kTransposed;
    take(parameter, name, transposed ? std::vector{cols, rows} : std::vector{rows, cols}, rows,
         transposed);
    if (use != Use::kTable) packed(rows, cols);
  }
  /// The next values of a parameter.
  void vector(const std::string& parameter, const std::string& name, std::int64_t size) {
    take(parameter, name, {size}, size, false);
  }
  /// A matrix and, where there is one, its bias.
  void linear(const std::string& parameter, const std::string& name, std::int64_t rows,
              std::int64_t cols, bool bias = true) {
    matrix(parameter + ".weight", name + ".weight", rows, cols);
    if (bias) vector(parameter + ".bias", name + ".bias", rows);
  }
  /// Of LayerNorm, which the oldest files of BERT call gamma and beta.
  void layer_norm(const std::string& parameter, const std::string& name, std::int64_t width,
                  bool bias = true) {
    const bool old = has(name + ".gamma");
    vector(parameter + ".weight", name + (old ? ".gamma" : ".weight"), width);
    if (bias) vector(parameter + ".bias", name + (old ? ".beta" : ".bias"), width);
  }

  /// Memory of a matrix as products read it.
  void packed(std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t kBytes = sizeof(float);
    description_.memory += kBytes * kernels::packed_size(rows, cols);
  }

  /// Checks that nothing is missing, and that nothing of the layers, which lie at `layers`, is
  /// left.
  void finish(const std::string& layers) {
    if (!missing_.empty()) {
      fail(ErrorCode::kNotFound, "tensors", {"no ", listed(missing_)},
           {"all that ", description_.family, " has"});
    }
    std::vector<std::string> unknown;
    for (std::string& name : tensors_.names(/*unused_only=*/true)) {
      constexpr std::string_view kBuffers[] = {".attn.bias", ".attn.masked_bias", ".inv_freq"};
      const bool is_buffer = std::ranges::any_of(
          kBuffers, [&](std::string_view buffer) { return name.ends_with(buffer); });
      if (name.starts_with(layers) && !is_buffer) unknown.push_back(name);
      description_.unused_tensors.push_back(std::move(name));
    }
    if (!unknown.empty()) {
      fail(ErrorCode::kNotFound, "tensors", {"the unknown ", listed(unknown)},
           {"in layers what ", description_.family, " has, and no others"});
    }
    heap_sort(description_.weights,
              [](const WeightSource& source) { return std::pair(source.file, source.begin); });
  }

 private:
  void take(const std::string& parameter, const std::string& name, std::vector<std::int64_t> shape,
            std::int64_t rows, bool transposed) {
    // Tensors of one parameter follow one another.
    const std::int64_t first = parameter == parameter_ ? next_row_ : 0;
    parameter_ = parameter;
    next_row_ = first + rows;
    ModelTensors::Found* found = tensors_.find(name);
    if (!found) {
      missing_.push_back(name);
      return;
    }
    const SafetensorsEntry& entry = *found->entry;
    if (entry.shape != shape) {
      validation::fail_shape("tensor " + in_quotes(name), entry.shape,
                             {"shape ", shape, ", as the model's sizes are"});
    }
    Safetensors::require_readable(entry);
    found->used = true;
    const std::int64_t begin = tensors_.file(found->file).data_begin;
    const std::int64_t count = validation::product(name, shape);
    description_.num_parameters += count;
    description_.memory += count * std::int64_t{sizeof(float)};
    description_.weights.push_back({.tensor = name,
                                    .dtype = entry.dtype,
                                    .shape = std::move(shape),
                                    .file = found->file,
                                    .begin = begin + entry.begin,
                                    .end = begin + entry.end,
                                    .parameter = parameter,
                                    .first_row = first,
                                    .transposed = transposed});
  }

  ModelTensors& tensors_;
  LanguageModelDescription& description_;
  std::string parameter_;
  std::int64_t next_row_ = 0;
  std::vector<std::string> missing_;
};

/// Everything that a family is described from and to.
struct Description {
  ModelConfig& config;
  bool has_config;
  const LanguageModelHints& hints;
  ModelTensors& tensors;
  LanguageModelDescription& result;
  Plan plan;

  /// A size of the configuration, or of a tensor where there is none.
  std::int64_t size(const char* field, const std::string& tensor, std::size_t dimension) const {
    if (has_config) return checked(field, config.integer(field));
    const ModelTensors::Found* found = tensors.find(tensor);
    if (!found) {
      fail(ErrorCode::kNotFound, "tensors", {"no ", in_quotes(tensor)}, {"it, or config.json"});
    }
    const std::vector<std::int64_t>& shape = found->entry->shape;
    if (dimension >= shape.size()) {
      validation::fail_shape("tensor " + in_quotes(tensor), shape, {"a matrix"});
    }
    return checked(field, shape[dimension]);
  }

  std::int64_t heads(const char* field, std::int64_t width) const {
    const std::optional<std::int64_t> given = config.find_integer(field);
    if (!given && !hints.num_heads) {
      fail(ErrorCode::kInvalidArgument, "num_heads", {"none"},
           {"the number of attention heads, which shapes do not show, or config.json"});
    }
    const std::int64_t heads = given.value_or(hints.num_heads.value_or(0));
    if (heads < 1 || heads > INT32_MAX) {
      validation::fail_value("num_heads", heads, {"1 or more, for width ", width});
    }
    return heads;
  }

  std::int64_t layers(const char* field, const std::string& path) const {
    const std::int64_t count = has_config ? config.integer(field) : tensors.count_layers(path);
    if (count < 1 || count > tensors.size()) {
      fail(ErrorCode::kInvalidFormat, "layers", {count},
           {"1 or more, and no more than there are tensors, ", tensors.size()});
    }
    return count;
  }

  Activation activation(const char* field, Activation otherwise) const {
    constexpr std::pair<std::string_view, Activation> kNames[] = {
        {"gelu", Activation::kGelu},
        {"gelu_new", Activation::kGeluTanh},
        {"gelu_pytorch_tanh", Activation::kGeluTanh},
        {"gelu_fast", Activation::kGeluTanh},
        {"silu", Activation::kSilu},
        {"swish", Activation::kSilu},
        {"relu", Activation::kRelu},
        {"tanh", Activation::kTanh},
        {"sigmoid", Activation::kSigmoid},
    };
    const std::optional<std::string> name = config.find_text(field);
    if (!name) return otherwise;
    for (const auto& [known, activation] : kNames) {
      if (*name == known) return activation;
    }
    config.refuse(field, "gelu, gelu_new, gelu_pytorch_tanh, silu, relu, tanh or sigmoid");
  }

  float eps(const char* field, double otherwise) const {
    const double eps = config.number(field, otherwise);
    if (eps < 0 || eps > 1) config.refuse(field, "a number from 0 to 1");
    return static_cast<float>(eps);
  }

 private:
  static std::int64_t checked(const char* field, std::int64_t size) {
    if (size < 1 || size > INT32_MAX) {
      fail(ErrorCode::kInvalidFormat, std::string_view(field), {size}, {"1 or more, below 2^31"});
    }
    return size;
  }
};

/// Refuses what changes a result and is not computed.
void refuse_unsupported(const ModelConfig& config) {
  for (const char* field : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (config.integer(field, 0) > 0) {
      config.refuse(field, "0: a mixture of experts is not supported");
    }
  }
  if (config.has_any("quantization_config")) {
    config.refuse("quantization_config", "none: quantised weights are not supported");
  }
  for (const char* field :
       {"add_cross_attention", "is_encoder_decoder", "use_bidirectional_attention", "alibi",
        "sinusoidal_pos_embds", "attn_temperature_tuning", "attn_output_gate", "use_mrope",
        "enable_moe_block"}) {
    if (config.flag(field, false)) config.refuse(field, "false: it is not supported");
  }
  for (const char* field : {"logit_scale", "logits_scaling", "embedding_multiplier",
                            "residual_multiplier", "attention_multiplier"}) {
    if (config.number(field, 1) != 1) config.refuse(field, "1: it is not supported");
  }
  for (const char* field : {"clip_qkv", "attention_chunk_size", "swiglu_limit"}) {
    if (config.has(field)) config.refuse(field, "none: it is not supported");
  }
}

void describe_gpt2(Description& d) {
  const auto prefix = d.tensors.prefix_of("wte.weight").value_or("");
  const std::string embedding = prefix + "wte.weight", positions = prefix + "wpe.weight";
  const std::string layers = prefix + "h.";
  LanguageModelOptions& options = d.result.options;
  const std::int64_t e = d.size("n_embd", embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  options.max_positions = d.config.has("n_positions") ? d.size("n_positions", positions, 0)
                                                      : d.size("n_ctx", positions, 0);
  TransformerLayerOptions layer;
  layer.d_model = e;
  layer.num_heads = d.heads("n_head", e);
  layer.dim_feedforward = d.has_config ? d.config.integer("n_inner", 4 * e)
                                       : d.size("n_inner", layers + "0.mlp.c_fc.weight", 1);
  layer.activation = d.activation("activation_function", Activation::kGeluTanh);
  layer.layer_norm_eps = d.eps("layer_norm_epsilon", 1e-5);
  layer.norm_first = true;
  const std::int64_t count = d.layers("n_layer", layers);
  const bool scaled = d.config.flag("scale_attn_weights", true);
  const bool by_layer = d.config.flag("scale_attn_by_inverse_layer_idx", false);
  options.stack.final_norm = true;

  Plan& plan = d.plan;
  const std::int64_t f = layer.dim_feedforward;
  plan.matrix("embedding.weight", embedding, options.vocab_size, e, Use::kTable);
  plan.matrix("positions.weight", positions, options.max_positions, e, Use::kTable);
  for (std::int64_t l = 0; l < count; ++l) {
    if (!scaled || by_layer) {
      const double head_dim = static_cast<double>(e) / static_cast<double>(layer.num_heads);
      layer.scale = static_cast<float>((scaled ? 1 / std::sqrt(head_dim) : 1) /
                                       (by_layer ? static_cast<double>(l + 1) : 1));
    }
    options.stack.layers.push_back(layer);
    const std::string from = layers + std::to_string(l) + ".";
    const std::string to = "encoder.layers." + std::to_string(l) + ".";
    const auto conv1d = [&](const std::string& parameter, const char* name, std::int64_t rows,
                            std::int64_t cols, char mark) {
      plan.matrix(parameter + mark + "weight", from + name + ".weight", rows, cols,
                  Use::kTransposed);
      plan.vector(parameter + mark + "bias", from + name + ".bias", rows);
    };
    conv1d(to + "self_attn.in_proj", "attn.c_attn", 3 * e, e, '_');
    conv1d(to + "self_attn.out_proj", "attn.c_proj", e, e, '.');
    conv1d(to + "linear1", "mlp.c_fc", f, e, '.');
    conv1d(to + "linear2", "mlp.c_proj", e, f, '.');
    plan.layer_norm(to + "norm1", from + "ln_1", e);
    plan.layer_norm(to + "norm2", from + "ln_2", e);
  }
  plan.layer_norm("encoder.norm", prefix + "ln_f", e);
  const std::string head = "lm_head.weight";
  options.tied = d.config.flag("tie_word_embeddings", true) || !plan.has(head);
  if (options.tied) {
    plan.packed(options.vocab_size, e);
  } else {
    plan.matrix("output.weight", head, options.vocab_size, e);
  }
  plan.finish(layers);
}

/// What BERT and its kin call their tensors.
struct BertNames {
  const char* family;
  const char* layer;
  const char *query, *key, *value, *out, *norm1, *up, *down, *norm2;
  const char *transform, *transform_norm, *bias, *decoder;
  const char *width, *layers, *heads, *hidden, *activation;  // in config.json
};
constexpr BertNames kBert = {"bert",
                             "encoder.layer.",
                             "attention.self.query",
                             "attention.self.key",
                             "attention.self.value",
                             "attention.output.dense",
                             "attention.output.LayerNorm",
                             "intermediate.dense",
                             "output.dense",
                             "output.LayerNorm",
                             "cls.predictions.transform.dense",
                             "cls.predictions.transform.LayerNorm",
                             "cls.predictions.bias",
                             "cls.predictions.decoder",
                             "hidden_size",
                             "num_hidden_layers",
                             "num_attention_heads",
                             "intermediate_size",
                             "hidden_act"};
constexpr BertNames kDistilBert = {"distilbert",
                                   "transformer.layer.",
                                   "attention.q_lin",
                                   "attention.k_lin",
                                   "attention.v_lin",
                                   "attention.out_lin",
                                   "sa_layer_norm",
                                   "ffn.lin1",
                                   "ffn.lin2",
                                   "output_layer_norm",
                                   "vocab_transform",
                                   "vocab_layer_norm",
                                   "vocab_projector.bias",
                                   "vocab_projector",
                                   "dim",
                                   "n_layers",
                                   "n_heads",
                                   "hidden_dim",
                                   "activation"};

void describe_bert(Description& d) {
  const std::string& family = d.result.family;
  const bool distilled = family == "distilbert", is_bert = family == "bert";
  BertNames names = distilled ? kDistilBert : kBert;
  if (!distilled && !is_bert) {
    names.transform = "lm_head.dense";
    names.transform_norm = "lm_head.layer_norm";
    names.bias = "lm_head.bias";
    names.decoder = "lm_head.decoder";
  }
  if (d.config.find_text("position_embedding_type").value_or("absolute") != "absolute") {
    d.config.refuse("position_embedding_type", "\"absolute\"");
  }
  const auto prefix = d.tensors.prefix_of("embeddings.word_embeddings.weight").value_or("");
  const std::string embeddings = prefix + "embeddings.";
  const std::string words = embeddings + "word_embeddings.weight";
  const std::string positions = embeddings + "position_embeddings.weight";
  const std::string types = embeddings + "token_type_embeddings.weight";
  const std::string layers = prefix + names.layer;
  LanguageModelOptions& options = d.result.options;
  const std::int64_t e = d.size(names.width, words, 1);
  const float eps = d.eps("layer_norm_eps", distilled || is_bert ? 1e-12 : 1e-5);
  options.vocab_size = d.size("vocab_size", words, 0);
  options.max_positions = d.size("max_position_embeddings", positions, 0);
  if (!distilled) options.num_token_types = d.size("type_vocab_size", types, 0);
  if (!distilled && !is_bert) options.first_position = d.config.integer("pad_token_id", 1) + 1;
  options.embedding_norm = LayerNormOptions{.eps = eps};
  options.causal = d.config.flag("is_decoder", false);
  TransformerLayerOptions& layer = options.stack.layer;
  layer.d_model = e;
  layer.num_heads = d.heads(names.heads, e);
  layer.dim_feedforward = d.size(names.hidden, layers + "0." + names.up + ".weight", 0);
  layer.activation = d.activation(names.activation, Activation::kGelu);
  layer.layer_norm_eps = eps;
  options.stack.num_layers = d.layers(names.layers, layers);

  Plan& plan = d.plan;
  plan.matrix("embedding.weight", words, options.vocab_size, e, Use::kTable);
  plan.matrix("positions.weight", positions, options.max_positions, e, Use::kTable);
  if (!distilled) {
    plan.matrix("token_types.weight", types, options.num_token_types, e, Use::kTable);
  }
  plan.layer_norm("embedding_norm", embeddings + "LayerNorm", e);
  for (std::int64_t l = 0; l < options.stack.num_layers; ++l) {
    const std::string from = layers + std::to_string(l) + ".";
    const std::string to = "encoder.layers." + std::to_string(l) + ".";
    const char* const projections[] = {names.query, names.key, names.value};
    for (const char* name : projections) {
      plan.matrix(to + "self_attn.in_proj_weight", from + name + ".weight", e, e);
    }
    for (const char* name : projections) {
      plan.vector(to + "self_attn.in_proj_bias", from + name + ".bias", e);
    }
    plan.linear(to + "self_attn.out_proj", from + names.out, e, e);
    plan.linear(to + "linear1", from + names.up, layer.dim_feedforward, e);
    plan.linear(to + "linear2", from + names.down, e, layer.dim_feedforward);
    plan.layer_norm(to + "norm1", from + names.norm1, e);
    plan.layer_norm(to + "norm2", from + names.norm2, e);
  }
  options.output = plan.has(std::string(names.transform) + ".weight");
  if (options.output) {
    options.transform = !distilled && !is_bert ? Activation::kGelu : layer.activation;
    options.transform_norm_eps = eps;
    options.output_bias = true;
    plan.linear("transform", names.transform, e, e);
    plan.layer_norm("transform_norm", names.transform_norm, e);
    const std::string decoder = names.decoder;
    options.tied = d.config.flag("tie_word_embeddings", true) || !plan.has(decoder + ".weight");
    if (options.tied) {
      plan.packed(options.vocab_size, e);
    } else {
      plan.matrix("output.weight", decoder + ".weight", options.vocab_size, e);
    }
    const bool own = plan.has(names.bias);
    plan.vector("output.bias", own ? names.bias : decoder + ".bias", options.vocab_size);
  }
  options.pooler = plan.has(prefix + "pooler.dense.weight");
  if (options.pooler) plan.linear("pooler", prefix + "pooler.dense", e, e);
  plan.finish(layers);
}

/// What the families that came of Llama do otherwise than Llama itself.
struct DecoderFamily {
  std::string_view name;
  bool zero_centred = false;  ///< norms multiply by 1 + weight, embeddings by √E
  bool norm_outputs = false;
  bool norm_inputs = true;
  bool qk_norm = false, qk_norm_all_heads = false;
  bool sinks = false;
  bool query_bias = false, attention_bias = false;  ///< where the configuration does not say
  enum Windows { kNone, kAll, kLate, kEven, kPattern } windows = kNone;
};
constexpr DecoderFamily kDecoders[] = {
    {.name = "llama"},
    {.name = "mistral", .windows = DecoderFamily::kAll},
    {.name = "smollm3", .windows = DecoderFamily::kLate},
    {.name = "qwen2", .query_bias = true, .windows = DecoderFamily::kLate},
    {.name = "qwen3", .qk_norm = true, .windows = DecoderFamily::kLate},
    {.name = "gemma", .zero_centred = true},
    {.name = "gemma2", .zero_centred = true, .norm_outputs = true, .windows = DecoderFamily::kEven},
    {.name = "gemma3_text",
     .zero_centred = true,
     .norm_outputs = true,
     .qk_norm = true,
     .windows = DecoderFamily::kPattern},
    {.name = "gpt_oss", .sinks = true, .attention_bias = true, .windows = DecoderFamily::kEven},
    {.name = "olmo2",
     .norm_outputs = true,
     .norm_inputs = false,
     .qk_norm = true,
     .qk_norm_all_heads = true},
};

/// Rotary positions, with the rule that stands at `path`.
RotaryEmbeddingOptions rotary_of(const ModelConfig& config, const std::string& path, double base,
                                 std::int64_t head_dim) {
  const auto at = [&](const char* name) { return path + "." + name; };
  RotaryEmbeddingOptions rotary;
  rotary.base = config.number(at("rope_theta"), base);
  const double part =
      config.number(at("partial_rotary_factor"), config.number("partial_rotary_factor", 1));
  if (!(part > 0 && part <= 1)) {
    config.refuse("partial_rotary_factor", "a number above 0 and up to 1");
  }
  rotary.rotary_dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * part);
  if (config.has_any(at("mrope_section"))) config.refuse(at("mrope_section"), "none");
  const std::string field = config.has(at("rope_type")) ? at("rope_type") : at("type");
  const std::string rule = config.find_text(field).value_or("default");
  // The length of training, where the rule does not have its own.
  const auto original = [&] {
    const auto own = config.find_integer(at("original_max_position_embeddings"));
    return own ? *own : config.integer("max_position_embeddings");
  };
  if (rule == "linear") {
    rotary.scaling = LinearRotaryScaling{.factor = config.number(at("factor"))};
  } else if (rule == "dynamic") {
    rotary.scaling = DynamicNtkRotaryScaling{
        .factor = config.number(at("factor")),
        .max_position_embeddings = config.integer("max_position_embeddings")};
  } else if (rule == "yarn") {
    rotary.scaling =
        YarnRotaryScaling{.factor = config.number(at("factor")),
                          .original_max_position_embeddings = original(),
                          .attention_factor = config.find_number(at("attention_factor")),
                          .beta_fast = config.number(at("beta_fast"), 32),
                          .beta_slow = config.number(at("beta_slow"), 1),
                          .mscale = config.find_number(at("mscale")),
                          .mscale_all_dim = config.find_number(at("mscale_all_dim")),
                          .truncate = config.flag(at("truncate"), true)};
  } else if (rule == "llama3") {
    rotary.scaling = Llama3RotaryScaling{.factor = config.number(at("factor")),
                                         .low_freq_factor = config.number(at("low_freq_factor")),
                                         .high_freq_factor = config.number(at("high_freq_factor")),
                                         .original_max_position_embeddings = original()};
  } else if (rule != "default") {
    config.refuse(field, "default, linear, dynamic, yarn or llama3");
  }
  RotaryEmbedding checked(rotary);
  return rotary;
}

/// Windows and rotary positions, layer by layer.
class LayerKinds {
 public:
  LayerKinds(const ModelConfig& config, const DecoderFamily& family, std::int64_t head_dim)
      : config_(config), family_(family) {
    const bool late = family.windows == DecoderFamily::kLate;
    if (family.windows != DecoderFamily::kNone &&
        (!late || config.flag("use_sliding_window", false))) {
      const std::optional<std::int64_t> size = config.find_integer("sliding_window");
      if (size && *size < 1) config.refuse("sliding_window", "1 or more");
      if (size) window_ = Window{.left = *size - 1};
    }
    const bool local = family.windows == DecoderFamily::kPattern;
    const double base = config.number("rope_theta", local ? 1e6 : 1e4);
    const std::string all = "rope_parameters";
    const bool by_kind = config.has_any(all + ".full_attention");
    const std::string path = by_kind               ? all + ".full_attention"
                             : config.has_any(all) ? all
                                                   : "rope_scaling";
    global_ = local_ = rotary_of(config, path, base, head_dim);
    if (by_kind) {
      local_ = rotary_of(config, all + ".sliding_attention", base, head_dim);
    } else if (local) {
      // No rule, and a base of their own.
      local_ = rotary_of(config, "", config.number("rope_local_base_freq", 1e4), head_dim);
    }
  }

  void set(TransformerLayerOptions& layer, std::int64_t l) const {
    const bool sliding = is_sliding(l);
    layer.window = sliding ? window_ : std::nullopt;
    layer.positions.rotary.reset();
    if (has_positions(l)) layer.positions.rotary = sliding ? local_ : global_;
  }

 private:
  bool is_sliding(std::int64_t l) const {
    const std::string field = "layer_types." + std::to_string(l);
    if (const std::optional<std::string> type = config_.find_text(field)) {
      if (*type == "sliding_attention") return true;
      if (*type == "full_attention") return false;
      config_.refuse(field, "sliding_attention or full_attention");
    }
    switch (family_.windows) {
      case DecoderFamily::kNone:
        return false;
      case DecoderFamily::kAll:
        return true;
      case DecoderFamily::kLate:
        return l >= config_.integer("max_window_layers", 0);
      case DecoderFamily::kEven:
        return l % 2 == 0;
      case DecoderFamily::kPattern: {
        const std::int64_t pattern = config_.integer("sliding_window_pattern", 6);
        if (pattern < 1) config_.refuse("sliding_window_pattern", "1 or more");
        return (l + 1) % pattern != 0;
      }
    }
    return false;
  }

  /// SmolLM 3 leaves positions out in some layers; its list says which have them.
  bool has_positions(std::int64_t l) const {
    if (family_.name != "smollm3") return true;
    if (const auto has = config_.find_integer("no_rope_layers." + std::to_string(l)))
      return *has != 0;
    const std::int64_t interval = config_.integer("no_rope_layer_interval", 4);
    return interval == 0 || (l + 1) % interval != 0;
  }

  const ModelConfig& config_;
  const DecoderFamily& family_;
  std::optional<Window> window_;
  RotaryEmbeddingOptions local_, global_;
};

void describe_decoder(Description& d, const DecoderFamily& family) {
  const ModelConfig& config = d.config;
  if (!d.has_config) {
    fail(ErrorCode::kInvalidArgument, "config", {"none"},
         {"config.json: names and shapes are those of Llama and what came of it, and do not show "
          "heads and positions"});
  }
  const auto prefix = d.tensors.prefix_of("embed_tokens.weight").value_or("model.");
  const std::string layers = prefix + "layers.", embedding = prefix + "embed_tokens.weight";
  LanguageModelOptions& options = d.result.options;
  const std::int64_t e = d.size("hidden_size", embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  options.scale_embedding = family.zero_centred;
  options.final_softcap = static_cast<float>(config.number("final_logit_softcapping", 0));

  TransformerLayerOptions layer;
  layer.d_model = e;
  layer.num_heads = d.heads("num_attention_heads", e);
  layer.num_kv_heads = config.integer("num_key_value_heads", layer.num_heads);
  const auto default_head_dim = family.zero_centred ? 256 : e / layer.num_heads;
  layer.head_dim = config.integer("head_dim", default_head_dim);
  layer.dim_feedforward = d.size("intermediate_size", embedding, 0);
  layer.gated_feed_forward = true;
  // Gemma's second name for it counts; its first one means the approximation, too.
  if (family.zero_centred) {
    layer.activation = d.activation("hidden_activation", Activation::kGeluTanh);
    config.has("hidden_act");
  } else {
    layer.activation = d.activation("hidden_act", Activation::kSilu);
  }
  layer.rms_norm = RmsNormOptions{.eps = d.eps("rms_norm_eps", 1e-6),
                                  .zero_centred_weight = family.zero_centred};
  layer.norm_first = family.norm_inputs;
  layer.norm_outputs = family.norm_outputs;
  const bool attention_bias = config.flag("attention_bias", family.attention_bias);
  layer.bias = config.flag("mlp_bias", false);
  layer.attention_bias = attention_bias || family.query_bias;
  layer.attention_output_bias = attention_bias;
  if (family.qk_norm) layer.qk_norm = layer.rms_norm;
  layer.qk_norm_all_heads = family.qk_norm_all_heads;
  layer.sinks = family.sinks;
  if (const auto scalar = config.find_number("query_pre_attn_scalar")) {
    if (*scalar <= 0) config.refuse("query_pre_attn_scalar", "a number above 0");
    layer.scale = static_cast<float>(1 / std::sqrt(*scalar));
  }
  layer.softcap = static_cast<float>(config.number("attn_logit_softcapping", 0));
  const std::int64_t head_dim = *layer.head_dim, heads = layer.num_heads, kv = *layer.num_kv_heads;
  const std::int64_t f = layer.dim_feedforward;
  if (head_dim < 1 || kv < 1 || kv > heads) {
    fail(ErrorCode::kInvalidFormat, "num_key_value_heads", {kv, " of ", head_dim, " columns"},
         {"1 or more, up to ", heads, ", of 1 or more columns"});
  }
  const std::int64_t count = d.layers("num_hidden_layers", layers);
  const LayerKinds kinds(config, family, head_dim);
  options.stack.final_norm = true;

  Plan& plan = d.plan;
  plan.matrix("embedding.weight", embedding, options.vocab_size, e, Use::kTable);
  for (std::int64_t l = 0; l < count; ++l) {
    kinds.set(layer, l);
    options.stack.layers.push_back(layer);
    const std::string from = layers + std::to_string(l) + ".";
    const std::string to = "encoder.layers." + std::to_string(l) + ".";
    const std::pair<const char*, std::int64_t> projections[] = {
        {"q", heads * head_dim}, {"k", kv * head_dim}, {"v", kv * head_dim}};
    const std::string attention = from + "self_attn.", self = to + "self_attn.";
    for (const auto& [name, rows] : projections) {
      const bool joined = kv == heads;
      plan.matrix(self + (joined ? "in_proj_weight" : std::string(name) + "_proj_weight"),
                  attention + name + "_proj.weight", rows, e);
    }
    for (const auto& [name, rows] : projections) {
      if (!*layer.attention_bias) break;
      plan.vector(self + "in_proj_bias", attention + name + "_proj.bias", rows);
    }
    plan.linear(self + "out_proj", attention + "o_proj", e, heads * head_dim, attention_bias);
    if (family.sinks) plan.vector(self + "sinks", attention + "sinks", heads);
    if (family.qk_norm) {
      const bool all = family.qk_norm_all_heads;
      plan.vector(self + "q_norm.weight", attention + "q_norm.weight",
                  all ? heads * head_dim : head_dim);
      plan.vector(self + "k_norm.weight", attention + "k_norm.weight",
                  all ? kv * head_dim : head_dim);
    }
    plan.linear(to + "gate_proj", from + "mlp.gate_proj", f, e, layer.bias);
    plan.linear(to + "up_proj", from + "mlp.up_proj", f, e, layer.bias);
    plan.linear(to + "down_proj", from + "mlp.down_proj", e, f, layer.bias);
    const auto norm = [&](const char* parameter, const char* name) {
      plan.vector(to + parameter + ".weight", from + name + ".weight", e);
    };
    if (family.norm_inputs) norm("norm1", "input_layernorm");
    if (family.norm_outputs) {
      norm("output_norm1", "post_attention_layernorm");
      norm("output_norm2", "post_feedforward_layernorm");
      if (family.norm_inputs) norm("norm2", "pre_feedforward_layernorm");
    } else {
      norm("norm2", "post_attention_layernorm");
    }
  }
  plan.vector("encoder.norm.weight", prefix + "norm.weight", e);
  std::string head = "lm_head.weight";
  if (!plan.has(head)) head = d.tensors.prefix_of(head).value_or("") + head;
  options.tied = config.flag("tie_word_embeddings", !plan.has(head));
  if (options.tied) {
    plan.packed(options.vocab_size, e);
  } else {
    plan.matrix("output.weight", head, options.vocab_size, e);
  }
  plan.finish(layers);
}

/// The layers of a torch.nn.TransformerEncoder, and attn's.
void plan_encoder(Plan& plan, const TransformerEncoderOptions& stack, const std::string& prefix) {
  const std::int64_t e = stack.layer.d_model, f = stack.layer.dim_feedforward;
  const bool bias = stack.layer.bias;
  for (std::int64_t l = 0; l < stack.num_layers; ++l) {
    const std::string layer = "layers." + std::to_string(l) + ".";
    const std::string from = prefix + layer, to = "encoder." + layer;
    plan.matrix(to + "self_attn.in_proj_weight", from + "self_attn.in_proj_weight", 3 * e, e);
    if (bias) plan.vector(to + "self_attn.in_proj_bias", from + "self_attn.in_proj_bias", 3 * e);
    plan.linear(to + "self_attn.out_proj", from + "self_attn.out_proj", e, e, bias);
    plan.linear(to + "linear1", from + "linear1", f, e, bias);
    plan.linear(to + "linear2", from + "linear2", e, f, bias);
    plan.layer_norm(to + "norm1", from + "norm1", e, bias);
    plan.layer_norm(to + "norm2", from + "norm2", e, bias);
  }
  if (stack.final_norm) plan.layer_norm("encoder.norm", prefix + "norm", e, bias);
  plan.finish(prefix + "layers.");
}

void describe_pytorch_encoder(Description& d) {
  const std::string first = "layers.0.self_attn.in_proj_weight";
  const auto prefix = d.tensors.prefix_of(first).value_or("");
  LanguageModelOptions& options = d.result.options;
  TransformerLayerOptions& layer = options.stack.layer;
  layer.d_model = d.size("d_model", prefix + first, 1);
  layer.num_heads = d.heads("nhead", layer.d_model);
  layer.dim_feedforward = d.size("dim_feedforward", prefix + "layers.0.linear1.weight", 0);
  layer.activation = d.hints.activation.value_or(Activation::kRelu);
  layer.norm_first = d.hints.norm_first;
  layer.bias = d.plan.has(prefix + "layers.0.linear1.bias");
  options.stack.num_layers = d.layers("num_layers", prefix + "layers.");
  options.stack.final_norm = d.plan.has(prefix + "norm.weight");
  options.causal = d.hints.causal;
  options.output = false;
  plan_encoder(d.plan, options.stack, prefix);
}

/// A model that was trained with attn, as the page's.
void describe_own(Description& d) {
  const ModelConfig& config = d.config;
  LanguageModelOptions& options = d.result.options;
  TransformerLayerOptions& layer = options.stack.layer;
  layer.d_model = d.size("dModel", "", 0);
  layer.num_heads = d.heads("numHeads", layer.d_model);
  layer.dim_feedforward = d.size("dimFeedforward", "", 0);
  layer.activation = d.activation("activation", Activation::kRelu);
  layer.norm_first = true;
  options.vocab_size = d.size("vocabularySize", "", 0);
  options.scale_embedding = config.flag("scaleBySqrtDim", false);
  options.stack.num_layers = d.layers("numLayers", "");
  options.stack.final_norm = true;
  const double base = config.number("base", 10000);
  const std::string positions = config.find_text("positions").value_or("");
  if (positions == "rotary") {
    layer.positions.rotary = RotaryEmbeddingOptions{.base = base};
  } else if (positions == "sinusoidal") {
    options.sinusoidal = PositionalEncodingOptions{.base = base};
  } else {
    config.refuse("positions", "rotary or sinusoidal");
  }
  d.plan.matrix("embedding.weight", "embedding.weight", options.vocab_size, layer.d_model,
                Use::kTable);
  d.plan.packed(options.vocab_size, layer.d_model);
  plan_encoder(d.plan, options.stack, "encoder.");
}

/// A tensor that tells a family from others.
struct Mark {
  const char* family;
  const char* tensor;
};
constexpr Mark kMarks[] = {
    {"distilbert", "transformer.layer.0.attention.q_lin.weight"},
    {"bert", "encoder.layer.0.attention.self.query.weight"},
    {"gpt2", "h.0.attn.c_attn.weight"},
    {"llama", "layers.0.self_attn.q_proj.weight"},
    {"torch.nn.TransformerEncoder", "layers.0.self_attn.in_proj_weight"},
};
constexpr std::string_view kRobertas[] = {"roberta", "xlm-roberta", "camembert"};

std::string family_of_names(const ModelTensors& tensors) {
  for (const auto& [family, tensor] : kMarks) {
    const std::optional<std::string> prefix = tensors.prefix_of(tensor);
    if (!prefix) continue;
    return std::string_view(family) == "bert" && prefix->ends_with("roberta.") ? "roberta" : family;
  }
  return {};
}

[[noreturn]] void fail_unknown(const ModelTensors& tensors, const std::string& type) {
  std::string known = "gpt2, bert, distilbert";
  for (const std::string_view name : kRobertas) known.append(", ").append(name);
  for (const DecoderFamily& family : kDecoders) known.append(", ").append(family.name);
  known += ", torch.nn.TransformerEncoder or attn's own";
  const std::vector<std::string> names = tensors.names();
  std::string nearest = family_of_names(tensors);
  if (nearest.empty() && !names.empty()) {
    // The attention of a first layer tells most.
    const auto says = [](const std::string& name) {
      return name.find("0.") != name.npos && name.find("att") != name.npos;
    };
    const auto telling = std::ranges::find_if(names, says);
    std::vector<std::string> marks;
    for (const Mark& mark : kMarks) marks.emplace_back(mark.tensor);
    const std::string name = (telling == names.end() ? names.front() : *telling).substr(0, 200);
    const std::string& mark = nearest_name(name, marks);
    nearest = kMarks[std::ranges::find(marks, mark) - marks.begin()].family;
    nearest += ", which has " + mark;
  }
  fail(ErrorCode::kUnsupported, "architecture",
       {type.empty() ? "one unknown" : in_quotes(type), " with the tensors ", listed(names)},
       {"one of ", known, nearest.empty() ? "" : "; nearest is ", nearest});
}

}  // namespace

LanguageModelDescription describe_language_model(std::span<const SafetensorsHeader> files,
                                                 std::string_view config_text,
                                                 const LanguageModelHints& hints) {
  ModelTensors tensors(files);
  // attn's own files say in their metadata what they are made of.
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
  Description d{config, is_own || !config_text.empty(), hints, tensors, result, {tensors, result}};

  std::string type = config.find_text("model_type").value_or("");
  if (type == "gemma3") {
    // With pictures; the text's part is a model by itself.
    config.look_within("text_config.");
    type = config.find_text("model_type").value_or("gemma3_text");
  }
  refuse_unsupported(config);
  result.family = is_own ? "attn" : type.empty() ? family_of_names(tensors) : type;
  const std::string& family = result.family;
  const auto decoder = std::ranges::find(kDecoders, std::string_view(family), &DecoderFamily::name);
  const bool is_roberta = std::ranges::find(kRobertas, family) != std::end(kRobertas);
  if (is_own) {
    describe_own(d);
  } else if (family == "gpt2") {
    describe_gpt2(d);
  } else if (family == "bert" || family == "distilbert" || is_roberta) {
    describe_bert(d);
  } else if (family == "torch.nn.TransformerEncoder") {
    describe_pytorch_encoder(d);
  } else if (decoder != std::end(kDecoders)) {
    describe_decoder(d, *decoder);
  } else {
    fail_unknown(tensors, type);
  }
  result.unused_fields = config.unused();
  return result;
}

}  // namespace attn
