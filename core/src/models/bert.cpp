#include "models/families.hpp"

namespace attn {
namespace {

/// The tensor names of BERT and related models.
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

}  // namespace

void describe_bert(ModelDescription& d) {
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
    d.config.reject("position_embedding_type", "\"absolute\"");
  }
  auto prefix = d.tensors.prefix_of_model("embeddings.word_embeddings.weight");
  if (!prefix) prefix = d.tensors.prefix_of_model("embeddings.position_embeddings.weight");
  const std::string outer = prefix.value_or(""), embeddings = outer + "embeddings.";
  // The tensors of the masked-language head are in a module that also contains the model's body.
  const std::string transform = names.transform + std::string(".weight");
  std::string head = d.tensors.name_around(outer, transform);
  head.resize(head.size() - transform.size());
  const std::string decoder = head + names.decoder + ".weight";
  const bool tied = d.config.flag("tie_word_embeddings", true);
  const std::string words = d.embedding(embeddings + "word_embeddings.weight", decoder, tied);
  const std::string positions = embeddings + "position_embeddings.weight";
  const std::string types = embeddings + "token_type_embeddings.weight";
  const std::string layers = outer + names.layer;
  // DistilBertConfig also accepts the usual names of its fields, such as "hidden_size" for "dim".
  const auto choose_field = [&](const char* name, const char* other) {
    return d.config.has(other) ? other : name;
  };
  LanguageModelOptions& options = d.result.options;
  const std::int64_t e = d.size(choose_field(names.width, "hidden_size"), words, 1);
  // DistilBERT's epsilon is not configurable; RoBERTa files without config.json use 1e-5.
  const float eps =
      distilled ? 1e-12F : d.eps("layer_norm_eps", is_bert || d.has_config ? 1e-12 : 1e-5);
  options.vocab_size = d.size("vocab_size", words, 0);
  options.max_positions = d.size("max_position_embeddings", positions, 0);
  if (!distilled) options.num_token_types = d.size("type_vocab_size", types, 0);
  if (!distilled && !is_bert) {
    options.padding_id = d.config.integer("pad_token_id", 1);
    options.first_position = *options.padding_id + 1;
  }
  options.embedding_norm = LayerNormOptions{.eps = eps};
  options.causal = d.config.flag("is_decoder", false);
  TransformerLayerOptions& layer = options.stack.layer;
  layer.d_model = e;
  layer.num_heads = d.heads(choose_field(names.heads, "num_attention_heads"), e);
  layer.dim_feedforward = d.size(names.hidden, layers + "0." + names.up + ".weight", 0);
  layer.activation = d.activation(names.activation, Activation::kGelu);
  layer.layer_norm_eps = eps;
  options.stack.num_layers = d.layers(choose_field(names.layers, "num_hidden_layers"), layers);

  ModelPlan& plan = d.plan;
  plan.matrix("embedding.weight", words, options.vocab_size, e, Use::kEmbedding);
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
  options.output = false;
  if (plan.has(head + transform)) d.choose_output(decoder, words, tied);
  if (options.output) {
    options.transform = !distilled && !is_bert ? Activation::kGelu : layer.activation;
    options.transform_norm_eps = eps;
    options.output_bias = true;
    plan.linear("transform", head + names.transform, e, e);
    plan.layer_norm("transform_norm", head + names.transform_norm, e);
    plan.output(options, decoder);
    // The bias has one of two names. If the files contain both, Transformers reads the decoder's
    // bias.
    const std::string bias = head + names.decoder + ".bias";
    plan.vector("output.bias", plan.has(bias) ? bias : head + names.bias, options.vocab_size);
  }
  options.pooler = plan.has(outer + "pooler.dense.weight");
  if (options.pooler) plan.linear("pooler", outer + "pooler.dense", e, e);
  plan.finish(layers);
}

}  // namespace attn
