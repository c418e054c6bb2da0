// Trains the page's language model: a causal Transformer that predicts the next token.
//
//   train <folder> <vocabulary> <steps> <seed> <threads> <about>
//
// <folder> contains training.tokens and heldOut.tokens (16 bits per token, little-endian). The
// program writes model.safetensors and checkpoint.safetensors to this folder. It resumes an
// interrupted run from the checkpoint. <about> is JSON for the metadata of model.safetensors, to
// which the program adds its measurements. `npm run train` prepares the input files and starts this
// program.
//
// With the same seed, the results are bit-identical for any number of threads and on every machine
// with the same instruction set.

#include <algorithm>
#include <array>
#include <attn/attn.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kLength = 128;  // tokens per passage
constexpr std::int64_t kBatch = 16;    // passages per step
constexpr std::int64_t kWidth = 128;
constexpr std::int64_t kHidden = 3 * kWidth;  // columns of the feed-forward layers
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kLayers = 3;
constexpr double kBase = 10000;
constexpr double kPeak = 2e-3;  // learning rate
constexpr std::int64_t kIgnored = -100;

/// Number of initial steps in which every passage repeats a sequence of random tokens. From such a
/// passage the model can learn only to continue the repetition, as induction heads do. A small text
/// gives the model few other opportunities to learn this. In later steps, a fraction kCopies of the
/// passages repeats random tokens.
constexpr std::int64_t kCopySteps = 1000;
constexpr float kCopies = 0.12F;
constexpr std::int64_t kShortestCopy = 8;
constexpr std::int64_t kLongestCopy = kLength / 2;

/// Maps tokens to logits of the next token. The output layer shares the embedding's weight.
class LanguageModel : public attn::Module {
 public:
  explicit LanguageModel(std::int64_t vocabulary)
      : embedding_(
            {.num_embeddings = vocabulary, .embedding_dim = kWidth, .scale_by_sqrt_dim = true}),
        encoder_({.layer = {.d_model = kWidth,
                            .num_heads = kHeads,
                            .dim_feedforward = kHidden,
                            .activation = attn::Activation::kGelu,
                            .norm_first = true,
                            .positions = {.rotary = attn::RotaryEmbeddingOptions{.base = kBase}}},
                  .num_layers = kLayers,
                  .final_norm = true}),
        output_(embedding_) {
    add_child("embedding", embedding_);
    add_child("encoder", encoder_);
  }

  void initialize(std::uint64_t seed) {
    initialize_xavier(seed);
    embedding_.initialize_normal({.seed = seed, .stream = 1000},
                                 1 / std::sqrt(static_cast<float>(kWidth)));
  }

  std::int64_t vocabulary() const { return output_.out_features(); }
  const attn::TransformerEncoder& encoder() const { return encoder_; }

  /// Maps token ids (B, N) to logits (B, N, V).
  attn::Variable forward(attn::Tape& tape, const attn::IdView& ids) const {
    return output_.forward(
        encoder_.forward(embedding_.forward(tape, ids), {.attention = {.causal = true}}));
  }

 private:
  attn::Embedding embedding_;
  attn::TransformerEncoder encoder_;
  attn::Linear output_;
};

/// Passages of tokens, and the next token for each position.
struct Batch {
  Ids tokens = Ids(kBatch * kLength);
  Ids next = Ids(kBatch * kLength);

  attn::IdView ids() const { return {tokens.data(), {kBatch, kLength}}; }
};

Ids read_tokens(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<unsigned char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.empty()) throw std::runtime_error(path.string() + " has no tokens");
  Ids tokens(bytes.size() / 2);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = bytes[2 * i] | bytes[2 * i + 1] << 8;
  }
  if (std::ssize(tokens) <= kLength) {
    throw std::runtime_error(path.string() + " is shorter than a passage");
  }
  return tokens;
}

/// Fills entry b of the batch with kLength tokens and, for each of them, the token that follows.
/// The first `unknown` tokens are unpredictable and are not counted as targets.
template <class TokenAt>
void set_passage(Batch& batch, std::int64_t b, std::int64_t unknown, TokenAt token_at) {
  for (std::int64_t i = 0; i < kLength; ++i) {
    const auto at = static_cast<std::size_t>(b * kLength + i);
    batch.tokens[at] = token_at(i);
    batch.next[at] = i + 1 < unknown ? kIgnored : token_at(i + 1);
  }
}

