#include <cmath>

#include "models/families.hpp"

namespace attn {

void describe_gpt2(ModelDescription& d) {
  const auto prefix = d.tensors.prefix_of("wte.weight").value_or("");
  const std::string embedding = prefix + "wte.weight", positions = prefix + "wpe.weight";
  const std::string layers = prefix + "h.";
  LanguageModelOptions& options = d.result.options;
  const std::int64_t e = d.size("n_embd", embedding, 1);
  options.vocab_size = d.size("vocab_size", embedding, 0);
  options.max_positions =
      d.size(d.config.has("n_positions") ? "n_positions" : "n_ctx", positions, 0);
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
  plan.output(options, head);
  plan.finish(layers);
}

}  // namespace attn
