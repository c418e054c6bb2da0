// Builds small versions of GPT-2, Llama and Gemma 3 from options alone. Each model is trained on a
// tape until it knows a sentence by heart. It then generates the sentence token by token with a
// cache.

#include <algorithm>
#include <attn/attn.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct ModelOptions {
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;  ///< rows of a learned table of positions; 0 means no table
  bool scale_embedding = false;    ///< multiplies embeddings by √E, as in Gemma
  bool tied = true;                ///< the output layer shares the embedding's weight
  attn::TransformerEncoderOptions stack = {};
};

/// A stack of causal layers between an embedding and an output layer.
class CausalLanguageModel : public attn::Module {
 public:
  explicit CausalLanguageModel(const ModelOptions& options)
      : embedding_({.num_embeddings = options.vocab_size,
                    .embedding_dim = width_of(options),
                    .scale_by_sqrt_dim = options.scale_embedding}),
        stack_(options.stack),
        output_(options.tied ? attn::Linear(embedding_)
                             : attn::Linear(width_of(options), options.vocab_size, false)) {
    add_child("embedding", embedding_);
    if (options.max_positions > 0) {
      add_child("positions", positions_.emplace(options.max_positions, width_of(options)));
    }
    add_child("stack", stack_);
    add_child("output", output_);
  }

  const attn::TransformerEncoder& stack() const { return stack_; }
  std::int64_t vocab_size() const { return output_.out_features(); }

  void initialize(std::uint64_t seed) {
    initialize_xavier(seed);
    embedding_.initialize_normal({.seed = seed, .stream = 1000}, 0.1F);
    if (positions_) positions_->initialize_normal(seed + 1);
  }

  /// Processes `ids` (1, N), the next tokens of a sequence whose keys and values are in the caches.
  /// Writes `logits` (1, N, V).
  void forward(const attn::IdView& ids, const attn::Tensor& logits,
               std::span<attn::KeyValueCache> caches) const {
    attn::OwnedTensor x({ids.size(0), ids.size(1), output_.in_features()});
    embedding_.forward(ids, x);
    if (positions_) positions_->forward(x, x, caches[0].length());
    attn::TransformerEncoderCall call;
    call.attention.causal = true;
    call.caches = caches;
    stack_.forward(x, x, call);
    output_.forward(x, logits);
  }

  /// Computes the logits of a whole sequence and records the computation.
  attn::Variable forward(attn::Tape& tape, const attn::IdView& ids) const {
    attn::Variable x = embedding_.forward(tape, ids);
    if (positions_) x = positions_->forward(x);
    return output_.forward(stack_.forward(x, {.attention = {.causal = true}}));
  }

 private:
  static std::int64_t width_of(const ModelOptions& options) {
    return options.stack.layers.empty() ? options.stack.layer.d_model
                                        : options.stack.layers.front().d_model;
  }

  attn::Embedding embedding_;
  std::optional<attn::LearnedPositionalEncoding> positions_;
  attn::TransformerEncoder stack_;
  attn::Linear output_;
};

ModelOptions gpt2() {
  ModelOptions options{.vocab_size = 128, .max_positions = 64};
  options.stack = {.layer = {.d_model = 32,
                             .num_heads = 4,
                             .dim_feedforward = 128,
                             .activation = attn::Activation::kGeluTanh,
                             .norm_first = true},
                   .num_layers = 2,
                   .final_norm = true};
  return options;
}

ModelOptions llama() {
  ModelOptions options{.vocab_size = 128, .tied = false};
  options.stack = {.layer = {.d_model = 32,
                             .num_heads = 4,
                             .dim_feedforward = 88,
                             .activation = attn::Activation::kSilu,
                             .gated_feed_forward = true,
                             .rms_norm = attn::RmsNormOptions{.eps = 1e-5F},
                             .norm_first = true,
                             .bias = false,
                             .num_kv_heads = 2,
                             .positions = {.rotary = attn::RotaryEmbeddingOptions{.base = 5e5}}},
                   .num_layers = 2,
                   .final_norm = true};
  return options;
}

ModelOptions gemma3() {
  attn::TransformerLayerOptions local = llama().stack.layer;
  local.activation = attn::Activation::kGeluTanh;
  local.rms_norm = attn::RmsNormOptions{.eps = 1e-6F, .zero_centred_weight = true};
  local.qk_norm = local.rms_norm;
  local.norm_outputs = true;
  local.head_dim = 16;
  local.scale = 0.25F;  // 1/√query_pre_attn_scalar
  local.positions.rotary->base = 10000;
  local.window = attn::Window{.left = 7};
  attn::TransformerLayerOptions global = local;
  global.positions.rotary->base = 1e6;
  global.window = {};
  ModelOptions options{.vocab_size = 128, .scale_embedding = true};
  options.stack.layers = {local, local, global};
  options.stack.final_norm = true;
  return options;
}

/// Trains a model on `text`, with one token per byte, and returns the text that the model then
/// generates from the first byte.
std::string learn(const ModelOptions& options, std::string_view text) {
  CausalLanguageModel model(options);
  model.initialize(/*seed=*/1);
  const std::vector<std::int64_t> tokens(text.begin(), text.end());
  const std::int64_t count = std::ssize(tokens) - 1;
  const attn::IdView inputs(tokens.data(), {1, count});
  const attn::IdView targets(tokens.data() + 1, {1, count});

  attn::AdamW optimizer(model, {.learning_rate = 3e-3});
  attn::Tape tape;
  for (int step = 0; step < 60; ++step) {
    tape.clear();
    const attn::Variable loss = attn::cross_entropy(model.forward(tape, inputs), targets);
    tape.backward(loss);
    optimizer.step(tape);
  }

  std::vector<attn::KeyValueCache> caches = model.stack().make_caches(1, count);
  attn::OwnedTensor logits({1, 1, model.vocab_size()});
  std::string said(1, text[0]);
  while (said.size() < text.size()) {
    const std::int64_t last = said.back();
    model.forward({&last, {1, 1}}, logits, caches);
    const auto best = std::ranges::max_element(logits.values());
    said += static_cast<char>(best - logits.values().begin());
  }
  return said;
}

}  // namespace

int main() {
  const std::string_view text = "all you need is attention";
  bool learned = true;
  const auto show = [&](const char* name, const ModelOptions& options) {
    const std::string said = learn(options, text);
    std::printf("%-8s %s\n", name, said.c_str());
    learned = learned && said == text;
  };
  show("GPT-2", gpt2());
  show("Llama", llama());
  show("Gemma 3", gemma3());
  return learned ? 0 : 1;
}