/// Fills entry b of the batch with a sequence of random tokens, repeated with a random period.
/// `drawn` contains kLongestCopy + 1 numbers between 0 and 1.
void set_copies(Batch& batch, std::int64_t b, std::span<const float> drawn,
                std::int64_t vocabulary) {
  const std::int64_t period =
      kShortestCopy + static_cast<std::int64_t>(drawn[kLongestCopy] *
                                                static_cast<float>(kLongestCopy - kShortestCopy));
  set_passage(batch, b, period, [&](std::int64_t i) {
    const float u = drawn[static_cast<std::size_t>(i % period)];
    return std::min(vocabulary - 1, static_cast<std::int64_t>(u * static_cast<float>(vocabulary)));
  });
}

/// The passages of each step. They depend only on the seed and on the step.
class Passages {
 public:
  Passages(const Ids& text, std::int64_t vocabulary, std::uint64_t seed)
      : text_(text), vocabulary_(vocabulary), seed_(seed) {}

  void fill(std::int64_t step, Batch& batch) {
    attn::fill_uniform(drawn_, {.seed = seed_, .stream = static_cast<std::uint64_t>(step)}, 0, 1);
    for (std::int64_t b = 0; b < kBatch; ++b) {
      const std::span<const float> drawn = drawn_.values().subspan(
          static_cast<std::size_t>(b * kNumbers), static_cast<std::size_t>(kNumbers));
      if (step <= kCopySteps || drawn[0] < kCopies) {
        set_copies(batch, b, drawn.subspan(2), vocabulary_);
        continue;
      }
      const auto last = static_cast<double>(std::ssize(text_) - kLength - 1);
      const auto first = static_cast<std::int64_t>(last * double{drawn[1]});
      set_passage(batch, b, 0,
                  [&](std::int64_t i) { return text_[static_cast<std::size_t>(first + i)]; });
    }
  }

 private:
  static constexpr std::int64_t kNumbers = kLongestCopy + 3;

  const Ids& text_;
  std::int64_t vocabulary_;
  std::uint64_t seed_;
  attn::OwnedTensor drawn_{{kBatch, kNumbers}};
};

double learning_rate(std::int64_t step, std::int64_t steps) {
  if (step <= kCopySteps) return attn::cosine_learning_rate(step, 1.5 * kPeak, 100, 2 * kCopySteps);
  const std::int64_t left = steps - kCopySteps;
  return attn::cosine_learning_rate(step - kCopySteps, kPeak, std::min<std::int64_t>(200, left),
                                    left);
}

/// The mean next-token loss over all complete batches of the text.
double loss_of(const LanguageModel& model, const Ids& text, attn::Tape& tape) {
  Batch batch;
  double sum = 0;
  int batches = 0;
  for (std::int64_t first = 0; first + kBatch * kLength < std::ssize(text);
       first += kBatch * kLength, ++batches) {
    const auto begin = text.begin() + first;
    std::copy_n(begin, batch.tokens.size(), batch.tokens.begin());
    std::copy_n(begin + 1, batch.next.size(), batch.next.begin());
    tape.clear();
    sum += double{attn::cross_entropy(model.forward(tape, batch.ids()), batch.next).item()};
  }
  return sum / batches;
}

/// Mean shares of a query's attention: to the previous token, to the first token, to earlier
/// occurrences of the query's token, to the tokens after these occurrences, and to the query's own
/// token. `same_token` and `induction` are means over the queries whose token occurred before.
struct HeadScores {
  double previous_token = 0;
  double first_token = 0;
  double same_token = 0;
  double induction = 0;
  double itself = 0;
};

/// The first query included in the scores. Earlier queries have too few tokens to attend to.
constexpr std::int64_t kFirstQuery = 16;

/// The scores of every head, layer by layer.
std::vector<HeadScores> head_scores(const LanguageModel& model, const Batch& batch,
                                    attn::Tape& tape) {
  tape.clear();
  std::vector<std::string> names;
  for (std::int64_t l = 0; l < kLayers; ++l) {
    names.push_back("layers." + std::to_string(l) + ".self_attn.weights");
  }
  tape.watch(model.encoder(), names);
  model.forward(tape, batch.ids());
  std::vector<HeadScores> scores;
  for (const std::string& name : names) {
    const attn::ConstTensor weights = tape.intermediate(model.encoder(), name).value();
    for (std::int64_t h = 0; h < kHeads; ++h) {
      HeadScores sum;
      double queries = 0;
      double seen_before = 0;
      for (std::int64_t b = 0; b < kBatch; ++b) {
        const std::int64_t* tokens = &batch.tokens[static_cast<std::size_t>(b * kLength)];
        for (std::int64_t i = kFirstQuery; i < kLength; ++i) {
          ++queries;
          sum.previous_token += double{weights(b, h, i, i - 1)};
          sum.first_token += double{weights(b, h, i, 0)};
          sum.itself += double{weights(b, h, i, i)};
          seen_before += std::find(tokens, tokens + i, tokens[i]) != tokens + i ? 1 : 0;
          for (std::int64_t j = 0; j < i; ++j) {
            if (tokens[j] != tokens[i]) continue;
            sum.same_token += double{weights(b, h, i, j)};
            sum.induction += double{weights(b, h, i, j + 1)};
          }
        }
      }
      seen_before = std::max(1.0, seen_before);
      scores.push_back({.previous_token = sum.previous_token / queries,
                        .first_token = sum.first_token / queries,
                        .same_token = sum.same_token / seen_before,
                        .induction = sum.induction / seen_before,
                        .itself = sum.itself / queries});
    }
  }
  return scores;
}

