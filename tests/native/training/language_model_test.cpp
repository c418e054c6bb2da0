// Tests language models on a tape. Logits must be bit-identical to the logits without a tape, and
// gradients must match finite differences of the loss.

#include "attn/models/language_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "attn/training/losses.hpp"
#include "attn/training/optimizers.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "models/changed_models.hpp"
#include "models/is_recorded.hpp"
#include "models/recorded_models.hpp"
#include "training/values.hpp"

namespace {

using attn::LanguageModel;
using attn::LanguageModelCall;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::load_recorded;
using attn_test::same_bits;
using attn_test::values;
using testing::HasSubstr;
using testing::StartsWith;

using TapedLanguageModelTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(TapedLanguageModelTest);

const std::vector<std::int64_t> kIds{6, 5, 3, 7, 7, 2}, kTargets{5, 3, 7, 7, 2, 4};

/// The model with float32 weights, which a tape requires.
LanguageModel load_floats(const std::string& name, attn::LanguageModelHints hints = {}) {
  hints.weights = attn::WeightFormat{};
  return load_recorded(name, hints);
}

/// True if the model maps tokens to logits.
bool has_logits(const LanguageModel& model) {
  return model.options().output && model.options().vocab_size > 0;
}

/// The mean cross-entropy of `logits`, in double precision.
double loss_of(const LanguageModel& model, attn::Context& context) {
  const std::int64_t length = std::ssize(kIds), classes = model.options().vocab_size;
  OwnedTensor logits({length, classes});
  model.forward(kIds, logits, {}, context);
  double loss = 0;
  for (std::int64_t t = 0; t < length; ++t) {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(double{logits(t, c)});
    loss += std::log(sum) - double{logits(t, kTargets[static_cast<std::size_t>(t)])};
  }
  return loss / static_cast<double>(length);
}

TEST_P(TapedLanguageModelTest, every_family_has_the_bits_of_a_call_without_a_tape) {
  int count = 0;
  for (const attn_test::RecordedModel& recorded : attn_test::recorded_models()) {
    SCOPED_TRACE(recorded.name);
    const LanguageModel model = load_floats(recorded.name, recorded.hints);
    if (!has_logits(model)) continue;
    const attn::Safetensors results = attn_test::recorded_results(recorded.name);
    std::vector<std::int64_t> ids = attn_test::whole_numbers(results, "ids"), types;
    if (const auto padding = model.options().padding_id) {
      std::erase(ids, *padding);
    } else if (results.contains("token_types")) {
      types = attn_test::whole_numbers(results, "token_types");
    }
    LanguageModelCall call;
    if (!types.empty()) call.token_types = types;
    OwnedTensor logits({std::ssize(ids), model.options().vocab_size});
    model.forward(ids, logits, call, context());
    attn::Tape tape(context());
    EXPECT_TRUE(same_bits(values(model.forward(tape, ids, call).value()), values(logits)));

    const std::int64_t half = std::ssize(ids) / 2;
    const attn::IdView batch(ids.data(), {2, half});
    OwnedTensor of_batch({2, half, model.options().vocab_size});
    model.forward(batch, of_batch, {}, context());
    EXPECT_TRUE(same_bits(values(model.forward(tape, batch).value()), values(of_batch)));
    ++count;
  }
  EXPECT_GE(count, 20);
}

TEST_P(TapedLanguageModelTest, gradients_match_finite_differences) {
  for (const attn_test::RecordedModel& recorded : attn_test::recorded_models()) {
    SCOPED_TRACE(recorded.name);
    LanguageModel model = load_floats(recorded.name, recorded.hints);
    if (!has_logits(model)) continue;
    // ReLU has no derivative at 0, and the two sides of a difference are often on different sides
    // of 0.
    if (model.encoder().layers()[0].options().activation == attn::Activation::kRelu) continue;
    attn::Tape tape(context());
    const Variable loss = attn::cross_entropy(model.forward(tape, kIds), kTargets);
    EXPECT_NEAR(double{loss.item()}, loss_of(model, context()), 1e-5);
    tape.backward(loss);
    attn_test::Random random = attn_test::Random::of_all_parameters();
    for (const std::string& name : model.parameter_names()) {
      SCOPED_TRACE(name);
      const attn::ConstTensor gradient = tape.gradient(model, name);
      const OwnedTensor before(model.parameter(name).shape(), values(model.parameter(name)));
      // The derivative along a random direction of length 0.01.
      std::vector<double> direction(before.values().size());
      double square = 0;
      for (double& d : direction) square += std::pow(d = random.normal(), 2);
      for (double& d : direction) d *= 0.01 / std::sqrt(square);
      double sides[2], wanted = 0;
      for (const int side : {0, 1}) {
        OwnedTensor moved = before;
        for (std::size_t i = 0; i < direction.size(); ++i) {
          moved.values()[i] += static_cast<float>(side == 0 ? direction[i] : -direction[i]);
        }
        model.set_parameter(name, moved, context());
        sides[side] = loss_of(model, context());
      }
      model.set_parameter(name, before, context());
      if (!gradient.is_none()) {
        const std::vector<float> g = values(gradient);
        for (std::size_t i = 0; i < g.size(); ++i) wanted += double{g[i]} * direction[i];
      }
      EXPECT_NEAR((sides[0] - sides[1]) / 2, wanted, 2e-6 + 0.02 * std::abs(wanted));
    }
  }
}

TEST(TapedLanguageModel, an_optimizer_trains_it_and_calls_without_a_tape_see_the_new_weights) {
  for (const char* name : {"gpt2", "llama", "gemma2"}) {
    SCOPED_TRACE(name);
    LanguageModel model = load_floats(name);
    attn::Context& context = attn::Context::default_context();
    const double before = loss_of(model, context);
    attn::AdamW optimizer(model, attn::AdamWOptions{.learning_rate = 1e-2});
    attn::Tape tape;
    double last = 0;
    for (int step = 0; step < 20; ++step) {
      tape.clear();
      const Variable loss = attn::cross_entropy(model.forward(tape, kIds), kTargets);
      last = double{loss.item()};
      tape.backward(loss);
      optimizer.step(tape);
    }
    EXPECT_LT(last, before / 2);
    EXPECT_LT(loss_of(model, context), last);
  }
}

TEST(TapedLanguageModel, a_model_may_be_destroyed_before_backward) {
  std::vector<float> found[2];
  for (const bool gone : {false, true}) {
    auto model = std::make_unique<LanguageModel>(load_floats("gpt2"));
    attn::Tape tape;
    const Variable embedding = tape.parameter(*model, "embedding.weight");
    const Variable loss = attn::cross_entropy(model->forward(tape, kIds), kTargets);
    if (gone) model.reset();
    tape.backward(loss);
    found[gone ? 1 : 0] = values(embedding.gradient());
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(TapedLanguageModel, intermediates_are_watched_under_their_names) {
  const LanguageModel model = load_floats("gpt2");
  attn::Tape tape;
  tape.watch(model, std::vector<std::string>{"embedded"});
  const Variable loss = attn::cross_entropy(model.forward(tape, kIds), kTargets);
  tape.backward(loss);
  const Variable embedded = tape.intermediate(model, "embedded");
  attn::Intermediates shown({"embedded"});
  model.forward(kIds, {}, {.intermediates = &shown});
  EXPECT_TRUE(same_bits(values(embedded.value()), values(shown["embedded"])));
  EXPECT_FALSE(embedded.gradient().is_none());
}

TEST(TapedLanguageModel, what_a_tape_cannot_record_is_rejected_by_name) {
  attn::Tape tape;
  const LanguageModel gpt2 = load_floats("gpt2"), bert = load_floats("bert_plain");
  const LanguageModel roberta = load_floats("roberta");
  const LanguageModel encoder = load_recorded("pytorch_encoder", {.num_heads = 3});
  const auto error = [&](const LanguageModel& model, const LanguageModelCall& call) {
    return error_of([&] { model.forward(tape, kIds, call); });
  };
  EXPECT_THAT(error(bert, {}),
              StartsWith("unsupported: logits: got a model without an output layer"));
  EXPECT_THAT(error(encoder, {}), StartsWith("unsupported: ids: got a model without an embedding"));
  EXPECT_THAT(error(gpt2, {.token_types = kIds}), StartsWith("unsupported: token_types"));
  const std::vector<double> positions{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(error(gpt2, {.positions = {positions.data(), {6}}}),
            "invalid_argument: positions: got a value, needs none when a tape records the call");
  std::vector<attn::KeyValueCache> caches = gpt2.make_caches();
  EXPECT_THAT(error(gpt2, {.caches = caches}), StartsWith("invalid_argument: caches"));
  OwnedTensor hidden({6, gpt2.d_model()});
  EXPECT_THAT(error(gpt2, {.hidden = hidden}), StartsWith("invalid_argument: hidden"));
  EXPECT_THAT(error(gpt2, {.pooled = hidden}), StartsWith("invalid_argument: pooled"));
  attn::Intermediates shown({"embedded"});
  EXPECT_THAT(error(gpt2, {.intermediates = &shown}),
              StartsWith("invalid_argument: intermediates"));
  const attn::Interventions none;
  EXPECT_THAT(error(gpt2, {.interventions = &none}), StartsWith("invalid_argument: interventions"));
  std::vector<std::int64_t> padded = kIds;
  padded.push_back(*roberta.options().padding_id);
  EXPECT_THAT(error_of([&] { roberta.forward(tape, padded); }),
              HasSubstr("needs no padding tokens when a tape records a model"));
  const LanguageModel rounded =
      load_recorded("gpt2", {.weights = attn::WeightFormat(attn::ElementType::kBFloat16)});
  EXPECT_THAT(error(rounded, {}), StartsWith("unsupported: "));
  EXPECT_THAT(error(rounded, {}), HasSubstr("float32 for a gradient"));
  EXPECT_THAT(error_of([&] { gpt2.forward(tape, std::vector<std::int64_t>{29}); }),
              StartsWith("invalid_argument: ids: got 29"));
}

}  // namespace
