#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "attn/positions/rotary_embedding.hpp"
#include "models/families.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

/// What the families that came of Llama do otherwise than Llama itself.
struct DecoderFamily {
  std::string_view name;
  /// What config.json leaves out where it is as the Transformers library has it by default, unless
  /// shapes show it.
  std::string_view defaults = "{}";
  bool zero_centred = false;  ///< norms multiply by 1 + weight, embeddings by √E
  bool norm_outputs = false;
  bool norm_inputs = true;
  bool qk_norm = false, qk_norm_all_heads = false;
  bool sinks = false;
  bool query_bias = false;
  /// Which layers have windows where "layer_types" does not say.
  enum Windows { kNone, kAll, kLate, kEven, kPattern, kWithoutPositions } windows = kNone;
};
constexpr DecoderFamily kDecoders[] = {
    {.name = "llama"},
    {.name = "mistral",
     .defaults = R"({"num_key_value_heads": 8, "sliding_window": 4096})",
     .windows = DecoderFamily::kAll},
    {.name = "smollm3",
     .defaults = R"({"num_attention_heads": 16, "num_key_value_heads": 4, "rope_theta": 2e6,
                     "tie_word_embeddings": true})",
     .windows = DecoderFamily::kWithoutPositions},
    {.name = "qwen2",
     .defaults = R"({"num_attention_heads": 32, "num_key_value_heads": 32, "sliding_window": 4096,
                     "max_window_layers": 28})",
     .query_bias = true,
     .windows = DecoderFamily::kLate},
    {.name = "qwen3",
     .defaults = R"({"num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
                     "sliding_window": 4096, "max_window_layers": 28})",
     .qk_norm = true,
     .windows = DecoderFamily::kLate},
    {.name = "gemma",
     .defaults = R"({"num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
                     "tie_word_embeddings": true})",
     .zero_centred = true},
    {.name = "gemma2",
     .defaults = R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                     "sliding_window": 4096, "query_pre_attn_scalar": 256,
                     "attn_logit_softcapping": 50, "final_logit_softcapping": 30,
                     "tie_word_embeddings": true})",
     .zero_centred = true,
     .norm_outputs = true,
     .windows = DecoderFamily::kEven},
    {.name = "gemma3_text",
     .defaults = R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                     "sliding_window": 4096, "query_pre_attn_scalar": 256, "rope_theta": 1e6,
                     "tie_word_embeddings": true})",
     .zero_centred = true,
     .norm_outputs = true,
     .qk_norm = true,
     .windows = DecoderFamily::kPattern},
    {.name = "gpt_oss",
     .defaults = R"({"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
                     "sliding_window": 128, "rope_theta": 150000, "rms_norm_eps": 1e-5,
                     "attention_bias": true})",
     .sinks = true,
     .windows = DecoderFamily::kEven},
    {.name = "olmo2",
     .defaults = R"({"num_attention_heads": 32, "rms_norm_eps": 1e-5})",
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
    const bool on_demand = family.windows == DecoderFamily::kLate ||
                           family.windows == DecoderFamily::kWithoutPositions;
    if (family.windows != DecoderFamily::kNone &&
        (!on_demand || config.flag("use_sliding_window", false))) {
      const std::optional<std::int64_t> size = config.find_integer("sliding_window");
      if (size && *size < 1) config.refuse("sliding_window", "1 or more");
      if (size) window_ = Window{.left = *size - 1};
    }
    const bool local = family.windows == DecoderFamily::kPattern;
    const std::string all = "rope_parameters";
    const bool by_kind = config.has_any(all + ".full_attention");
    const std::string path = by_kind ? all + ".full_attention" : all;
    const double base = config.number(path + ".rope_theta", config.number("rope_theta", 1e4));
    // An older field beside it, as one adds it by hand, wins; the base stays.
    const bool older = config.has_any("rope_scaling");
    global_ = local_ = rotary_of(config, older ? "rope_scaling" : path, base, head_dim);
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
        return l >= config_.integer("max_window_layers");
      case DecoderFamily::kWithoutPositions:
        return !has_positions(l);
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

}  // namespace

void describe_llama(ModelDescription& d) {
  const DecoderFamily& family =
      *std::ranges::find(kDecoders, std::string_view(d.result.family), &DecoderFamily::name);
  d.config.set_defaults(family.defaults);
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
  layer.head_dim = config.integer("head_dim", e / layer.num_heads);
  layer.dim_feedforward = d.size("intermediate_size", layers + "0.mlp.gate_proj.weight", 0);
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
  const bool attention_bias = config.flag("attention_bias", false);
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
  options.causal = config.flag("is_causal", true);
  const LayerKinds kinds(config, family, head_dim);
  options.stack.final_norm = true;

  ModelPlan& plan = d.plan;
  plan.matrix("embedding.weight", embedding, options.vocab_size, e, Use::kEmbedding);
  for (std::int64_t l = 0; l < count; ++l) {
    kinds.set(layer, l);
    if (!options.causal && layer.window) {
      config.refuse("is_causal", "true in a model with windows");
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
  std::string head = "lm_head.weight";
  if (!plan.has(head)) head = d.tensors.prefix_of(head).value_or("") + head;
  options.tied = config.flag("tie_word_embeddings", false);
  options.output = options.tied || plan.has(head);
  if (options.output) plan.output(options, head);
  plan.finish(layers);
}

}  // namespace attn
