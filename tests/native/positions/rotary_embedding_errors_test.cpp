// Error messages of RotaryEmbedding and apply_rotary_embedding().

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "attn/positions/rotary_embedding.hpp"
#include "compare.hpp"
#include "shape.hpp"

namespace {

using attn::RotaryEmbedding;
using attn::RotaryEmbeddingOptions;
using attn::RotaryPositions;
using attn_test::error_of;
using attn_test::Shape;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RotaryEmbeddingErrorTest, options_are_checked) {
  const auto make = [](const RotaryEmbeddingOptions& options) {
    return error_of([&] { RotaryEmbedding rotary(options); });
  };
  EXPECT_EQ(make({}), "invalid_argument: rotary_dim: got 0, needs an even number of at least 2");
  EXPECT_THAT(make({.rotary_dim = 7}), StartsWith("invalid_argument: rotary_dim: got 7"));
  EXPECT_THAT(make({.rotary_dim = std::int64_t{1} << 62}), StartsWith("size_overflow: rotary_dim"));
  EXPECT_THAT(make({.rotary_dim = 4, .base = 0}), StartsWith("invalid_argument: base: got 0"));
  EXPECT_EQ(make({.rotary_dim = 4, .frequencies = {1, 2, 3}}),
            "shape_mismatch: frequencies: got length 3, needs 2, one for each pair");
  EXPECT_THAT(make({.rotary_dim = 2, .frequencies = {std::nan("")}}),
              StartsWith("invalid_argument: frequencies: got nan"));
  const auto scaled = [&](const attn::RotaryScaling& scaling, double base = 10000) {
    return make({.rotary_dim = 8, .base = base, .scaling = scaling});
  };
  EXPECT_EQ(scaled(attn::LinearRotaryScaling{.factor = 0}),
            "invalid_argument: scaling.factor: got 0, needs a finite number above 0");
  EXPECT_THAT(scaled(attn::LinearRotaryScaling{.factor = 1e-200}),
              StartsWith("invalid_argument: frequencies: got 1e+200"));
  EXPECT_THAT(scaled(attn::DynamicNtkRotaryScaling{.factor = HUGE_VAL}),
              StartsWith("invalid_argument: scaling.factor: got inf"));
  EXPECT_EQ(scaled(attn::DynamicNtkRotaryScaling{.max_position_embeddings = 0}),
            "invalid_argument: scaling.max_position_embeddings: got 0, needs 1 or more");
  const auto long_rope = [&](attn::LongRotaryScaling rule) {
    if (rule.short_factor.empty()) rule.short_factor = {1, 1, 1, 1};
    if (rule.long_factor.empty()) rule.long_factor = {1, 1, 1, 1};
    return scaled(rule);
  };
  EXPECT_EQ(long_rope({}), "nothing");
  EXPECT_EQ(long_rope({.short_factor = {1, 2, 3}}),
            "shape_mismatch: scaling.short_factor: got length 3, needs 4, one for each pair");
  EXPECT_EQ(long_rope({.long_factor = {1, 2, 0, 1}}),
            "invalid_argument: scaling.long_factor: got 0, needs a finite number above 0");
  EXPECT_THAT(long_rope({.original_max_position_embeddings = 0}),
              HasSubstr("scaling.original_max_position_embeddings: got 0"));
  EXPECT_THAT(long_rope({.original_max_position_embeddings = 1, .factor = 2}),
              HasSubstr("attention_factor: got inf"));
  EXPECT_THAT(long_rope({.attention_factor = -1}), HasSubstr("scaling.attention_factor: got -1"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.factor = -1}), HasSubstr("scaling.factor: got -1"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.original_max_position_embeddings = 0}),
              HasSubstr("scaling.original_max_position_embeddings: got 0"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.attention_factor = 0}),
              HasSubstr("scaling.attention_factor: got 0"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.beta_slow = 0}),
              HasSubstr("scaling.beta_slow: got 0"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.beta_fast = std::nan("")}),
              HasSubstr("scaling.beta_fast: got nan"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.beta_fast = 1, .beta_slow = 2}),
              HasSubstr("scaling.beta_fast: got 1, needs at least beta_slow (2)"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.mscale = HUGE_VAL}),
              HasSubstr("scaling.mscale: got inf"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.mscale_all_dim = HUGE_VAL}),
              HasSubstr("scaling.mscale_all_dim: got inf"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{}, 1),
              HasSubstr("base: got 1, needs more than 1 with YaRN"));
  EXPECT_THAT(scaled(attn::YarnRotaryScaling{.factor = 4, .mscale = -9, .mscale_all_dim = 1}),
              HasSubstr("attention_factor: got -"));
  EXPECT_THAT(scaled(attn::Llama3RotaryScaling{.low_freq_factor = 0}),
              HasSubstr("scaling.low_freq_factor: got 0"));
  EXPECT_THAT(scaled(attn::Llama3RotaryScaling{.high_freq_factor = HUGE_VAL}),
              HasSubstr("scaling.high_freq_factor: got inf"));
  EXPECT_EQ(scaled(attn::Llama3RotaryScaling{.low_freq_factor = 4}),
            "invalid_argument: scaling.high_freq_factor: got 4, needs more than "
            "low_freq_factor (4)");
  EXPECT_THAT(scaled(attn::Llama3RotaryScaling{.original_max_position_embeddings = -1}),
              HasSubstr("scaling.original_max_position_embeddings: got -1"));
}

