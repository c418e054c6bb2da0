#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "attn/positions/rotary_embedding.hpp"
#include "io/safetensors_numbers.hpp"
#include "models/families.hpp"
#include "models/rotary_rule.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

/// The differences between Llama and a family derived from it.
struct DecoderFamily {
  std::string_view name;
  /// The family's defaults in Transformers, for fields that tensor shapes do not show.
  std::string_view defaults = "{}";
  bool zero_centred = false;  ///< true if norms multiply by 1 + weight, and embeddings are
                              ///< multiplied by √E
  bool norm_outputs = false;
  bool norm_inputs = true;
  bool qk_norm = false, qk_norm_all_heads = false;
  bool sinks = false;
  bool query_bias = false;
  /// Selects the layers that have windows if config.json has no "layer_types".
  enum Windows { kNone, kAll, kLate, kEven, kPattern, kWithoutPositions } windows = kNone;
  bool attention_bias = true, mlp_bias = false;  ///< true if the family's configuration has this
                                                 ///< field
  bool query_scalar = false;                     ///< query_pre_attn_scalar
  bool score_softcap = false, logit_softcap = false;
};
constexpr DecoderFamily kDecoders[] = {
    {.name = "llama", .defaults = R"({"max_position_embeddings": 2048})", .mlp_bias = true},
    {.name = "mistral",
     .defaults = R"({"num_key_value_heads": 8, "sliding_window": 4096,
                     "max_position_embeddings": 131072})",
     .windows = DecoderFamily::kAll,
     .attention_bias = false},
    {.name = "smollm3",
     .defaults = R"({"num_attention_heads": 16, "num_key_value_heads": 4, "rope_theta": 2e6,
                     "tie_word_embeddings": true, "max_position_embeddings": 32768})",
     .windows = DecoderFamily::kWithoutPositions,
     .mlp_bias = true},
    {.name = "qwen2",
     .defaults = R"({"num_attention_heads": 32, "num_key_value_heads": 32, "sliding_window": 4096,
                     "max_window_layers": 28, "max_position_embeddings": 32768})",
     .query_bias = true,
     .windows = DecoderFamily::kLate,
     .attention_bias = false},
    {.name = "qwen3",
     .defaults = R"({"num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
                     "sliding_window": 4096, "max_window_layers": 28,
                     "max_position_embeddings": 32768})",
     .qk_norm = true,
     .windows = DecoderFamily::kLate},
    {.name = "gemma",
     .defaults = R"({"num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
                     "tie_word_embeddings": true, "max_position_embeddings": 8192})",
     .zero_centred = true},
    {.name = "gemma2",
     .defaults = R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                     "sliding_window": 4096, "query_pre_attn_scalar": 256,
                     "attn_logit_softcapping": 50, "final_logit_softcapping": 30,
                     "tie_word_embeddings": true, "max_position_embeddings": 8192})",
     .zero_centred = true,
     .norm_outputs = true,
     .windows = DecoderFamily::kEven,
     .query_scalar = true,
     .score_softcap = true,
     .logit_softcap = true},
    {.name = "gemma3_text",
     .defaults = R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                     "sliding_window": 4096, "query_pre_attn_scalar": 256, "rope_theta": 1e6,
                     "tie_word_embeddings": true, "max_position_embeddings": 131072})",
     .zero_centred = true,
     .norm_outputs = true,
     .qk_norm = true,
     .windows = DecoderFamily::kPattern,
     .query_scalar = true,
     .logit_softcap = true},
    {.name = "gpt_oss",
     .defaults = R"({"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
                     "sliding_window": 128, "rope_theta": 150000, "rms_norm_eps": 1e-5,
                     "attention_bias": true, "max_position_embeddings": 131072})",
     .sinks = true,
     .windows = DecoderFamily::kEven},
    {.name = "olmo2",
     .defaults = R"({"num_attention_heads": 32, "rms_norm_eps": 1e-5,
                     "max_position_embeddings": 2048})",
     .norm_outputs = true,
     .norm_inputs = false,
     .qk_norm = true,
     .qk_norm_all_heads = true},
};

/// Sets the window and the rotary positions of each layer.
class DecoderLayerKinds {
 public:
  DecoderLayerKinds(const ModelConfig& config, const DecoderFamily& family, std::int64_t head_dim,
                    std::int64_t num_layers)
      : config_(config), family_(family) {
    has_types_ = family.windows != DecoderFamily::kNone && family.windows != DecoderFamily::kAll &&
                 config.has_any(kTypes);
    if (has_types_) require_layers(kTypes, num_layers);
    if (family.name == "smollm3" && config.has_any(kPositions)) {
      require_layers(kPositions, num_layers);
    }
    const bool on_demand = family.windows == DecoderFamily::kLate ||
                           family.windows == DecoderFamily::kWithoutPositions;
    if (family.windows != DecoderFamily::kNone &&
        (!on_demand || config.flag("use_sliding_window", false))) {
      const std::optional<std::int64_t> size = config.find_integer("sliding_window");
      if (size && *size < 1) config.reject("sliding_window", "1 or more");
      if (size) window_ = Window{.left = *size - 1};
    }
    read_rotary(head_dim);
  }

