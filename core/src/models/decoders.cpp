#include <algorithm>
#include <utility>

#include "io/safetensors_numbers.hpp"
#include "models/families.hpp"
#include "models/rotary_rule.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

/// The names of tensors and fields in a family of decoders with LayerNorm, and the family's
/// defaults in Transformers. Norms, projections and the feed-forward network are parts of a layer.
struct DecoderNames {
  std::string_view family, title;
  const char* defaults;
  const char *embedding, *positions, *layers, *final_norm, *head;
  const char *norm1, *norm2;
  /// If `key` is null, `query` names one tensor that joins all three projections.
  const char *query, *key, *value;
  const char *out, *up, *down;
  const char *num_heads, *num_layers, *hidden, *activation, *eps;  // in config.json
  Activation default_activation;
};
constexpr DecoderNames kDecoderNames[] = {
    {"gpt_neox",
     "GPT-NeoX",
     R"({"num_attention_heads": 64, "max_position_embeddings": 2048, "rotary_pct": 0.25,
         "rotary_emb_base": 10000})",
     "embed_in.weight",
     nullptr,
     "layers.",
     "final_layer_norm",
     "embed_out.weight",
     "input_layernorm",
     "post_attention_layernorm",
     "attention.query_key_value",
     nullptr,
     nullptr,
     "attention.dense",
     "mlp.dense_h_to_4h",
     "mlp.dense_4h_to_h",
     "num_attention_heads",
     "num_hidden_layers",
     "intermediate_size",
     "hidden_act",
     "layer_norm_eps",
     Activation::kGelu},
    {"gpt_neo",
     "GPT-Neo",
     R"({"num_heads": 16, "window_size": 256, "tie_word_embeddings": true})",
     "wte.weight",
     "wpe.weight",
     "h.",
     "ln_f",
     "lm_head.weight",
     "ln_1",
     "ln_2",
     "attn.attention.q_proj",
     "attn.attention.k_proj",
     "attn.attention.v_proj",
     "attn.attention.out_proj",
     "mlp.c_fc",
     "mlp.c_proj",
     "num_heads",
     "num_layers",
     "intermediate_size",
     "activation_function",
     "layer_norm_epsilon",
     Activation::kGeluTanh},
    {"opt",
     "OPT",
     R"({"num_attention_heads": 12, "tie_word_embeddings": true})",
     "embed_tokens.weight",
     "embed_positions.weight",
     "layers.",
     "final_layer_norm",
     "lm_head.weight",
     "self_attn_layer_norm",
     "final_layer_norm",
     "self_attn.q_proj",
     "self_attn.k_proj",
     "self_attn.v_proj",
     "self_attn.out_proj",
     "fc1",
     "fc2",
     "num_attention_heads",
     "num_hidden_layers",
     "ffn_dim",
     "activation_function",
     nullptr,
     Activation::kRelu},
};

/// Bounds the number of parts into which a joined projection is divided.
constexpr std::int64_t kMostHeads = 65536;

/// For each layer of a GPT-Neo model, true if its attention is local.
std::vector<bool> local_layers(const ModelConfig& config, std::int64_t count) {
  const std::string field = "attention_types";
  std::vector<bool> local;
  if (!config.has(field)) {
    for (int l = 0; l < 24; ++l) local.push_back(l % 2 == 1);
  }
  // Each entry contains a list of kinds of attention, and how often the list is repeated.
  for (std::int64_t i = 0; i < config.count(field); ++i) {
    const std::string entry = field + "." + std::to_string(i), kinds = entry + ".0";
    for (std::int64_t n = config.integer(entry + ".1"); n > 0 && std::ssize(local) <= count; --n) {
      if (config.count(kinds) == 0) config.reject(kinds, "at least one kind of attention");
      for (std::int64_t k = 0; k < config.count(kinds); ++k) {
        const std::string kind = kinds + "." + std::to_string(k);
        const std::optional<std::string> name = config.find_text(kind);
        if (name != "local" && name != "global") config.reject(kind, "global or local");
        local.push_back(name == "local");
      }
    }
  }
  if (std::ssize(local) != count) {
    fail(ErrorCode::kInvalidFormat, "config.json, " + in_quotes(field),
         {"kinds for ", std::ssize(local),
          std::ssize(local) > count ? " or more layers" : " layers"},
         {count, ", one for each layer"});
  }
  // Published files also list the kind of each layer.
  const std::string kinds = "attention_layers";
  for (std::int64_t l = 0; config.has(kinds) && l < std::max(count, config.count(kinds)); ++l) {
    const std::string layer = kinds + "." + std::to_string(l);
    if (l >= count) config.reject(layer, "no more kinds than layers");
    const char* const kind = local[static_cast<std::size_t>(l)] ? "local" : "global";
    if (config.find_text(layer) != kind)
      config.reject(layer, std::string(kind) + ", as in attention_types");
  }
  return local;
}

/// Requires that fields have the only values that attn supports.
void require_flags(const ModelConfig& config, std::initializer_list<const char*> fields,
                   bool value) {
  for (const char* field : fields) {
    if (config.flag(field, value) == value) continue;
    config.reject(field, value ? "true; attn does not support this option"
                               : "false; attn does not support this option");
  }
}

}  // namespace