/// Measures all scores on held-out text, except induction, which is measured on repeated random
/// tokens.
std::vector<HeadScores> measure_heads(const LanguageModel& model, const Ids& held_out,
                                      attn::Tape& tape) {
  Batch batch;
  std::copy_n(held_out.begin(), batch.tokens.size(), batch.tokens.begin());
  std::vector<HeadScores> scores = head_scores(model, batch, tape);
  attn::OwnedTensor drawn({kBatch, kLongestCopy + 1});
  attn::fill_uniform(drawn, {.seed = 0, .stream = 0}, 0, 1);
  for (std::int64_t b = 0; b < kBatch; ++b) {
    set_copies(batch, b, drawn.values().subspan(static_cast<std::size_t>(b * drawn.size(1))),
               model.vocabulary());
  }
  const std::vector<HeadScores> copied = head_scores(model, batch, tape);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i].induction = copied[i].induction;
  return scores;
}

template <class... Values>
std::string format(const char* text, Values... values) {
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(), text, values...);
  return line.data();
}

std::string json_of(const std::vector<HeadScores>& heads) {
  std::string text;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const HeadScores& head = heads[i];
    text += i % kHeads != 0 ? "," : i > 0 ? "],[" : "[[";
    text += format(
        R"({"previousToken":%.3f,"firstToken":%.3f,"sameToken":%.3f,"induction":%.3f,"itself":%.3f})",
        head.previous_token, head.first_token, head.same_token, head.induction, head.itself);
  }
  return text + "]]";
}

/// The saved state of a run. save() writes a temporary file, which then replaces the previous
/// state. If the run is interrupted while writing, the previous state is intact.
class Checkpoint {
 public:
  Checkpoint(std::filesystem::path path, std::string settings)
      : path_(std::move(path)), settings_(std::move(settings)) {}

  void save(std::int64_t step, const LanguageModel& model, const attn::Optimizer& optimizer) const {
    std::vector<attn::NamedTensor> tensors = attn::state_dict(model, "model.");
    for (const attn::NamedTensor& tensor : attn::state_dict(optimizer, "optimizer.")) {
      tensors.push_back(tensor);
    }
    const std::string beside = path_.string() + ".part";
    attn::save_safetensors(beside, tensors,
                           {{"settings", settings_}, {"step", std::to_string(step)}});
    std::filesystem::rename(beside, path_);
  }

  /// Loads the state and returns the step after which it was saved, or 0 if there is no state with
  /// the same settings.
  std::int64_t load(LanguageModel& model, attn::Optimizer& optimizer) const {
    if (!std::filesystem::exists(path_)) return 0;
    const attn::Safetensors file = attn::Safetensors::load(path_);
    std::int64_t step = 0;
    bool same = false;
    for (const auto& [key, value] : file.metadata()) {
      if (key == "settings") same = value == settings_;
      if (key == "step") step = std::stoll(value);
    }
    if (!same) return 0;
    attn::load_state_dict(model, file, "model.");
    attn::load_state_dict(optimizer, file, "optimizer.");
    return step;
  }