  void set(TransformerLayerOptions& layer, std::int64_t l) const {
    const bool sliding = is_sliding(l);
    layer.window = sliding ? window_ : std::nullopt;
    layer.positions.rotary.reset();
    if (has_positions(l)) layer.positions.rotary = sliding ? local_ : global_;
  }

 private:
  static constexpr const char* kTypes = "layer_types";
  static constexpr const char* kPositions = "no_rope_layers";

  static std::string entry_of(std::string list, std::int64_t l) {
    return list.append(".").append(std::to_string(l));
  }

  void require_layers(const char* list, std::int64_t num_layers) const {
    if (config_.count(list) == num_layers) return;
    std::string field = "config.json, ";
    field += in_quotes(list);
    fail(ErrorCode::kInvalidFormat, field, {config_.count(list), " entries"},
         {num_layers, ", one for each layer"});
  }

  void read_rotary(std::int64_t head_dim) {
    const std::string newer = "rope_parameters", older = "rope_scaling";
    const std::string full = newer + ".full_attention", sliding = newer + ".sliding_attention";
    const double base = config_.number("rope_theta", 1e4);
    if (family_.windows == DecoderFamily::kPattern) {
      // Gemma 3 has one rule for each kind of layer. A rule in rope_scaling applies to the layers
      // with full attention.
      for (const char* field : {"rope_type", "type", "rope_theta", "factor"}) {
        if (config_.has(newer + "." + field)) {
          config_.reject(newer + "." + field,
                         "separate rules in full_attention and sliding_attention");
        }
      }
      global_ = read_rotary_rule(config_, {older, full}, base, head_dim);
      local_ = read_rotary_rule(config_, {sliding}, config_.number("rope_local_base_freq", 1e4),
                                head_dim);
      return;
    }
    for (const std::string& kind : {full, sliding}) {
      if (config_.has(kind)) config_.reject(newer, "a single rule for all layers in this family");
    }
    config_.require_object(older);
    const bool has_older = config_.has_any(older);
    if (family_.name == "gpt_oss" && !has_older && !config_.has_any(newer)) {
      global_.base = base;
      global_.rotary_dim = head_dim;
      global_.scaling = YarnRotaryScaling{
          .factor = 32, .original_max_position_embeddings = 4096, .truncate = false};
    } else {
      // A rule in rope_scaling replaces the whole rule in rope_parameters, including the base.
      global_ = read_rotary_rule(config_, {has_older ? older : newer}, base, head_dim);
    }
    local_ = global_;
  }

  bool is_sliding(std::int64_t l) const {
    if (has_types_) {
      const std::string field = entry_of(kTypes, l);
      const std::optional<std::string> type = config_.find_text(field);
      if (type == "sliding_attention") return true;
      if (type == "full_attention") return false;
      config_.reject(field, "sliding_attention or full_attention");
    }
    switch (family_.windows) {
      case DecoderFamily::kNone:
        return false;
      case DecoderFamily::kAll:
        return true;
      case DecoderFamily::kLate:
        return l >= config_.integer("max_window_layers");
      case DecoderFamily::kWithoutPositions:
        return !has_positions(l);
      case DecoderFamily::kEven:
        return l % 2 == 0;
      case DecoderFamily::kPattern: {
        const std::int64_t pattern = config_.integer("sliding_window_pattern", 6);
        if (pattern < 1) config_.reject("sliding_window_pattern", "1 or more");
        return (l + 1) % pattern != 0;
      }
    }
    return false;
  }

  /// SmolLM 3 uses no positions in some layers. Despite its name, the field no_rope_layers says
  /// which layers have positions.
  bool has_positions(std::int64_t l) const {
    if (family_.name != "smollm3") return true;
    if (const auto has = config_.find_integer(entry_of(kPositions, l))) {
      return *has != 0;
    }
    const std::int64_t interval = config_.integer("no_rope_layer_interval", 4);
    return interval == 0 || (l + 1) % interval != 0;
  }

  const ModelConfig& config_;
  const DecoderFamily& family_;
  bool has_types_ = false;
  std::optional<Window> window_;
  RotaryEmbeddingOptions local_, global_;
};

}  // namespace

