// Trains two attention-only layers to continue a pattern that they have seen before. A sequence
// consists of a run of random tokens, a gap of random length and the same run again. The model
// learns to predict the tokens of the second run. Attention heads that learn to do this are called
// induction heads (Olsson et al. 2022, arXiv:2209.11895).

#include <attn/attn.hpp>
#include <cstdio>
#include <vector>

constexpr std::int64_t kTokens = 64, kWidth = 32, kBatch = 32, kRun = 8, kGap = 8;
constexpr std::int64_t kLength = 2 * kRun + kGap;
constexpr int kSteps = 400;

int main() {
  attn::Embedding tokens({.num_embeddings = kTokens, .embedding_dim = kWidth});
  attn::LearnedPositionalEncoding positions(kLength, kWidth);
  attn::MultiHeadAttention first({.d_model = kWidth, .num_heads = 4});
  attn::MultiHeadAttention second({.d_model = kWidth, .num_heads = 4});
  attn::Linear logits(kWidth, kTokens);
  const attn::NamedModule model[] = {{"tokens", tokens},
                                     {"positions", positions},
                                     {"first", first},
                                     {"second", second},
                                     {"logits", logits}};
  std::uint64_t seed = 0;
  for (const attn::NamedModule& part : model) part.module.initialize_xavier(++seed);
  attn::AdamW optimizer(model);

  attn::Context context({.num_threads = 1});  // the model is too small for several threads
  attn::Tape tape(context);
  attn::OwnedTensor drawn({kBatch, kLength + 1});
  std::vector<std::int64_t> ids(kBatch * kLength), targets(ids.size());
  for (int step = 1;; ++step) {
    attn::fill_uniform(drawn, {.seed = 2, .stream = static_cast<std::uint64_t>(step)}, 0, 1);
    for (std::int64_t b = 0; b < kBatch; ++b) {
      const std::int64_t period = kRun + static_cast<std::int64_t>(drawn(b, kLength) * kGap);
      for (std::int64_t i = 0; i < kLength; ++i) {
        const std::int64_t at = b * kLength + i;
        const bool again = i >= period && i < period + kRun;
        ids[at] = again ? ids[at - period] : static_cast<std::int64_t>(drawn(b, i) * kTokens);
        targets[at] = -100;  // ignored
        if (again && i > period) targets[at - 1] = ids[at];
      }
    }
    tape.clear();
    attn::Variable x = positions.forward(tokens.forward(tape, {ids.data(), {kBatch, kLength}}));
    x = x + first.forward(x, x, x, {.attention = {.causal = true}});
    x = x + second.forward(x, x, x, {.attention = {.causal = true}});
    const attn::Variable loss = attn::cross_entropy(logits.forward(x), targets);
    tape.backward(loss);
    attn::clip_grad_norm(tape, 1);
    optimizer.set_learning_rate(attn::cosine_learning_rate(step, 1e-2, 50, kSteps));
    optimizer.step(tape);
    if (step % 40 == 0) std::printf("step %3d: loss %.3f\n", step, double{loss.item()});
    if (step == kSteps) return loss.item() < 0.5F ? 0 : 1;  // guessing gives a loss of ln 64 = 4.16
  }
}
