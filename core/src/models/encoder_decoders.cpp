#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

#include "attn/models/load_encoder_decoder.hpp"
#include "attn/positions/positional_encoding.hpp"
#include "io/safetensors_numbers.hpp"
#include "models/families.hpp"
#include "models/reject_unsupported.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

/// The prefix of a model's tensor names. `first` is the name, without prefix, of a tensor that
/// every model has.
std::string prefix_of(const ModelTensors& tensors, const char* first) {
  return tensors.prefix_of_model(first).value_or("");
}

/// Returns the first of `names` that is in the files, or the first name if none of them is.
std::string choose_tensor(const ModelPlan& plan, std::initializer_list<std::string> names) {
  const auto found =
      std::ranges::find_if(names, [&](const std::string& name) { return plan.has(name); });
  return found == names.end() ? *names.begin() : *found;
}

/// Adds the projections of an attention layer: three matrices (H·D, E) for its inputs, and one (E,
/// H·D) for its output.
void plan_attention(ModelPlan& plan, const std::string& to, const std::string& from,
                    const char* (&names)[4], const TransformerLayerOptions& layer) {
  const std::int64_t e = layer.d_model;
  const std::int64_t inner = layer.num_heads * layer.head_dim.value_or(e / layer.num_heads);
  for (int i = 0; i < 3; ++i) {
    plan.matrix(to + "in_proj_weight", from + names[i] + ".weight", inner, e);
  }
  for (int i = 0; i < 3 && layer.bias; ++i) {
    plan.vector(to + "in_proj_bias", from + names[i] + ".bias", inner);
  }
  plan.linear(to + "out_proj", from + names[3], e, inner, layer.bias);
}

/// Warns that the files have an output layer, which attn uses although the configuration says that
/// it is tied to the embedding.
void warn_about_head(EncoderDecoderReader& d, const std::string& head) {
  d.files.warnings.push_back("config.json: tie_word_embeddings is true, but the files have " +
                             in_quotes(head) + ", which attn uses for logits");
}

