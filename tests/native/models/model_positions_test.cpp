// Tests token positions in language models, and how the models handle numbers beyond the range of
// float32.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/models/language_model.hpp"
#include "attn/owned_tensor.hpp"
#include "compare.hpp"
#include "models/changed_models.hpp"

namespace {

using attn::LanguageModel;
using attn::LanguageModelCall;
using attn::OwnedTensor;
using attn_test::ChangedTensors;
using attn_test::error_of;
using attn_test::load_recorded;
using attn_test::recorded_files;
using attn_test::with;
using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::vector<float> logits_for(const LanguageModel& model, const std::vector<std::int64_t>& ids,
                              const LanguageModelCall& call = {}) {
  attn::OwnedTensor logits({std::ssize(ids), model.options().vocab_size});
  model.forward(ids, logits, call);
  return {logits.values().begin(), logits.values().end()};
}

attn::TensorView<const double> view(const std::vector<double>& positions) {
  return {positions.data(), {std::ssize(positions)}};
}

TEST(ModelPositions, a_batch_padded_on_the_left_equals_its_texts) {
  for (const char* name : {"gpt2", "gpt_neox", "gpt_neo", "opt", "opt_projected", "llama", "qwen3",
                           "gemma3", "attn_sinusoidal"}) {
    SCOPED_TRACE(name);
    const LanguageModel model = load_recorded(name);
    const std::int64_t v = model.options().vocab_size;
    const std::vector<std::int64_t> ids{0, 0, 5, 3, 7, 1, 2, 8, 4, 6};
    const std::vector<double> positions{0, 0, 0, 1, 2, 0, 1, 2, 3, 4};
    const std::vector<std::uint8_t> mask{0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    LanguageModelCall call;
    call.attention.mask = {mask.data(), {2, 1, 1, 5}};
    call.positions = {positions.data(), {2, 5}};
    attn::OwnedTensor logits({2, 5, v});
    model.forward({ids.data(), {2, 5}}, logits, call);
    const std::vector<float> short_text = logits_for(model, {5, 3, 7});
    const std::vector<float> long_text = logits_for(model, {1, 2, 8, 4, 6});
    for (std::int64_t j = 0; j < v; ++j) {
      for (std::int64_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(logits(0, i + 2, j), short_text[static_cast<std::size_t>(i * v + j)], 1e-5);
      }
      for (std::int64_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(logits(1, i, j), long_text[static_cast<std::size_t>(i * v + j)], 1e-5);
      }
    }
  }
}

TEST(ModelPositions, positions_in_order_equal_the_default) {
  for (const char* name : {"gpt2", "bert", "roberta", "distilbert"}) {
    SCOPED_TRACE(name);
    const LanguageModel model = load_recorded(name);
    const std::vector<std::int64_t> ids{4, 9, 5, 3};
    const std::vector<double> positions{0, 1, 2, 3};
    LanguageModelCall call;
    call.positions = view(positions);
    EXPECT_EQ(logits_for(model, ids, call), logits_for(model, ids));
  }
}

TEST(ModelPositions, packed_texts_equal_their_own_calls) {
  const std::vector<std::int64_t> packed{4, 9, 5, 3, 7}, first{4, 9, 5}, second{3, 7};
  const std::vector<std::int64_t> starts{0, 3, 5};
  const std::vector<double> restarted{0, 1, 2, 0, 1};
  LanguageModelCall call;
  call.attention.cu_seqlens = starts;
  for (const char* name : {"gpt2", "roberta", "qwen3"}) {
    SCOPED_TRACE(name);
    const LanguageModel model = load_recorded(name);
    std::vector<float> want = logits_for(model, first);
    const std::vector<float> more = logits_for(model, second);
    want.insert(want.end(), more.begin(), more.end());
    call.positions = view(restarted);
    EXPECT_THAT(logits_for(model, packed, call), Pointwise(FloatNear(1e-5F), want));
    call.positions = {};
    if (std::string_view(name) == "qwen3") {
      EXPECT_THAT(logits_for(model, packed, call), Pointwise(FloatNear(1e-5F), want));
    } else {
      EXPECT_THAT(error_of([&] { logits_for(model, packed, call); }),
                  HasSubstr("cu_seqlens: got some sequences without positions, needs positions "
                            "that restart in each sequence"));
    }
  }
  const LanguageModel bert = load_recorded("bert");
  OwnedTensor pooled({bert.d_model()});
  call.positions = view(restarted);
  call.pooled = pooled;
  EXPECT_THAT(error_of([&] { logits_for(bert, packed, call); }),
              HasSubstr("needs none, because the pooler reads only the first token"));
}

TEST(ModelPositions, a_sinusoidal_encoding_takes_any_positions) {
  const LanguageModel model = attn_test::load_from_memory(recorded_files("attn_sinusoidal"),
                                                          {.weights = attn::ElementType::kFloat32});
  const std::vector<double> positions{2.5, -1, 1000};
  attn::Intermediates shown({"embedded"});
  LanguageModelCall call;
  call.positions = view(positions);
  call.intermediates = &shown;
  const std::vector<std::int64_t> ids{4, 9, 5};
  logits_for(model, ids, call);
  const attn::ConstTensor words = model.parameter("embedding.weight");
  const std::int64_t width = model.d_model();
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t c = 0; c < width; ++c) {
      const double angle = positions[static_cast<std::size_t>(i)] /
                           std::pow(model.options().sinusoidal->base,
                                    static_cast<double>(c / 2 * 2) / static_cast<double>(width));
      const double encoding = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
      const double word = words(ids[static_cast<std::size_t>(i)], c);
      const double scale = model.options().scale_embedding ? std::sqrt(width) : 1;
      EXPECT_NEAR(shown["embedded"](i, c), scale * word + encoding, 1e-6) << i << ", " << c;
    }
  }
  const std::vector<double> two{1, 2};
  call.positions = view(two);
  EXPECT_THAT(error_of([&] { logits_for(model, ids, call); }),
              HasSubstr("shape_mismatch: positions: got shape (2), needs"));
}

