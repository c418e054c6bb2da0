// Loads encoder–decoder models of every recognised family from files in their published form, and
// compares their results with PyTorch's in double precision.

#include "attn/models/encoder_decoder_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attn/models/load_encoder_decoder.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "models/is_recorded.hpp"
#include "models/recorded_models.hpp"
#include "training/values.hpp"

namespace {

using attn::EncoderDecoderModel;
using attn::Intermediates;
using attn::OwnedTensor;
using attn::Safetensors;
using attn_test::error_of;
using attn_test::is_recorded;
using attn_test::whole_numbers;
using ::testing::HasSubstr;

const char* const kModels[] = {"t5", "t5_gated", "marian", "marian_table"};

EncoderDecoderModel load(const std::string& name) {
  return attn::load_encoder_decoder(attn_test::recorded_folder(name));
}

using EncoderDecoderModelTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(EncoderDecoderModelTest);

TEST_P(EncoderDecoderModelTest, every_family_matches_pytorch) {
  for (const std::string name : kModels) {
    SCOPED_TRACE(name);
    const Safetensors want = attn_test::recorded_results(name);
    const EncoderDecoderModel model = load(name);
    const std::vector<std::int64_t> ids = whole_numbers(want, "ids");
    const std::vector<std::int64_t> targets = whole_numbers(want, "targets");
    EXPECT_EQ(model.options().start_id, targets[0]);

    // The name of an intermediate, and the name of the recorded tensor.
    std::vector<std::pair<std::string, std::string>> encoder, decoder;
    for (std::size_t l = 0; l < model.encoder().layers().size(); ++l) {
      const std::string n = std::to_string(l);
      encoder.push_back({"encoder.layers." + n + ".self_attn.weights", "encoder_weights." + n});
    }
    for (std::size_t l = 0; l < model.decoder().layers().size(); ++l) {
      const std::string n = std::to_string(l), layer = "decoder.layers." + n;
      decoder.push_back({layer + ".self_attn.weights", "self_weights." + n});
      decoder.push_back({layer + ".multihead_attn.weights", "cross_weights." + n});
    }
    const auto requested = [](const auto& pairs) {
      std::vector<std::string> names;
      for (const auto& pair : pairs) names.push_back(pair.first);
      return Intermediates(names);
    };
    Intermediates encoded = requested(encoder), decoded = requested(decoder);
    OwnedTensor memory({std::ssize(ids), model.d_model()});
    OwnedTensor hidden({std::ssize(targets), model.d_model()});
    OwnedTensor logits({std::ssize(targets), model.options().vocab_size});
    model.encode(ids, memory, {.intermediates = &encoded}, context());
    model.decode(targets, memory, logits, {.hidden = hidden, .intermediates = &decoded}, context());
    EXPECT_TRUE(is_recorded(memory, want, "memory"));
    EXPECT_TRUE(is_recorded(hidden, want, "hidden"));
    EXPECT_TRUE(is_recorded(logits, want, "logits"));
    for (const auto& [shown, recorded] : encoder) {
      EXPECT_TRUE(is_recorded(encoded[shown], want, recorded));
    }
    for (const auto& [shown, recorded] : decoder) {
      EXPECT_TRUE(is_recorded(decoded[shown], want, recorded));
    }
  }
}

TEST_P(EncoderDecoderModelTest, a_state_continues_to_the_same_logits) {
  for (const std::string name : kModels) {
    SCOPED_TRACE(name);
    const Safetensors want = attn_test::recorded_results(name);
    const EncoderDecoderModel model = load(name);
    const std::vector<std::int64_t> ids = whole_numbers(want, "ids");
    const std::vector<std::int64_t> targets = whole_numbers(want, "targets");
    OwnedTensor memory({std::ssize(ids), model.d_model()});
    model.encode(ids, memory, {}, context());
    attn::TransformerDecoderState state = model.start(memory, 0, context());
    std::int64_t at = 0;
    for (const std::int64_t count : {1, 1, 3, 1, 1, 2}) {
      OwnedTensor logits({1, model.options().vocab_size});
      model.decode(attn::IdView(targets).slice(0, at, at + count), {}, logits, {.state = &state},
                   context());
      at += count;
      EXPECT_TRUE(is_recorded(logits, want, "logits", at - 1));
    }
    EXPECT_EQ(at, std::ssize(targets));
    EXPECT_EQ(state.length(), at);
  }
}

TEST_P(EncoderDecoderModelTest, greedy_generation_matches_pytorch) {
  for (const std::string name : kModels) {
    SCOPED_TRACE(name);
    const Safetensors want = attn_test::recorded_results(name);
    const EncoderDecoderModel model = load(name);
    const std::vector<std::int64_t> ids = whole_numbers(want, "ids");
    const std::vector<std::int64_t> said = whole_numbers(want, "greedy");
    EXPECT_EQ(model.generate(ids, {.max_new_tokens = 8}, context()), said);
    EXPECT_THAT(model.generate(ids, {.max_new_tokens = 8, .stop_ids = {said[0]}}, context()),
                ::testing::ElementsAre(said[0]));
  }
}

TEST_P(EncoderDecoderModelTest, padding_changes_nothing) {
  for (const std::string name : kModels) {
    SCOPED_TRACE(name);
    const Safetensors want = attn_test::recorded_results(name);
    const EncoderDecoderModel model = load(name);
    const std::vector<std::int64_t> ids = whole_numbers(want, "ids");
    const std::vector<std::int64_t> targets = whole_numbers(want, "targets");
    const std::int64_t n = std::ssize(ids), m = std::ssize(targets);
    // The second sentence is three tokens shorter than the first.
    std::vector<std::int64_t> sources = ids, both = targets;
    sources.insert(sources.end(), ids.begin(), ids.end());
    both.insert(both.end(), targets.begin(), targets.end());
    const std::vector<std::int64_t> lengths = {n, n - 3};
    OwnedTensor memory({2, n, model.d_model()});
    OwnedTensor logits({2, m, model.options().vocab_size});
    model.encode({sources.data(), {2, n}}, memory, {.attention = {.valid_lens = lengths}},
                 context());
    model.decode({both.data(), {2, m}}, memory, logits,
                 {.cross_attention = {.valid_lens = lengths}}, context());
    EXPECT_TRUE(is_recorded(logits.view().select(0, 0), want, "logits"));

    OwnedTensor alone({n - 3, model.d_model()}), expected({m, model.options().vocab_size});
    model.encode(attn::IdView(ids).slice(0, 0, n - 3), alone, {}, context());
    model.decode(targets, alone, expected, {}, context());
    EXPECT_TRUE(attn_test::same_bits(attn_test::values(logits.view().select(0, 1)),
                                     attn_test::values(expected)));
  }
}

TEST(EncoderDecoderModel, a_failed_call_leaves_the_state_unchanged) {
  const EncoderDecoderModel model = load("t5");
  const std::vector<std::int64_t> ids = {1, 2, 3};
  OwnedTensor memory({3, model.d_model()}), logits({1, model.options().vocab_size});
  model.encode(ids, memory);
  attn::TransformerDecoderState state = model.start(memory);
  model.decode(ids, {}, logits, {.state = &state});
  EXPECT_NE(error_of([&] { model.decode(std::vector{29}, {}, logits, {.state = &state}); }),
            "nothing");
  EXPECT_EQ(state.length(), 3);
  EXPECT_THAT(error_of([&] { model.decode(ids, memory, logits, {.state = &state}); }),
              HasSubstr("memory"));
  EXPECT_EQ(state.length(), 3);
}

TEST(EncoderDecoderModel, wrong_shapes_and_options_are_rejected) {
  const EncoderDecoderModel model = load("t5");
  const std::vector<std::int64_t> ids = {1, 2, 3};
  OwnedTensor memory({3, model.d_model()}), logits({4, model.options().vocab_size});
  EXPECT_THAT(error_of([&] { model.encode(ids, logits); }), HasSubstr("memory: got shape"));
  EXPECT_THAT(error_of([&] { model.decode(ids, memory, logits); }),
              HasSubstr("logits: got shape (4, 29), needs the same batch as the tokens and at most "
                        "3 rows"));
  EXPECT_THAT(error_of([&] { model.decode(ids, {}, {}); }), HasSubstr("memory: got"));
  EXPECT_THAT(error_of([&] { model.generate({ids.data(), {1, 3}}); }), HasSubstr("rank 1 (N)"));
  attn::EncoderDecoderOptions options = model.options();
  options.start_id = 29;
  EXPECT_THAT(error_of([&] { EncoderDecoderModel other(options); }),
              HasSubstr("start_id: got 29, needs an id from 0 to 28"));
  options.start_id = 0;
  options.max_positions = 5;
  options.sinusoidal.emplace();
  EXPECT_THAT(error_of([&] { EncoderDecoderModel other(options); }), HasSubstr("sinusoidal: got"));
  options.sinusoidal.reset();
  options.decoder.layer.d_model = 20;
  EXPECT_THAT(error_of([&] { EncoderDecoderModel other(options); }),
              HasSubstr("decoder: got d_model 20, needs 18, as in the encoder"));
}

TEST(EncoderDecoderModel, packed_sequences_need_a_model_without_added_positions) {
  const std::vector<std::int64_t> ids = {1, 2, 3, 4, 5}, starts = {0, 3, 5};
  attn::EncodeCall call;
  call.attention.cu_seqlens = starts;
  const EncoderDecoderModel t5 = load("t5"), marian = load("marian");
  OwnedTensor packed({5, t5.d_model()}), second({2, t5.d_model()}), other({5, marian.d_model()});
  t5.encode(ids, packed, call);
  t5.encode({ids.data() + 3, {2}}, second);
  for (std::int64_t c = 0; c < t5.d_model(); ++c) EXPECT_NEAR(packed(4, c), second(1, c), 1e-5);
  EXPECT_THAT(error_of([&] { marian.encode(ids, other, call); }),
              HasSubstr("cu_seqlens: got some sequences, needs none, because this model adds "
                        "positions to its tokens"));
}

}  // namespace
