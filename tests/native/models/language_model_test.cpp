// Loads models of every recognised family from files in their published form, and compares their
// results with PyTorch's in double precision.

#include "attn/models/language_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/owned_tensor.hpp"
#include "every_instruction_set.hpp"
#include "models/is_recorded.hpp"
#include "models/recorded_models.hpp"

namespace {

using attn::Intermediates;
using attn::LanguageModel;
using attn::LanguageModelCall;
using attn::OwnedTensor;
using attn::Safetensors;
using attn_test::is_recorded;
using attn_test::RecordedModel;
using attn_test::whole_numbers;

using LanguageModelTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(LanguageModelTest);

TEST_P(LanguageModelTest, every_family_matches_pytorch) {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    SCOPED_TRACE(recorded.name);
    const Safetensors want = attn_test::recorded_results(recorded.name);
    const LanguageModel model =
        attn_test::load_from_memory(attn_test::recorded_files(recorded.name), recorded.hints);
    std::vector<std::string> names;
    for (std::size_t l = 0; l < model.encoder().layers().size(); ++l) {
      names.push_back("encoder.layers." + std::to_string(l) + ".self_attn.weights");
    }
    Intermediates shown(names);
    LanguageModelCall call;
    call.intermediates = &shown;

    const bool from_vectors = want.contains("x");
    const std::int64_t length = want.entry(from_vectors ? "x" : "ids").shape[0];
    OwnedTensor hidden({length, model.d_model()}), logits, pooled;
    call.hidden = hidden;
    if (model.options().output) logits = OwnedTensor({length, model.options().vocab_size});
    if (want.contains("pooled")) {
      pooled = OwnedTensor({model.d_model()});
      call.pooled = pooled;
    }
    if (from_vectors) {
      const OwnedTensor x({length, model.d_model()}, want.read("x"));
      model.forward(x, {}, call, context());
    } else {
      const std::vector<std::int64_t> ids = whole_numbers(want, "ids");
      std::vector<std::int64_t> types;
      if (want.contains("token_types")) types = whole_numbers(want, "token_types");
      if (!types.empty()) call.token_types = types;
      model.forward(ids, logits, call, context());
    }
    EXPECT_TRUE(is_recorded(hidden, want, "hidden"));
    for (std::size_t l = 0; l < names.size(); ++l) {
      EXPECT_TRUE(is_recorded(shown[names[l]], want, "weights." + std::to_string(l)));
    }
    EXPECT_EQ(want.contains("logits"), model.options().output);
    if (model.options().output) {
      EXPECT_TRUE(is_recorded(logits, want, "logits"));
    }
    if (want.contains("pooled")) {
      EXPECT_TRUE(is_recorded(pooled, want, "pooled"));
    }
  }
}

TEST_P(LanguageModelTest, a_cache_continues_to_the_same_logits) {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    // With dynamic scaling, a cached key keeps the rotation for the sequence length at the time it
    // was added, so logits computed with a cache may differ from the recorded logits.
    if (recorded.name == "llama_dynamic") continue;
    SCOPED_TRACE(recorded.name);
    const Safetensors want = attn_test::recorded_results(recorded.name);
    if (!want.contains("greedy")) continue;
    const LanguageModel model =
        attn_test::load_from_memory(attn_test::recorded_files(recorded.name), recorded.hints);
    const std::vector<std::int64_t> ids = whole_numbers(want, "ids");
    std::vector<attn::KeyValueCache> caches = model.make_caches();
    LanguageModelCall call;
    call.caches = caches;
    std::int64_t at = 0;
    for (const std::int64_t count : {4, 1, 1, 3, 1, 1, 1, 1}) {
      OwnedTensor logits({1, model.options().vocab_size});
      model.forward(attn::IdView(ids).slice(0, at, at + count), logits, call, context());
      at += count;
      EXPECT_TRUE(is_recorded(logits, want, "logits", at - 1));
    }
    EXPECT_EQ(at, std::ssize(ids));
  }
}

TEST_P(LanguageModelTest, greedy_generation_matches_pytorch) {
  for (const RecordedModel& recorded : attn_test::recorded_models()) {
    if (recorded.name == "llama_dynamic") continue;
    SCOPED_TRACE(recorded.name);
    const Safetensors want = attn_test::recorded_results(recorded.name);
    if (!want.contains("greedy")) continue;
    const LanguageModel model =
        attn_test::load_from_memory(attn_test::recorded_files(recorded.name), recorded.hints);
    const std::vector<std::int64_t> said = whole_numbers(want, "greedy");
    const std::vector<std::int64_t> prompt(said.begin(), said.begin() + 4);
    const std::vector<std::int64_t> rest(said.begin() + 4, said.end());
    EXPECT_EQ(model.generate(prompt, {.max_new_tokens = 8}, context()), rest);
    EXPECT_THAT(model.generate(prompt, {.max_new_tokens = 8, .stop_ids = {rest[0]}}, context()),
                ::testing::ElementsAre(rest[0]));
  }
}

}  // namespace