TEST(ModelPositions, a_cache_continues_from_explicit_positions) {
  const LanguageModel model = load_recorded("gpt2");
  std::vector<attn::KeyValueCache> caches = model.make_caches();
  const std::vector<double> first{3, 4}, second{5};
  LanguageModelCall whole, part;
  const std::vector<double> all{3, 4, 5};
  whole.positions = view(all);
  const std::vector<float> want = logits_for(model, {4, 9, 5}, whole);
  part.caches = caches;
  part.positions = view(first);
  logits_for(model, {4, 9}, part);
  part.positions = view(second);
  const std::vector<float> got = logits_for(model, {5}, part);
  for (std::size_t j = 0; j < got.size(); ++j) EXPECT_NEAR(got[j], want[2 * 29 + j], 1e-5);
}

TEST(ModelPositions, roberta_does_not_count_padding) {
  const LanguageModel model = attn_test::load_from_memory(recorded_files("roberta"),
                                                          {.weights = attn::ElementType::kFloat32});
  const std::int64_t v = model.options().vocab_size;
  const std::vector<std::int64_t> text{4, 9, 5};
  const std::vector<float> want = logits_for(model, text);
  for (const auto& [ids, first] :
       {std::pair{std::vector<std::int64_t>{1, 1, 4, 9, 5}, 2}, {{4, 9, 5, 1, 1}, 0}}) {
    std::vector<std::uint8_t> mask;
    for (const std::int64_t id : ids) mask.push_back(id != 1);
    LanguageModelCall call;
    call.attention.mask = {mask.data(), {1, 5}};
    const std::vector<float> got = logits_for(model, ids, call);
    for (std::size_t j = 0; j < want.size(); ++j) {
      EXPECT_NEAR(got[static_cast<std::size_t>(first * v) + j], want[j], 1e-5);
    }
  }
  // A padding token uses the row before the first token's row.
  const attn::ConstTensor table = model.parameter("positions.weight");
  attn::Intermediates shown({"embedded"});
  LanguageModelCall call;
  call.intermediates = &shown;
  logits_for(model, {1}, call);
  const attn::ConstTensor word = model.parameter("embedding.weight");
  const attn::ConstTensor type = model.parameter("token_types.weight");
  std::vector<float> sum;
  for (std::int64_t c = 0; c < model.d_model(); ++c) {
    sum.push_back(word(1, c) + table(1, c) + type(0, c));
  }
  double mean = 0, variance = 0;
  for (const float value : sum) mean += value / static_cast<double>(sum.size());
  for (const float value : sum) {
    variance += (value - mean) * (value - mean) / static_cast<double>(sum.size());
  }
  const attn::ConstTensor scale = model.parameter("embedding_norm.weight");
  const attn::ConstTensor shift = model.parameter("embedding_norm.bias");
  for (std::int64_t c = 0; c < model.d_model(); ++c) {
    const double want_here =
        (sum[static_cast<std::size_t>(c)] - mean) / std::sqrt(variance + 1e-5) * double{scale(c)} +
        double{shift(c)};
    EXPECT_NEAR(shown["embedded"](0, c), want_here, 1e-5);
  }
  EXPECT_EQ(*model.options().padding_id, 1);
  EXPECT_FALSE(load_recorded("bert").options().padding_id);
}

