// Tests layers whose inputs are packed sequences: the options cu_seqlens and cu_seqlens_k of
// attention. Each sequence must get the result of a separate call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "attn/layers/multi_head_attention.hpp"
#include "attn/layers/transformer_encoder.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"

namespace {

using attn::ConstTensor;
using attn::MultiHeadAttention;
using attn::OwnedTensor;
using attn::Tensor;
using attn::TransformerEncoder;
using attn_test::error_of;
using attn_test::Random;
using attn_test::same_bits;

using PackedSequencesTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(PackedSequencesTest);

constexpr std::int64_t kWidth = 24;
const std::vector<std::int32_t> kStarts{0, 9, 9, 74, 76};
const std::vector<std::int32_t> kKeyStarts{0, 5, 8, 80, 93};

std::vector<float> values(const ConstTensor& x) {
  return {x.data(), x.data() + x.size(0) * x.size(1)};
}

/// Rows of sequence s.
ConstTensor rows(const ConstTensor& x, const std::vector<std::int32_t>& starts, std::size_t s) {
  return x.slice(0, starts[s], starts[s + 1]);
}

OwnedTensor random_rows(std::int64_t count, Random& random) {
  OwnedTensor x({count, kWidth});
  for (float& value : x.values()) value = random.normal();
  return x;
}

MultiHeadAttention make_attention() {
  MultiHeadAttention layer({.d_model = kWidth,
                            .num_heads = 4,
                            .num_kv_heads = 2,
                            .bias = true,
                            .positions = {.rotary = {{}}, .alibi = true}});
  layer.initialize_xavier(3);
  return layer;
}

TEST_P(PackedSequencesTest, rotary_positions_and_causal_order_restart_in_each_sequence) {
  Random random;
  const MultiHeadAttention layer = make_attention();
  const OwnedTensor x = random_rows(kStarts.back(), random);
  OwnedTensor packed(x.shape());
  attn::AttentionOptions options;
  options.causal = true;
  options.cu_seqlens = kStarts;
  layer.forward(x, x, x, packed, {.attention = options}, context());
  for (std::size_t s = 0; s + 1 < kStarts.size(); ++s) {
    const ConstTensor in = rows(x, kStarts, s);
    OwnedTensor alone(in.shape());
    layer.forward(in, in, in, alone, {.attention = {.causal = true}}, context());
    EXPECT_TRUE(same_bits(values(rows(packed, kStarts, s)), values(alone))) << "sequence " << s;
  }
}

TEST_P(PackedSequencesTest, cross_attention_aligns_each_sequence) {
  Random random;
  const MultiHeadAttention layer = make_attention();
  const OwnedTensor query = random_rows(kStarts.back(), random);
  const OwnedTensor key = random_rows(kKeyStarts.back(), random);
  OwnedTensor packed(query.shape());
  attn::AttentionOptions options;
  options.causal = true;
  options.diagonal = attn::Diagonal::bottom_right();
  attn::AttentionOptions sequences = options;
  sequences.cu_seqlens = kStarts;
  sequences.cu_seqlens_k = kKeyStarts;
  layer.forward(query, key, key, packed, {.attention = sequences}, context());
  for (std::size_t s = 0; s + 1 < kStarts.size(); ++s) {
    const ConstTensor q = rows(query, kStarts, s), k = rows(key, kKeyStarts, s);
    OwnedTensor alone(q.shape());
    layer.forward(q, k, k, alone, {.attention = options}, context());
    EXPECT_TRUE(same_bits(values(rows(packed, kStarts, s)), values(alone))) << "sequence " << s;
  }
}

TEST_P(PackedSequencesTest, given_positions_replace_the_positions_in_each_sequence) {
  Random random;
  // Scaling follows the number of keys in each sequence, and one sequence exceeds the trained
  // length.
  MultiHeadAttention layer(
      {.d_model = kWidth,
       .num_heads = 4,
       .positions = {.rotary = {{.scaling = attn::DynamicNtkRotaryScaling{2, 40}}}}});
  layer.initialize_xavier(3);
  const OwnedTensor x = random_rows(kStarts.back(), random);
  std::vector<double> positions;
  for (std::size_t s = 0; s + 1 < kStarts.size(); ++s) {
    for (std::int32_t i = kStarts[s]; i < kStarts[s + 1]; ++i) positions.push_back(i - kStarts[s]);
  }
  attn::AttentionOptions options;
  options.cu_seqlens = kStarts;
  OwnedTensor restarted(x.shape()), given(x.shape());
  layer.forward(x, x, x, restarted, {.attention = options}, context());
  layer.forward(x, x, x, given,
                {.attention = options, .positions = {positions.data(), {kStarts.back()}}},
                context());
  EXPECT_TRUE(same_bits(values(restarted), values(given)));
}

TEST_P(PackedSequencesTest, an_encoder_gives_each_sequence_the_bits_and_gradients_of_its_own_call) {
  Random random;
  TransformerEncoder encoder({.layer = {.d_model = kWidth,
                                        .num_heads = 4,
                                        .dim_feedforward = 40,
                                        .positions = {.rotary = {{}}}},
                              .num_layers = 2});
  encoder.initialize_xavier(5);
  const OwnedTensor x = random_rows(kStarts.back(), random);
  const OwnedTensor gradient = random_rows(kStarts.back(), random);
  attn::AttentionOptions options;
  options.cu_seqlens = kStarts;
  OwnedTensor packed(x.shape());
  encoder.forward(x, packed, {.attention = options}, context());
  attn::Tape tape(context());
  const attn::Variable in = tape.variable(x);
  const attn::Variable out = encoder.forward(in, {.attention = options});
  EXPECT_TRUE(same_bits(values(out.value()), values(packed)));
  tape.backward(out, gradient);
  for (std::size_t s = 0; s + 1 < kStarts.size(); ++s) {
    SCOPED_TRACE(s);
    const ConstTensor own = rows(x, kStarts, s);
    if (own.size(0) == 0) continue;
    attn::Tape separate(context());
    const attn::Variable own_in = separate.variable(own);
    const attn::Variable own_out = encoder.forward(own_in);
    separate.backward(own_out, rows(gradient, kStarts, s));
    EXPECT_TRUE(same_bits(values(rows(packed, kStarts, s)), values(own_out.value())));
    EXPECT_TRUE(same_bits(values(rows(in.gradient(), kStarts, s)), values(own_in.gradient())));
  }
}

TEST_P(PackedSequencesTest, caches_are_rejected) {
  Random random;
  const MultiHeadAttention layer = make_attention();
  const OwnedTensor x = random_rows(kStarts.back(), random);
  OwnedTensor output(x.shape());
  attn::KeyValueCache cache = layer.make_cache(1);
  attn::AttentionOptions options;
  options.cu_seqlens = kStarts;
  const char* const error =
      "invalid_argument: cu_seqlens: got some sequences, needs none in a call with a cache";
  EXPECT_EQ(error_of([&] {
              layer.forward(x, x, x, output, {.attention = options, .cache = &cache}, context());
            }),
            error);
  EXPECT_EQ(cache.length(), 0);
  layer.append(x, x, cache, context());
  EXPECT_EQ(error_of([&] { layer.attend(x, cache, output, options, context()); }), error);
}

}  // namespace
