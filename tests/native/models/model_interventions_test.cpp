// Tests interventions in whole models of every recorded family.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/io/safetensors.hpp"
#include "attn/layers/interventions.hpp"
#include "attn/models/language_model.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "models/recorded_models.hpp"

namespace {

using attn::Intermediates;
using attn::Interventions;
using attn::LanguageModel;
using attn::OwnedTensor;
using attn_test::error_of;
using attn_test::RecordedModel;
using ::testing::Each;

/// A recorded model and its recorded input.
struct Recorded {
  LanguageModel model;
  std::vector<std::int64_t> ids;
  OwnedTensor x;  ///< the input of a model without an embedding
  std::int64_t length = 0;

  explicit Recorded(const RecordedModel& recorded)
      : model(
            attn_test::load_from_memory(attn_test::recorded_files(recorded.name), recorded.hints)) {
    const attn::Safetensors file = attn_test::recorded_results(recorded.name);
    if (file.contains("x")) {
      length = file.entry("x").shape[0];
      x = OwnedTensor({length, model.d_model()}, file.read("x"));
    } else {
      const std::vector<float> values = file.read("ids");
      ids.assign(values.begin(), values.end());
      length = std::ssize(ids);
    }
  }

  /// The output of the last layer, the logits and the pooled vector, one after the other.
  std::vector<float> run(const Interventions* interventions, Intermediates* shown = nullptr) const {
    OwnedTensor hidden({length, model.d_model()}), logits, pooled;
    attn::LanguageModelCall call;
    call.hidden = hidden;
    call.intermediates = shown;
    call.interventions = interventions;
    if (model.options().output) logits = OwnedTensor({length, model.options().vocab_size});
    if (model.options().pooler) {
      pooled = OwnedTensor({model.d_model()});
      call.pooled = pooled;
    }
    if (ids.empty()) {
      model.forward(x, {}, call);
    } else {
      model.forward(ids, model.options().output ? attn::Tensor(logits) : attn::Tensor(), call);
    }
    std::vector<float> all(hidden.values().begin(), hidden.values().end());
    for (const OwnedTensor* more : {&logits, &pooled}) {
      all.insert(all.end(), more->values().begin(), more->values().end());
    }
    return all;
  }
};

Recorded gpt2() {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    if (recorded.name == "gpt2") return Recorded(recorded);
  }
  throw std::runtime_error("gpt2 is not recorded");
}

TEST(ModelInterventionsTest, an_empty_set_changes_no_bit) {
  const Interventions none;
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    const Recorded model(recorded);
    EXPECT_TRUE(attn_test::same_bits(model.run(&none), model.run(nullptr))) << recorded.name;
  }
}

TEST(ModelInterventionsTest, patching_any_value_with_itself_changes_no_bit) {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    SCOPED_TRACE(recorded.name);
    const Recorded model(recorded);
    Intermediates shown(Interventions::names_of(model.model));
    const std::vector<float> plain = model.run(nullptr, &shown);
    Interventions all;
    for (const std::string& name : shown.names()) {
      Interventions one;
      one.patch(name, shown[name]);
      all.patch(name, shown[name]);
      EXPECT_TRUE(attn_test::same_bits(model.run(&one), plain)) << name;
    }
    EXPECT_TRUE(attn_test::same_bits(model.run(&all), plain));
  }
}