void describe_t5(EncoderDecoderReader& d) {
  const bool is_mt5 = d.files.family == "mt5";
  d.config.set_defaults(is_mt5 ? R"({"num_heads": 6, "feed_forward_proj": "gated-gelu",
                                     "tie_word_embeddings": false})"
                               : R"({"num_heads": 8, "feed_forward_proj": "relu"})");
  const ModelConfig& config = d.config;
  const auto choose_field = [&](const char* name, const char* other) {
    return config.has(other) ? other : name;
  };
  const char* const first = "encoder.block.0.layer.0.SelfAttention.q.weight";
  const std::string outer = prefix_of(d.tensors, first);
  const std::string encoder = outer + "encoder.", decoder = outer + "decoder.";
  const std::string table = "block.0.layer.0.SelfAttention.relative_attention_bias.weight";
  const std::string head = d.tensors.name_around(outer, "lm_head.weight");
  ModelPlan& plan = d.plan;
  // This flag only decides whether the output is scaled, as in the first version of T5. Like
  // Transformers, attn uses an output layer whenever the files have one, and the embedding
  // otherwise.
  const bool is_tied_flag =
      config.find_flag("tie_word_embeddings") != false || !config.has("tie_word_embeddings");
  const std::string embedding =
      choose_tensor(plan, {outer + "shared.weight", encoder + "embed_tokens.weight",
                           decoder + "embed_tokens.weight", head});

  EncoderDecoderOptions& options = d.result.options;
  const std::int64_t e = d.size(choose_field("d_model", "hidden_size"), embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  options.start_id = config.integer("decoder_start_token_id", config.integer("pad_token_id", 0));
  options.tied = !plan.has(head) || embedding == head;
  if (is_tied_flag && !options.tied) warn_about_head(d, head);
  options.scale_output = config.flag("scale_decoder_outputs", is_tied_flag);
  TransformerLayerOptions layer;
  layer.d_model = e;
  layer.num_heads = d.heads(choose_field("num_heads", "num_attention_heads"), e);
  const std::int64_t inner = d.size("d_kv", outer + first, 0);
  layer.head_dim = config.has("d_kv") ? inner : std::max<std::int64_t>(inner / layer.num_heads, 1);
  const std::string kind = config.find_text("feed_forward_proj").value_or("relu");
  constexpr std::string_view kGated = "gated-";
  layer.gated_feed_forward = kind.starts_with(kGated);
  layer.activation =
      kind == "gated-gelu"
          ? Activation::kGeluTanh
          : d.activation_named(
                "feed_forward_proj",
                std::string_view(kind).substr(layer.gated_feed_forward ? kGated.size() : 0));
  if (d.activation("dense_act_fn", layer.activation) != layer.activation) {
    config.reject("dense_act_fn", "the activation of feed_forward_proj, " + in_quotes(kind));
  }
  if (config.flag("is_gated_act", layer.gated_feed_forward) != layer.gated_feed_forward) {
    config.reject("is_gated_act", "the kind of feed_forward_proj, " + in_quotes(kind));
  }
  const std::string up = layer.gated_feed_forward ? "wi_0" : "wi";
  layer.dim_feedforward =
      d.size("d_ff", encoder + "block.0.layer.1.DenseReluDense." + up + ".weight", 0);
  const std::int64_t f = layer.dim_feedforward;
  layer.rms_norm = RmsNormOptions{.eps = d.eps("layer_norm_epsilon", 1e-6)};
  layer.norm_first = true;
  layer.bias = false;
  layer.scale = 1;
  T5BiasOptions bias;
  bias.num_buckets = d.size("relative_attention_num_buckets", encoder + table, 0);
  bias.max_distance = config.integer("relative_attention_max_distance", 128);
  for (TransformerEncoderOptions* stack : {&options.encoder, &options.decoder}) {
    bias.bidirectional = stack == &options.encoder;
    layer.positions.t5_bias = bias;
    stack->layer = layer;
    stack->final_norm = stack->shared_t5_bias = true;
  }
  const char* const num_layers = choose_field("num_layers", "num_hidden_layers");
  options.encoder.num_layers = d.layers(num_layers, encoder + "block.");
  options.decoder.num_layers = config.has("num_decoder_layers")
                                   ? d.layers("num_decoder_layers", decoder + "block.")
                                   : options.encoder.num_layers;

  plan.matrix("embedding.weight", embedding, options.vocab_size, e, Use::kEmbedding);
  const char* names[] = {"q", "k", "v", "o"};
  const auto plan_stack = [&](const std::string& name, const std::string& from_stack,
                              std::int64_t count) {
    const bool is_decoder = name == "decoder.";
    plan.matrix(name + "layers.0.self_attn.relative_attention_bias.weight", from_stack + table,
                bias.num_buckets, layer.num_heads, Use::kTable);
    for (std::int64_t l = 0; l < count; ++l) {
      const std::string to = name + "layers." + std::to_string(l) + ".";
      const std::string from = from_stack + "block." + std::to_string(l) + ".layer.";
      plan_attention(plan, to + "self_attn.", from + "0.SelfAttention.", names, layer);
      plan.vector(to + "norm1.weight", from + "0.layer_norm.weight", e);
      if (is_decoder) {
        plan_attention(plan, to + "multihead_attn.", from + "1.EncDecAttention.", names, layer);
        plan.vector(to + "norm2.weight", from + "1.layer_norm.weight", e);
      }
      const std::string last = from + (is_decoder ? "2." : "1.");
      const std::string network = last + "DenseReluDense.";
      if (layer.gated_feed_forward) {
        plan.linear(to + "gate_proj", network + "wi_0", f, e, false);
        plan.linear(to + "up_proj", network + "wi_1", f, e, false);
        plan.linear(to + "down_proj", network + "wo", e, f, false);
      } else {
        plan.linear(to + "linear1", network + "wi", f, e, false);
        plan.linear(to + "linear2", network + "wo", e, f, false);
      }
      plan.vector(to + (is_decoder ? "norm3.weight" : "norm2.weight"), last + "layer_norm.weight",
                  e);
    }
    plan.vector(name + "norm.weight", from_stack + "final_layer_norm.weight", e);
  };
  plan_stack("encoder.", encoder, options.encoder.num_layers);
  plan_stack("decoder.", decoder, options.decoder.num_layers);
  plan.output(options.tied, options.vocab_size, e, head);
  plan.finish(encoder + "block.", decoder + "block.");
}