TEST(RotaryEmbeddingErrorTest, calls_name_the_argument_and_what_it_needs) {
  std::vector<float> memory(64, 7.0F);
  float* p = memory.data();
  const RotaryEmbedding rotary({.rotary_dim = 4});
  const std::vector<double> numbers(8);
  const auto call = [&](const RotaryPositions& positions) {
    return error_of([&] { rotary.forward({p, {2, 3, 4}}, {p + 32, {2, 3, 4}}, positions); });
  };
  EXPECT_EQ(error_of([&] { rotary.forward({p, {4}}, {p, {4}}); }),
            "shape_mismatch: x: got shape (4), needs (N, D), (B, N, D) or (B, H, N, D)");
  EXPECT_EQ(error_of([&] { rotary.forward({p, {2, 3}}, {p, {2, 3}}); }),
            "shape_mismatch: x: got shape (2, 3), needs at least 4 columns in its last "
            "dimension, because that many are rotated");
  EXPECT_EQ(error_of([&] { rotary.forward({p, {2, 4}}, {p + 32, {3, 4}}); }),
            "shape_mismatch: output: got shape (3, 4), needs shape (2, 4)");
  EXPECT_EQ(error_of([&] { rotary.forward({nullptr, {2, 4}}, {p + 32, {2, 4}}); }),
            "invalid_argument: x: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { rotary.forward({p, {2, 4}}, {nullptr, {2, 4}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(call({.start = 0x1p54}), StartsWith("invalid_argument: start: got"));
  EXPECT_THAT(call({.start = 0x1p53}),
              StartsWith("invalid_argument: start: got the last position, "));
  EXPECT_EQ(call({.positions = {numbers.data(), {2}}}),
            "shape_mismatch: positions: got shape (2), needs shape (3)");
  EXPECT_EQ(call({.positions = {numbers.data(), {1, 3}}}),
            "shape_mismatch: positions: got shape (1, 3), needs shape (2, 3)");
  EXPECT_EQ(call({.positions = {nullptr, {3}}}),
            "invalid_argument: positions: got a null pointer, needs data");
  const std::vector<double> wrong{0, std::nan(""), 0};
  EXPECT_THAT(call({.positions = {wrong.data(), {3}}}), HasSubstr("positions: got nan"));
  EXPECT_THAT(call({.sequence_length = -1}), HasSubstr("sequence_length: got -1"));
  EXPECT_EQ(error_of([&] { rotary.tables({p, {3, 4}}, {p, {3, 4}}); }),
            "shape_mismatch: cos: got shape (3, 4), needs shape (any, 2)");
  EXPECT_EQ(error_of([&] { rotary.tables({p, {1, 3, 4}}, {p, {3, 4}}); }),
            "shape_mismatch: cos: got shape (1, 3, 4), needs shape (any, any, 2)");
  EXPECT_EQ(error_of([&] { rotary.tables({p, {3, 2}}, {p + 32, {4, 2}}); }),
            "shape_mismatch: sin: got shape (4, 2), needs shape (3, 2)");
  EXPECT_EQ(error_of([&] { rotary.tables({p, {3, 2}}, {nullptr, {3, 2}}); }),
            "invalid_argument: sin: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

TEST(RotaryEmbeddingErrorTest, caches_are_checked) {
  std::vector<float> memory(128, 7.0F);
  float* p = memory.data();
  const auto call = [&](const Shape& cos, const Shape& sin,
                        const attn::RotaryCacheOptions& options = {}) {
    return error_of([&] {
      attn::apply_rotary_embedding({p, {2, 3, 4}}, {p, std::span<const std::int64_t>(cos)},
                                   {p, std::span<const std::int64_t>(sin)}, {p + 64, {2, 3, 4}},
                                   options);
    });
  };
  EXPECT_EQ(call({2, 2}, {2, 2}),
            "shape_mismatch: cos_cache: got shape (2, 2), needs shape (2, 3, rotary_dim/2) or (3 "
            "or more, rotary_dim/2) if there are no position_ids");
  EXPECT_THAT(call({1, 3, 2}, {1, 3, 2}), StartsWith("shape_mismatch: cos_cache: got shape (1,"));
  EXPECT_THAT(call({2, 3, 0}, {2, 3, 0}), StartsWith("shape_mismatch: cos_cache: got shape (2,"));
  EXPECT_EQ(call({3, 2}, {3, 1}),
            "shape_mismatch: sin_cache: got shape (3, 1), needs shape (3, 2)");
  EXPECT_THAT(call({3, 3}, {3, 3}),
              StartsWith("shape_mismatch: x: got shape (2, 3, 4), needs at least 6 columns"));
  EXPECT_EQ(call({3, 2}, {3, 2}, {.rotary_dim = 2}),
            "shape_mismatch: cos_cache: got shape (3, 2), needs shape (2, 3, 1) or (3 or more, 1) "
            "if there are no position_ids");
  EXPECT_THAT(call({3, 2}, {3, 2}, {.rotary_dim = 3}), HasSubstr("rotary_dim: got 3"));
  const std::vector<std::int64_t> ids{0, 9, 10};
  EXPECT_EQ(call({10, 2}, {10, 2}, {.position_ids = {ids.data(), {3}}}),
            "invalid_argument: position_ids: got 10, needs the index of a row of the caches, "
            "from 0 to 9");
  EXPECT_THAT(call({10, 2}, {10, 2}, {.position_ids = {ids.data(), {1, 3}}}),
              StartsWith("shape_mismatch: position_ids: got shape (1, 3)"));
  EXPECT_EQ(call({1, 10, 2}, {1, 10, 2}, {.position_ids = {ids.data(), {3}}}),
            "shape_mismatch: cos_cache: got shape (1, 10, 2), needs shape (any, rotary_dim/2)");
  EXPECT_EQ(call({10, 2}, {10, 2}, {.position_ids = {nullptr, {3}}}),
            "invalid_argument: position_ids: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