 private:
  std::filesystem::path path_;
  std::string settings_;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void train(const std::filesystem::path& folder, std::int64_t vocabulary, std::int64_t steps,
           std::uint64_t seed, int threads, const std::string& about) {
  const Ids text = read_tokens(folder / "training.tokens");
  const Ids held_out = read_tokens(folder / "heldOut.tokens");
  attn::Context context({.num_threads = threads});
  attn::Tape tape(context);
  LanguageModel model(vocabulary);
  model.initialize(seed);
  attn::AdamW optimizer(model, {.beta2 = 0.98, .weight_decay = 0.05});
  const Checkpoint checkpoint(
      folder / "checkpoint.safetensors",
      format(
          "%lld tokens of %lld, %lld steps of %lld × %lld (%lld of copies), %lld × %lld, seed %llu",
          static_cast<long long>(text.size()), static_cast<long long>(vocabulary),
          static_cast<long long>(steps), static_cast<long long>(kBatch),
          static_cast<long long>(kLength), static_cast<long long>(kCopySteps),
          static_cast<long long>(kLayers), static_cast<long long>(kWidth),
          static_cast<unsigned long long>(seed)));
  const std::int64_t done = checkpoint.load(model, optimizer);
  if (done > 0) std::printf("resuming after step %lld\n", static_cast<long long>(done));

  Passages passages(text, vocabulary, seed);
  Batch batch;
  const std::int64_t report = std::clamp<std::int64_t>(steps / 4, 1, 100);
  const std::int64_t save = std::clamp<std::int64_t>(steps / 4, 1, 500);
  double sum = 0;
  double start = now();
  for (std::int64_t step = done + 1; step <= steps; ++step) {
    passages.fill(step, batch);
    tape.clear();
    const attn::Variable loss = attn::cross_entropy(model.forward(tape, batch.ids()), batch.next);
    tape.backward(loss);
    attn::clip_grad_norm(tape, 1);
    optimizer.set_learning_rate(learning_rate(step, steps));
    optimizer.step(tape);
    sum += double{loss.item()};
    if (step % save == 0 || step == steps) checkpoint.save(step, model, optimizer);
    if (step % report == 0) {
      const double seconds = (now() - start) / static_cast<double>(report);
      std::printf("step %5lld of %lld  loss %.3f%s  %.0f tokens/s  %.1f min left\n",
                  static_cast<long long>(step), static_cast<long long>(steps),
                  sum / static_cast<double>(report),
                  step <= kCopySteps ? " (repeated random tokens)" : "",
                  static_cast<double>(kBatch * kLength) / seconds,
                  static_cast<double>(steps - step) * seconds / 60);
      std::fflush(stdout);
      sum = 0;
      start = now();
    }
    if (step % 2000 == 0) {
      std::printf("held-out loss %.3f\n", loss_of(model, held_out, tape));
      start = now();
    }
  }

  const double exact = loss_of(model, held_out, tape);
  const std::vector<attn::NamedTensor> tensors = attn::state_dict(model);
  const auto stored =
      attn::Safetensors::own(attn::to_safetensors(tensors, {}, attn::ElementType::kFloat16));
  attn::load_state_dict(model, stored);
  const double rounded = loss_of(model, held_out, tape);
  const std::vector<HeadScores> heads = measure_heads(model, held_out, tape);
  std::printf("held-out loss %.4f, %.4f as float16\n", exact, rounded);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    std::printf(
        "layer %zu head %zu: previous %.2f, first %.2f, same %.2f, induction %.2f, itself %.2f\n",
        i / kHeads + 1, i % kHeads + 1, heads[i].previous_token, heads[i].first_token,
        heads[i].same_token, heads[i].induction, heads[i].itself);
  }
  const std::string config = format(
      R"({"vocabularySize":%lld,"dModel":%lld,"numHeads":%lld,"numLayers":%lld,"dimFeedforward":%lld,)"
      R"("activation":"gelu","positions":"rotary","base":%.0f,"scaleBySqrtDim":true,"maxLength":%lld})",
      static_cast<long long>(vocabulary), static_cast<long long>(kWidth),
      static_cast<long long>(kHeads), static_cast<long long>(kLayers),
      static_cast<long long>(kHidden), kBase, static_cast<long long>(kLength));
  const std::string training =
      format(R"({"steps":%lld,"seed":%llu,"heldOutLoss":%.4f,"float16Loss":%.4f,"about":)",
             static_cast<long long>(steps), static_cast<unsigned long long>(seed), exact, rounded) +
      about + "}";
  attn::save_safetensors(
      (folder / "model.safetensors").string(), tensors,
      {{"config", config}, {"format", "pt"}, {"heads", json_of(heads)}, {"training", training}},
      attn::ElementType::kFloat16);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) {
    std::fputs("usage: train <folder> <vocabulary> <steps> <seed> <threads> <about>\n", stderr);
    return 2;
  }
  try {
    train(arguments[1], std::stoll(arguments[2]), std::stoll(arguments[3]),
          std::stoull(arguments[4]), std::stoi(arguments[5]), arguments[6]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 1;
  }
}