TEST(ModelPositions, positions_outside_a_table_are_rejected) {
  const LanguageModel model = load_recorded("gpt2");
  const auto error_at = [&](std::vector<double> positions) {
    return error_of([&] {
      LanguageModelCall call;
      call.positions = view(positions);
      logits_for(model, {4, 9}, call);
    });
  };
  EXPECT_THAT(error_at({0, 19}), HasSubstr("invalid_argument: positions: got 19, needs positions "
                                           "below 19, the length of the model's table"));
  EXPECT_THAT(error_at({0, -1}), HasSubstr("positions: got -1, needs whole numbers of at least 0"));
  EXPECT_THAT(error_at({0, 0.5}), HasSubstr("positions: got 0.5"));
  EXPECT_THAT(error_at({0, NAN}), HasSubstr("positions: got nan"));
  EXPECT_THAT(error_at({0, 1, 2}), HasSubstr("shape_mismatch: positions"));
  const LanguageModel roberta = load_recorded("roberta");
  EXPECT_THAT(error_of([&] { logits_for(roberta, std::vector<std::int64_t>(18, 5)); }),
              HasSubstr("positions below 17"));
  EXPECT_EQ(error_of([&] {
              std::vector<std::int64_t> padded(18, 5);
              padded[0] = 1;
              logits_for(roberta, padded);
            }),
            "nothing");
}

TEST(ModelOverflow, the_first_layer_beyond_float32_is_named) {
  const auto grown = [](const char* name, const std::string& tensor) {
    return attn_test::load_from_memory(with(name,
                                            [&](ChangedTensors& t) {
                                              for (float& value : t.at(tensor).values()) {
                                                value = 3e38F;
                                              }
                                            }),
                                       {});
  };
  const auto error_in = [](const LanguageModel& model) {
    return error_of([&] { logits_for(model, {4, 9, 5}); });
  };
  EXPECT_EQ(error_in(grown("gpt2", "h.1.mlp.c_fc.weight")),
            "unsupported: encoder.layers.1: got an output that is infinite or NaN, needs numbers "
            "within the range of float32; this is the model's first output outside that range");
  EXPECT_THAT(error_in(grown("gpt2", "h.0.attn.c_attn.weight")),
              HasSubstr("unsupported: encoder.layers.0: got"));
  EXPECT_THAT(error_in(grown("bert", "bert.encoder.layer.1.output.dense.weight")),
              HasSubstr("unsupported: encoder.layers.1: got"));
  EXPECT_EQ(error_in(load_recorded("gpt2")), "nothing");
}

TEST(ModelOverflow, outputs_and_caches_stay_as_they_were) {
  const LanguageModel model =
      attn_test::load_from_memory(with("gpt2",
                                       [](ChangedTensors& t) {
                                         // Token 7 is the only token whose numbers overflow.
                                         for (std::int64_t c = 0; c < 20; ++c)
                                           t.at("wte.weight")(7, c) = c % 2 ? 3e38F : -3e38F;
                                       }),
                                  {});
  std::vector<attn::KeyValueCache> caches = model.make_caches();
  LanguageModelCall call;
  call.caches = caches;
  logits_for(model, {4, 9}, call);
  attn::OwnedTensor logits({1, 29}), hidden({1, 20});
  std::ranges::fill(logits.values(), 5.0F);
  std::ranges::fill(hidden.values(), 5.0F);
  call.hidden = hidden;
  EXPECT_THAT(error_of([&] { model.forward(std::vector<std::int64_t>{7}, logits, call); }),
              HasSubstr("unsupported: encoder.layers.0"));
  EXPECT_THAT(logits.values(), ::testing::Each(5.0F));
  EXPECT_THAT(hidden.values(), ::testing::Each(5.0F));
  EXPECT_EQ(caches[0].length(), 2);
  call.hidden = {};
  EXPECT_EQ(error_of([&] { logits_for(model, {3}, call); }), "nothing");
}

TEST(ModelOverflow, vectors_that_are_not_finite_are_accepted) {
  const LanguageModel model = load_recorded("gpt2");
  std::vector<attn::KeyValueCache> caches = model.make_caches();
  attn::OwnedTensor x({2, 20}), logits({2, 29});
  x(1, 3) = NAN;
  LanguageModelCall call;
  call.caches = caches;
  model.forward(x, logits, call);
  EXPECT_TRUE(std::isfinite(logits(0, 0)));
  EXPECT_TRUE(std::isnan(logits(1, 0)));
  EXPECT_EQ(caches[1].length(), 2);
}

}  // namespace