void describe_marian(EncoderDecoderReader& d) {
  d.config.set_defaults(R"({"encoder_attention_heads": 16, "decoder_attention_heads": 16})");
  const ModelConfig& config = d.config;
  for (const char* field : {"normalize_before", "normalize_embedding", "add_final_layer_norm"}) {
    if (config.flag(field, false)) config.reject(field, "false; attn does not support this option");
  }
  if (!config.flag("share_encoder_decoder_embeddings", true)) {
    config.reject("share_encoder_decoder_embeddings",
                  "true; attn does not support separate embeddings for source and target");
  }
  const std::string outer = prefix_of(d.tensors, "encoder.layers.0.self_attn.q_proj.weight");
  const std::string encoder = outer + "encoder.", decoder = outer + "decoder.";
  const std::string head = d.tensors.name_around(outer, "lm_head.weight");
  const std::string bias = d.tensors.name_around(outer, "final_logits_bias");
  const std::string positions = "embed_positions.weight";
  ModelPlan& plan = d.plan;
  const bool is_tied_flag = config.flag("tie_word_embeddings", true);
  const std::string embedding =
      choose_tensor(plan, {outer + "shared.weight", encoder + "embed_tokens.weight",
                           decoder + "embed_tokens.weight", head});

  EncoderDecoderOptions& options = d.result.options;
  const std::int64_t e = d.size("d_model", embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  options.start_id = config.integer("decoder_start_token_id", 58100);
  options.scale_embedding = config.flag("scale_embedding", false);
  const bool has_own_head = plan.has(head) && embedding != head;
  options.tied = is_tied_flag && !has_own_head;
  if (is_tied_flag && has_own_head) warn_about_head(d, head);
  options.output_bias = plan.has(bias);
  if (plan.has(encoder + positions) || plan.has(decoder + positions)) {
    options.max_positions = d.size("max_position_embeddings", encoder + positions, 0);
  } else {
    options.sinusoidal = PositionalEncodingOptions{.layout = SinusoidalLayout::kConcatenated};
  }
  const auto stack_of = [&](const std::string& name, const std::string& from) {
    TransformerEncoderOptions stack;
    stack.layer.d_model = e;
    const std::string heads = name + "_attention_heads";
    stack.layer.num_heads = d.heads(heads.c_str(), e);
    if (e % stack.layer.num_heads != 0) config.reject(heads, "a divisor of d_model");
    stack.layer.dim_feedforward =
        d.size((name + "_ffn_dim").c_str(), from + "layers.0.fc1.weight", 0);
    stack.layer.activation = d.activation("activation_function", Activation::kGelu);
    stack.num_layers = d.layers((name + "_layers").c_str(), from + "layers.");
    return stack;
  };
  options.encoder = stack_of("encoder", encoder);
  options.decoder = stack_of("decoder", decoder);

  plan.matrix("embedding.weight", embedding, options.vocab_size, e, Use::kEmbedding);
  if (options.max_positions > 0) {
    plan.matrix("encoder_positions.weight", encoder + positions, options.max_positions, e,
                Use::kTable);
    plan.matrix("decoder_positions.weight", decoder + positions, options.max_positions, e,
                Use::kTable);
  }
  const char* names[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
  const auto plan_stack = [&](const std::string& name, const std::string& from_stack,
                              const TransformerEncoderOptions& stack) {
    const bool is_decoder = name == "decoder.";
    for (std::int64_t l = 0; l < stack.num_layers; ++l) {
      const std::string layer = "layers." + std::to_string(l) + ".";
      const std::string to = name + layer, from = from_stack + layer;
      plan_attention(plan, to + "self_attn.", from + "self_attn.", names, stack.layer);
      plan.layer_norm(to + "norm1", from + "self_attn_layer_norm", e);
      if (is_decoder) {
        plan_attention(plan, to + "multihead_attn.", from + "encoder_attn.", names, stack.layer);
        plan.layer_norm(to + "norm2", from + "encoder_attn_layer_norm", e);
      }
      plan.linear(to + "linear1", from + "fc1", stack.layer.dim_feedforward, e);
      plan.linear(to + "linear2", from + "fc2", e, stack.layer.dim_feedforward);
      plan.layer_norm(to + (is_decoder ? "norm3" : "norm2"), from + "final_layer_norm", e);
    }
  };
  plan_stack("encoder.", encoder, options.encoder);
  plan_stack("decoder.", decoder, options.decoder);
  plan.output(options.tied, options.vocab_size, e, head);
  if (options.output_bias) plan.row("output.bias", bias, options.vocab_size);
  plan.finish(encoder + "layers.", decoder + "layers.");
}

/// A family and its names in the field "model_type" of config.json.
struct EncoderDecoderFamily {
  std::string_view name;
  void (*describe)(EncoderDecoderReader&);
};
constexpr EncoderDecoderFamily kEncoderDecoderFamilies[] = {
    {"t5", describe_t5}, {"mt5", describe_t5}, {"marian", describe_marian}};

}  // namespace

bool is_encoder_decoder_family(std::string_view type) {
  return std::ranges::find(kEncoderDecoderFamilies, type, &EncoderDecoderFamily::name) !=
         std::end(kEncoderDecoderFamilies);
}

EncoderDecoderDescription describe_encoder_decoder(std::span<const SafetensorsHeader> files,
                                                   std::string_view config_text,
                                                   const std::optional<WeightFormat>& weights,
                                                   std::string_view index_text) {
  ModelTensors tensors = read_tensors(files, index_text);
  ModelConfig config("config.json", config_text.empty() ? "{}" : config_text);
  EncoderDecoderDescription result;
  const LanguageModelHints hints{.weights = weights};
  EncoderDecoderReader d{
      {config, !config_text.empty(), hints, tensors, result, {tensors, result, weights}}, result};
  reject_adapter(tensors);
  d.require_config("encoder–decoder");
  result.family = config.find_text("model_type").value_or("");
  const auto family = std::ranges::find(kEncoderDecoderFamilies, std::string_view(result.family),
                                        &EncoderDecoderFamily::name);
  if (family == std::end(kEncoderDecoderFamilies)) {
    std::string known;
    for (const EncoderDecoderFamily& other : kEncoderDecoderFamilies) {
      if (!known.empty()) known += &other + 1 == std::end(kEncoderDecoderFamilies) ? " or " : ", ";
      known += other.name;
    }
    config.reject("model_type", known + "; attn loads no other encoder–decoder models");
  }
  if (!config.flag("is_encoder_decoder", true)) {
    config.reject("is_encoder_decoder", "true; attn does not support one stack alone");
  }
  if (config.flag("tie_encoder_decoder", false)) {
    config.reject("tie_encoder_decoder", "false; attn does not support this option");
  }
  reject_unsupported(config);
  reject_quantized(tensors);
  family->describe(d);
  EncoderDecoderOptions& options = result.options;
  options.weights = options.encoder.layer.weights = options.decoder.layer.weights = d.plan.format();
  result.unused_fields = config.unused();
  return result;
}

}  // namespace attn