void describe_decoder(ModelDescription& d) {
  const DecoderNames& names =
      *std::ranges::find(kDecoderNames, std::string_view(d.result.family), &DecoderNames::family);
  const bool is_neox = names.family == "gpt_neox", is_opt = names.family == "opt";
  d.require_config(names.title);
  d.config.set_defaults(names.defaults);
  const ModelConfig& config = d.config;
  auto prefix = d.tensors.prefix_of_model(names.embedding);
  if (!prefix) {
    prefix =
        d.tensors.prefix_of_model(names.layers + ("0." + std::string(names.norm1)) + ".weight");
  }
  const std::string outer = prefix.value_or(""), layers = outer + names.layers;
  const std::string positions = outer + (names.positions ? names.positions : "");
  const std::string head = d.tensors.name_around(outer, names.head);
  const bool tied = config.flag("tie_word_embeddings", false);
  const std::string embedding = d.embedding(outer + names.embedding, head, tied);
  const auto choose_field = [&](const char* name, const char* other) {
    return config.has(other) ? other : name;
  };

  LanguageModelOptions& options = d.result.options;
  TransformerLayerOptions layer;
  const std::int64_t e = d.size("hidden_size", names.positions ? positions : embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  layer.d_model = e;
  layer.num_heads = d.heads(choose_field(names.num_heads, "num_attention_heads"), e);
  if (e % layer.num_heads != 0 || layer.num_heads > kMostHeads) {
    config.reject(choose_field(names.num_heads, "num_attention_heads"),
                  "a divisor of hidden_size of at most 65536");
  }
  const std::int64_t head_dim = e / layer.num_heads;
  const bool is_neo = !is_neox && !is_opt;
  layer.dim_feedforward = is_neo ? config.integer(names.hidden, 4 * e)
                                 : d.size(names.hidden, layers + "0." + names.up + ".weight", 0);
  layer.activation = d.activation(names.activation, names.default_activation);
  layer.layer_norm_eps = names.eps ? d.eps(names.eps, 1e-5) : 1e-5F;
  layer.norm_first = config.flag("do_layer_norm_before", true);
  options.stack.final_norm = true;
  const std::int64_t count = d.layers(choose_field(names.num_layers, "num_hidden_layers"), layers);
  std::vector<bool> local(static_cast<std::size_t>(count));
  if (is_neox) {
    layer.parallel_residual = config.flag("use_parallel_residual", true);
    layer.attention_bias = config.flag("attention_bias", true);
    // Some files also contain both numbers under the names that other families use.
    constexpr std::pair<const char*, const char*> kOtherNames[] = {
        {"rope_theta", "rotary_emb_base"}, {"partial_rotary_factor", "rotary_pct"}};
    for (const auto& [other, name] : kOtherNames) {
      if (config.has(other) && config.number(other) != config.number(name)) {
        config.reject(other, std::string("the same number as ") + name);
      }
    }
    const bool has_older = config.has_any("rope_scaling");
    layer.positions.rotary =
        read_rotary_rule(config, {has_older ? "rope_scaling" : "rope_parameters"},
                         config.number("rotary_emb_base"), head_dim, "rotary_pct");
  } else if (is_opt) {
    require_flags(config, {"enable_bias", "layer_norm_elementwise_affine"}, true);
    options.first_position = 2;
    options.stack.final_norm = layer.norm_first && !config.flag("_remove_final_layer_norm", false);
    const std::int64_t width = d.size("word_embed_proj_dim", embedding, 1);
    if (width != e) options.embedding_dim = width;
  } else {
    layer.attention_bias = false;
    layer.attention_output_bias = true;
    layer.scale = 1;
    local = local_layers(config, count);
    if (config.integer("window_size") < 1) config.reject("window_size", "1 or more");
  }
  if (names.positions) {
    options.max_positions = d.size("max_position_embeddings", positions, 0);
    if (config.has("max_position_embeddings")) options.max_positions += options.first_position;
  }
  d.choose_output(head, embedding, tied);

  ModelPlan& plan = d.plan;
  const std::int64_t f = layer.dim_feedforward;
  const std::int64_t width = options.embedding_dim > 0 ? options.embedding_dim : e;
  plan.matrix("embedding.weight", embedding, options.vocab_size, width, Use::kEmbedding);
  if (width != e) plan.linear("project_in", outer + "project_in", e, width, false);
  if (names.positions) {
    plan.matrix("positions.weight", positions, options.max_positions, e, Use::kTable);
  }
  for (std::int64_t l = 0; l < count; ++l) {
    layer.window.reset();
    if (local[static_cast<std::size_t>(l)]) {
      layer.window = Window{.left = config.integer("window_size") - 1};
    }
    options.stack.layers.push_back(layer);
    const std::string from = layers + std::to_string(l) + ".";
    const std::string to = "encoder.layers." + std::to_string(l) + ".", self = to + "self_attn.";
    const bool bias = layer.attention_bias.value_or(true);
    if (names.key) {
      const char* const projections[] = {names.query, names.key, names.value};
      for (const char* name : projections) {
        plan.matrix(self + "in_proj_weight", from + name + ".weight", e, e);
      }
      for (const char* name : projections) {
        if (bias) plan.vector(self + "in_proj_bias", from + name + ".bias", e);
      }
    } else {
      plan.projections_by_head(self + "in_proj", from + names.query, layer.num_heads, head_dim, e,
                               bias);
    }
    plan.linear(self + "out_proj", from + names.out, e, e,
                layer.attention_output_bias.value_or(bias));
    plan.linear(to + "linear1", from + names.up, f, e);
    plan.linear(to + "linear2", from + names.down, e, f);
    plan.layer_norm(to + "norm1", from + names.norm1, e);
    plan.layer_norm(to + "norm2", from + names.norm2, e);
  }
  if (options.stack.final_norm) plan.layer_norm("encoder.norm", outer + names.final_norm, e);
  if (options.output) {
    if (width != e) plan.linear("project_out", outer + "project_out", width, e, false);
    plan.output(options, head);
  }
  plan.finish(layers);
}

}  // namespace attn