TEST(ModelInterventionsTest, every_family_accepts_ablation_and_knockout_in_every_layer) {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    SCOPED_TRACE(recorded.name);
    const Recorded model(recorded);
    const std::vector<float> plain = model.run(nullptr);
    for (std::size_t l = 0; l < model.model.encoder().layers().size(); ++l) {
      const std::string layer = "encoder.layers." + std::to_string(l);
      Interventions head, feed_forward, knockout;
      head.ablate(layer + ".self_attn.head_output", attn::Ablation::kZero, {.head = 0});
      feed_forward.ablate(layer + ".mlp_out", attn::Ablation::kMean);
      knockout.knock_out(layer + ".self_attn", {}, 2, 1);
      for (const Interventions* cut : {&head, &feed_forward, &knockout}) {
        const std::vector<float> changed = model.run(cut);
        EXPECT_NE(changed, plain);
        for (const float value : changed) ASSERT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST(ModelInterventionsTest, knocking_a_key_out_everywhere_equals_the_boolean_mask) {
  const Recorded gpt = gpt2();
  const std::int64_t n = gpt.length;
  Interventions cut;
  for (std::size_t l = 0; l < gpt.model.encoder().layers().size(); ++l) {
    cut.knock_out("encoder.layers." + std::to_string(l) + ".self_attn", {}, n - 1, 1);
  }
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n * n), 1);
  mask[static_cast<std::size_t>((n - 1) * n + 1)] = 0;
  OwnedTensor masked({n, gpt.model.options().vocab_size}), cut_off = masked;
  gpt.model.forward(gpt.ids, masked, {.attention = {.mask = {mask.data(), {n, n}}}});
  gpt.model.forward(gpt.ids, cut_off, {.interventions = &cut});
  for (std::size_t i = 0; i < masked.values().size(); ++i) {
    EXPECT_EQ(cut_off.values()[i], masked.values()[i]);
  }
}

TEST(ModelInterventionsTest, patching_all_embeddings_gives_the_logits_of_another_sentence) {
  const Recorded gpt = gpt2();
  std::vector<std::int64_t> other(gpt.ids.rbegin(), gpt.ids.rend());
  const std::int64_t vocab = gpt.model.options().vocab_size;
  OwnedTensor want({1, vocab}), got = want;
  Intermediates shown({"embedded"});
  gpt.model.forward(other, want, {.intermediates = &shown});
  Interventions cut;
  cut.patch("embedded", shown["embedded"]);
  gpt.model.forward(gpt.ids, got, {.interventions = &cut});
  for (std::int64_t v = 0; v < vocab; ++v) EXPECT_EQ(got(0, v), want(0, v));
}

TEST(ModelInterventionsErrorTest, errors_leave_outputs_and_caches_unchanged) {
  const Recorded gpt = gpt2();
  const auto error_with = [&](const Interventions& cut, std::span<attn::KeyValueCache> caches) {
    std::vector<float> y(static_cast<std::size_t>(gpt.model.options().vocab_size), 77.0F);
    attn::LanguageModelCall call;
    call.caches = caches;
    call.interventions = &cut;
    const attn::Tensor logits(y.data(), {1, gpt.model.options().vocab_size});
    const std::string error = error_of([&] { gpt.model.forward(gpt.ids, logits, call); });
    EXPECT_THAT(y, Each(77.0F));
    return error;
  };
  Interventions name, row, fine;
  name.ablate("layers.0.mlp_out");
  EXPECT_THAT(error_with(name, {}),
              ::testing::EndsWith("the nearest is \"encoder.layers.0.mlp_out\""));
  row.ablate("output.output", attn::Ablation::kZero, {.position = 1});
  EXPECT_EQ(error_with(row, {}),
            "invalid_argument: position: got 1, needs 0 to 0 in \"output.output\"");
  fine.ablate("encoder.layers.0.mlp_out");
  std::vector<attn::KeyValueCache> caches = gpt.model.make_caches();
  EXPECT_EQ(error_with(fine, caches),
            "unsupported: interventions: got interventions and a cache, needs a call without a "
            "cache, with the whole sequence");
  EXPECT_EQ(caches[0].length(), 0);
}

TEST(ModelInterventionsErrorTest, an_error_in_the_pooler_leaves_the_logits_unchanged) {
  LanguageModel model({.vocab_size = 5,
                       .stack = {.layer = {.d_model = 4, .dim_feedforward = 4}},
                       .causal = false,
                       .pooler = true});
  std::vector<float> y(2 * 5, 77.0F), pooled(4, 77.0F);
  const std::vector<std::int64_t> ids{1, 2};
  Interventions cut;
  cut.patch("pooler.output", OwnedTensor({3}));
  attn::LanguageModelCall call;
  call.pooled = attn::Tensor(pooled.data(), {4});
  call.interventions = &cut;
  EXPECT_EQ(error_of([&] { model.forward(ids, attn::Tensor(y.data(), {2, 5}), call); }),
            "shape_mismatch: pooler.output: got shape (3), needs shape (4)");
  EXPECT_THAT(y, Each(77.0F));
  EXPECT_THAT(pooled, Each(77.0F));
}

TEST(ModelInterventionsErrorTest, numbers_that_a_patch_makes_infinite_are_an_error) {
  const Recorded gpt = gpt2();
  Interventions cut;
  OwnedTensor row({gpt.model.d_model()});
  row.values()[0] = INFINITY;
  cut.patch("encoder.layers.0.resid_mid", row, {.position = 0});
  OwnedTensor logits({1, gpt.model.options().vocab_size});
  EXPECT_THAT(
      error_of([&] { gpt.model.forward(gpt.ids, logits, {.interventions = &cut}); }),
      ::testing::StartsWith("unsupported: encoder.layers.0: got an output that is infinite"));
}

}  // namespace
