#include "attn/positions/rotary_embedding.hpp"
#include "models/families.hpp"

namespace attn {
namespace {

/// Names the tensors of each layer of a torch.nn.TransformerEncoder, or of a model trained with
/// attn.
void plan_encoder(ModelPlan& plan, const TransformerEncoderOptions& stack,
                  const std::string& prefix) {
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

}  // namespace

void describe_pytorch_encoder(ModelDescription& d) {
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

/// Describes a model trained with attn, such as the language model of the page.
void describe_attn_encoder(ModelDescription& d) {
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
    config.reject("positions", "rotary or sinusoidal");
  }
  d.plan.matrix("embedding.weight", "embedding.weight", options.vocab_size, layer.d_model,
                Use::kEmbedding);
  d.plan.output(options, "");
  plan_encoder(d.plan, options.stack, "encoder.");
}

}  // namespace attn
