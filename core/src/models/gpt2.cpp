#include <cmath>

#include "models/families.hpp"

namespace attn {

void describe_gpt2(ModelDescription& d) {
  auto prefix = d.tensors.prefix_of_model("wte.weight");
  if (!prefix) prefix = d.tensors.prefix_of_model("h.0.ln_1.weight");
  const std::string outer = prefix.value_or(""), layers = outer + "h.";
  const std::string positions = outer + "wpe.weight";
  const std::string head = d.tensors.name_around(outer, "lm_head.weight");
  const bool tied = d.config.flag("tie_word_embeddings", true);
  const std::string embedding = d.embedding(outer + "wte.weight", head, tied);
  // GPT2Config also accepts the usual names of these fields, such as "hidden_size", and maps them
  // to its own names.
  const auto choose_field = [&](const char* name, const char* other) {
    return d.config.has(other) ? other : name;
  };
  LanguageModelOptions& options = d.result.options;
  const std::int64_t e = d.size(choose_field("n_embd", "hidden_size"), embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  const char* length = d.config.has("n_positions") ? "n_positions" : "n_ctx";
  options.max_positions = d.size(choose_field(length, "max_position_embeddings"), positions, 0);
  // Transformers stores the matrices of GPT-2 as (in, out), and nanoGPT as (out, in).
  const ModelTensors::Found* joined = d.tensors.find(layers + "0.attn.c_attn.weight");
  const bool as_linear = joined && joined->entry->shape == std::vector<std::int64_t>{3 * e, e};
  TransformerLayerOptions layer;
  layer.d_model = e;
  layer.num_heads = d.heads(choose_field("n_head", "num_attention_heads"), e);
  layer.dim_feedforward = d.has_config
                              ? d.config.integer("n_inner", 4 * e)
                              : d.size("n_inner", layers + "0.mlp.c_fc.weight", as_linear ? 0 : 1);
  Activation activation = Activation::kGeluTanh;
  if (as_linear && !d.has_config) {
    activation = d.hints.activation.value_or(Activation::kGelu);
    if (!d.hints.activation) {
      d.result.warnings.emplace_back(
          "Without config.json, attn treats this model as a nanoGPT model with the exact GELU. If "
          "it was trained with another activation, pass that activation.");
    }
  }
  layer.activation = d.activation("activation_function", activation);
  layer.layer_norm_eps = d.eps("layer_norm_epsilon", 1e-5);
  layer.norm_first = true;
  layer.bias = !as_linear || d.plan.has(layers + "0.attn.c_attn.bias");
  const std::int64_t count = d.layers(choose_field("n_layer", "num_hidden_layers"), layers);
  const bool scaled = d.config.flag("scale_attn_weights", true);
  const bool by_layer = d.config.flag("scale_attn_by_inverse_layer_idx", false);
  options.stack.final_norm = true;

  ModelPlan& plan = d.plan;
  const std::int64_t f = layer.dim_feedforward;
  plan.matrix("embedding.weight", embedding, options.vocab_size, e, Use::kEmbedding);
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
    const auto project = [&](const std::string& parameter, const char* name, std::int64_t rows,
                             std::int64_t cols, char mark) {
      plan.matrix(parameter + mark + "weight", from + name + ".weight", rows, cols,
                  as_linear ? Use::kProduct : Use::kTransposed);
      if (layer.bias) plan.vector(parameter + mark + "bias", from + name + ".bias", rows);
    };
    project(to + "self_attn.in_proj", "attn.c_attn", 3 * e, e, '_');
    project(to + "self_attn.out_proj", "attn.c_proj", e, e, '.');
    project(to + "linear1", "mlp.c_fc", f, e, '.');
    project(to + "linear2", "mlp.c_proj", e, f, '.');
    plan.layer_norm(to + "norm1", from + "ln_1", e, layer.bias);
    plan.layer_norm(to + "norm2", from + "ln_2", e, layer.bias);
  }
  plan.layer_norm("encoder.norm", outer + "ln_f", e, layer.bias);
  d.choose_output(head, embedding, tied);
  if (options.output) plan.output(options, head);
  plan.finish(layers);
}

}  // namespace attn