void describe_llama(ModelDescription& d) {
  const DecoderFamily& family =
      *std::ranges::find(kDecoders, std::string_view(d.result.family), &DecoderFamily::name);
  d.config.set_defaults(family.defaults);
  const ModelConfig& config = d.config;
  d.require_config("Llama-family");
  auto body = d.tensors.prefix_of_model("embed_tokens.weight");
  if (!body) body = d.tensors.prefix_of_model("layers.0.post_attention_layernorm.weight");
  const std::string prefix = body.value_or("model."), layers = prefix + "layers.";
  const std::string head = d.tensors.name_around(prefix, "lm_head.weight");
  const bool tied = d.tied.value_or(config.flag("tie_word_embeddings", false));
  const std::string embedding = d.embedding(prefix + "embed_tokens.weight", head, tied);
  LanguageModelOptions& options = d.result.options;
  const std::int64_t e = d.size("hidden_size", embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  options.scale_embedding = family.zero_centred;
  if (family.logit_softcap) {
    options.final_softcap = static_cast<float>(config.number("final_logit_softcapping", 0));
  }

  TransformerLayerOptions layer;
  layer.d_model = e;
  layer.num_heads = d.heads("num_attention_heads", e);
  layer.num_kv_heads = config.integer("num_key_value_heads", layer.num_heads);
  layer.head_dim = config.integer("head_dim", e / layer.num_heads);
  layer.dim_feedforward = d.size("intermediate_size", layers + "0.mlp.gate_proj.weight", 0);
  layer.gated_feed_forward = true;
  if (family.name == "gemma") {
    // Transformers 4.39 to 4.47 used hidden_activation; all other versions use hidden_act.
    layer.activation = d.activation("hidden_act", Activation::kGeluTanh);
    const Activation other = d.activation("hidden_activation", layer.activation);
    if (other != layer.activation) {
      d.result.warnings.emplace_back(
          "config.json: hidden_activation differs from hidden_act; attn uses hidden_act, as "
          "Transformers 5 does");
    } else if (layer.activation == Activation::kGelu) {
      d.result.warnings.emplace_back(
          "config.json: hidden_act is \"gelu\", which attn computes exactly, as Transformers 5 "
          "does; "
          "Gemma was trained with \"gelu_pytorch_tanh\"");
    }
  } else if (family.zero_centred) {
    layer.activation = d.activation("hidden_activation", Activation::kGeluTanh);
    config.has("hidden_act");
  } else {
    layer.activation = d.activation("hidden_act", Activation::kSilu);
  }
  layer.rms_norm = RmsNormOptions{.eps = d.eps("rms_norm_eps", 1e-6),
                                  .zero_centred_weight = family.zero_centred};
  layer.norm_first = family.norm_inputs;
  layer.norm_outputs = family.norm_outputs;
  const bool attention_bias = config.flag("attention_bias", false);
  layer.bias = config.flag("mlp_bias", false);
  if (attention_bias && !family.attention_bias) {
    config.reject("attention_bias", "false; models of this family have no such biases");
  }
  if (layer.bias && !family.mlp_bias) {
    config.reject("mlp_bias", "false; models of this family have no such biases");
  }
  layer.attention_bias = attention_bias || family.query_bias;
  layer.attention_output_bias = attention_bias;
  if (family.qk_norm) layer.qk_norm = layer.rms_norm;
  layer.qk_norm_all_heads = family.qk_norm_all_heads;
  layer.sinks = family.sinks;
  const auto scalar =
      family.query_scalar ? config.find_number("query_pre_attn_scalar") : std::nullopt;
  if (scalar) {
    if (*scalar <= 0) config.reject("query_pre_attn_scalar", "a number above 0");
    layer.scale = static_cast<float>(1 / std::sqrt(*scalar));
  }
  if (family.score_softcap) {
    layer.softcap = static_cast<float>(config.number("attn_logit_softcapping", 0));
  }
  const std::int64_t head_dim = *layer.head_dim, heads = layer.num_heads, kv = *layer.num_kv_heads;
  const std::int64_t f = layer.dim_feedforward;
  if (head_dim < 1 || kv < 1 || kv > heads) {
    fail(ErrorCode::kInvalidFormat, "num_key_value_heads", {kv, " heads of ", head_dim, " columns"},
         {"1 to ", heads, " heads of at least 1 column"});
  }
  const std::int64_t count = d.layers("num_hidden_layers", layers);
  options.causal = config.flag("is_causal", true);
  const DecoderLayerKinds kinds(config, family, head_dim, count);
  options.stack.final_norm = true;

  ModelPlan& plan = d.plan;
  plan.matrix("embedding.weight", embedding, options.vocab_size, e, Use::kEmbedding);
  for (std::int64_t l = 0; l < count; ++l) {
    kinds.set(layer, l);
    if (!options.causal && layer.window) {
      config.reject("is_causal", "true in a model with sliding windows");
    }
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
  d.choose_output(head, embedding, tied);
  if (options.output) plan.output(options, head);
  plan.finish(layers);
}

}  // namespace attn
