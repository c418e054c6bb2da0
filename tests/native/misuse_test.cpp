// Tests misuse of all entry points: each allocation fails once, sizes overflow, and outputs overlap
// inputs. Invalid ranks, sizes, lengths and null pointers are tested with each function.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/attn.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"

namespace {

using attn::ConstTensor;
using attn::Tensor;
using attn_test::error_of;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::StartsWith;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
constexpr float kUnset = -12345.0F;

/// A call to an entry point that writes an output of shape `shape`.
struct Call {
  const char* name;
  std::function<void(const Tensor& output, attn::Context&)> run;
  std::array<std::int64_t, 2> shape{6, 8};
};

class AllocationFailureTest : public ::testing::TestWithParam<int> {
 protected:
  static const std::vector<Call>& calls();
};

const std::vector<Call>& AllocationFailureTest::calls() {
  static std::vector<float> memory(6 * 8, 0.5F);
  static const ConstTensor x(memory.data(), {6, 8});
  static const ConstTensor square = ConstTensor(memory.data(), {6, 6});
  static const auto with_xavier = [](auto layer) {
    layer.initialize_xavier({.seed = 1});
    return layer;
  };
  static const attn::TransformerEncoderLayer encoder(
      with_xavier(attn::TransformerEncoderLayer({.d_model = 8, .num_heads = 2})));
  static const attn::TransformerDecoderLayer decoder(
      with_xavier(attn::TransformerDecoderLayer({.d_model = 8, .num_heads = 2})));
  static const attn::MultiHeadAttention attention({.d_model = 8, .num_heads = 2});
  static const attn::LayerNorm norm(8);
  static const attn::RmsNorm rms_norm(8);
  static const attn::AddNorm add_norm(8);
  static const attn::Linear linear(8, 8);
  static const attn::FeedForward feed_forward({.d_model = 8, .dim_feedforward = 16});
  static const attn::GatedFeedForward gated({.d_model = 8, .dim_feedforward = 16});
  static const attn::PositionalEncoding encoding;
  static const attn::LearnedPositionalEncoding learned(10, 8);
  static const attn::RotaryEmbedding rotary({.rotary_dim = 8});
  static const attn::AdditiveAttention additive(8, 8, 4);
  static const attn::Dropout dropout{.probability = 0.5F, .training = true};
  static const std::vector<Call> all{
      {"scaled_dot_product_attention",
       [](auto& y, auto& c) { attn::scaled_dot_product_attention(x, x, x, y, {}, c); }},
      {"attention with all terms",
       [](auto& y, auto& c) {
         attn::AttentionOptions o;
         o.relative_keys = o.relative_values = ConstTensor(memory.data(), {3, 8});
         o.alibi_slopes = o.sinks = ConstTensor(memory.data(), {1});
         o.bias = square;
         o.dropout = 0.5F;
         attn::scaled_dot_product_attention(x, x, x, y, o, c);
       }},
      {"attention_pooling",
       [](auto& y, auto& c) {
         attn::attention_pooling(x, x, x, y, attn::ScoringFunction::gaussian(), {}, c);
       }},
      {"AdditiveAttention", [](auto& y, auto& c) { additive.forward(x, x, x, y, {}, c); }},
      {"masked_softmax", [](auto& y, auto& c) { attn::masked_softmax(x, y, {}, c); }},
      {"apply_activation",
       [](auto& y, auto& c) { attn::apply_activation(x, y, attn::Activation::kGelu, c); }},
      {"apply_dropout", [](auto& y, auto& c) { attn::apply_dropout(x, y, dropout, c); }},
      {"fill_uniform", [](auto& y, auto& c) { attn::fill_uniform(y, {.seed = 1}, 0, 1, c); }},
      {"fill_normal", [](auto& y, auto& c) { attn::fill_normal(y, {.seed = 1}, 0, 1, c); }},
      {"xavier_uniform", [](auto& y, auto& c) { attn::xavier_uniform(y, {.seed = 1}, 1, c); }},
      {"ngram_embedding",
       [](auto& y, auto& c) {
         const std::array<std::string_view, 6> tokens{"the", "cat", "", "sat", "on", "mats"};
         attn::ngram_embedding(tokens, y, {}, c);
       }},
      {"sinusoidal_encoding", [](auto& y, auto& c) { attn::sinusoidal_encoding(y, {}, c); }},
      {"sinusoidal_encoding_at",
       [](auto& y, auto& c) {
         attn::sinusoidal_encoding_at(std::array{0.0, 0.5, 1.0, 7.0, 9.0, 1e6}, y, {}, c);
       }},
      {"shift_matrix", [](auto& y, auto& c) { attn::shift_matrix(y, 3, {}, c); }, {8, 8}},
      {"apply_shift", [](auto& y, auto& c) { attn::apply_shift(x, 3, y, {}, c); }},
      {"RotaryEmbedding", [](auto& y, auto& c) { rotary.forward(x, y, {}, c); }},
      {"PositionalEncoding", [](auto& y, auto& c) { encoding.forward(x, y, 0, dropout, c); }},
      {"LearnedPositionalEncoding", [](auto& y, auto& c) { learned.forward(x, y, 0, dropout, c); }},
      {"Linear", [](auto& y, auto& c) { linear.forward(x, y, c); }},
      {"FeedForward", [](auto& y, auto& c) { feed_forward.forward(x, y, dropout, c); }},
      {"GatedFeedForward", [](auto& y, auto& c) { gated.forward(x, y, dropout, c); }},
      {"LayerNorm", [](auto& y, auto& c) { norm.forward(x, y, c); }},
      {"RmsNorm", [](auto& y, auto& c) { rms_norm.forward(x, y, c); }},
      {"AddNorm", [](auto& y, auto& c) { add_norm.forward(x, x, y, dropout, c); }},
      {"MultiHeadAttention", [](auto& y, auto& c) { attention.forward(x, x, x, y, {}, c); }},
      {"TransformerEncoderLayer",
       [](auto& y, auto& c) { encoder.forward(x, y, {.dropout = dropout}, c); }},
      {"TransformerDecoderLayer",
       [](auto& y, auto& c) { decoder.forward(x, x, y, {.dropout = dropout}, c); }},
  };
  return all;
}

TEST_F(AllocationFailureTest, leaves_outputs_unchanged_whichever_allocation_fails) {
  for (const Call& call : calls()) {
    SCOPED_TRACE(call.name);
    std::vector<float> expected(static_cast<std::size_t>(call.shape[0] * call.shape[1]));
    attn::Context plenty({.num_threads = 1});
    call.run(Tensor(expected.data(), call.shape), plenty);

    attn::Context context({.num_threads = 1});
    std::vector<float> output(expected.size(), kUnset);
    std::int64_t allowed = 0;
    // The context has no scratch memory, so each call must allocate. In the first call the first
    // allocation fails, in the next call the second allocation, and so on.
    for (; !attn_test::succeeds_with_allocations(
             allowed, [&] { call.run(Tensor(output.data(), call.shape), context); });
         ++allowed) {
      ASSERT_THAT(output, Each(kUnset)) << "after " << allowed << " requests";
      ASSERT_LT(allowed, 1000);
      context.release_memory();
    }
    EXPECT_TRUE(attn_test::same_bits(output, expected)) << "after " << allowed << " failures";
  }
}

TEST(AllocationFailureOfContextTest, throws_bad_alloc_or_uses_fewer_threads_and_leaks_nothing) {
  std::int64_t allowed = 0;
  while (!attn_test::succeeds_with_allocations(allowed,
                                               [] { attn::Context context({.num_threads = 4}); })) {
    ASSERT_LT(++allowed, 1000);
  }
  EXPECT_GE(attn_test::out_of_memory_failures([] { attn::Context context({.num_threads = 4}); }),
            1);
}

TEST(AllocationFailureOfLayersTest, throws_bad_alloc_and_leaks_nothing) {
  const attn::TransformerLayerOptions layer{.d_model = 8, .num_heads = 2, .dim_feedforward = 16};
  const attn::MultiHeadAttentionOptions heads{
      .d_model = 8,
      .num_heads = 2,
      .bias = true,
      .positions = {.rotary = attn::RotaryEmbeddingOptions{.rotary_dim = 4},
                    .t5_bias = attn::T5BiasOptions{}},
      .sinks = true};
  const std::pair<const char*, std::function<void()>> all[] = {
      {"Linear", [] { attn::Linear(8, 8); }},
      {"Embedding", [] { attn::Embedding({.num_embeddings = 8, .embedding_dim = 8}); }},
      {"LayerNorm", [] { attn::LayerNorm(8); }},
      {"RmsNorm", [] { attn::RmsNorm(8); }},
      {"AddNorm", [] { attn::AddNorm(8); }},
      {"FeedForward", [] { attn::FeedForward({.d_model = 8, .dim_feedforward = 16}); }},
      {"GatedFeedForward", [] { attn::GatedFeedForward({.d_model = 8, .dim_feedforward = 16}); }},
      {"LearnedPositionalEncoding", [] { attn::LearnedPositionalEncoding(8, 8); }},
      {"MultiHeadAttention", [&] { attn::MultiHeadAttention{heads}; }},
      {"KeyValueCache", [] { attn::KeyValueCache(1, 2, 4, 4, 8); }},
      {"TransformerEncoder", [&] { attn::TransformerEncoder({.layer = layer, .num_layers = 2}); }},
      {"TransformerDecoder",
       [&] { attn::TransformerDecoder({.layer = layer, .num_layers = 2, .final_norm = true}); }},
      {"RNN", [] { attn::RNN({.input_size = 8, .hidden_size = 8, .num_layers = 2}); }},
      {"GRU", [] { attn::GRU({.input_size = 8, .hidden_size = 8, .num_layers = 2}); }},
      {"Conv1d", [] { attn::Conv1d({.in_channels = 8, .out_channels = 8}); }},
      {"AdditiveAttention", [] { attn::AdditiveAttention(8, 8, 4); }},
      {"BahdanauDecoder", [] { attn::BahdanauDecoder({9, 8, 8, 2}); }},
  };
  for (const auto& [name, make] : all) {
    SCOPED_TRACE(name);
    EXPECT_GE(attn_test::out_of_memory_failures(make), 1);
  }
}

class OwnLayer : public attn::Module {
 public:
  using Module::add_parameter;
};

TEST(AllocationFailureOfParametersTest, adds_nothing) {
  OwnLayer layer;
  const int failures = attn_test::out_of_memory_failures([&] {
    if (!layer.parameter_names().empty()) layer = OwnLayer();
    layer.add_parameter("a weight whose name is too long to be kept in place", {3});
  });
  EXPECT_GE(failures, 1);
  EXPECT_EQ(layer.parameter_names().size(), 1);
}

// Messages must show every digit of a size, even if a double cannot represent it.

TEST(LargeNumbersTest, are_printed_with_all_their_digits) {
  attn::KeyValueCache cache(1, 1, 1, 1);
  EXPECT_EQ(
      error_of([&] { cache.truncate(9007199254740993); }),
      "invalid_argument: length: got 9007199254740993, needs 0 to 0, the number of stored tokens");
  EXPECT_EQ(error_of([] { attn::Linear(-1234567890123, 1); }),
            "invalid_argument: in_features: got -1234567890123, needs 1 or more");
  EXPECT_EQ(error_of([] {
              attn::MultiHeadAttention({.d_model = 1234567890123, .num_heads = 1234567890122});
            }),
            "invalid_argument: num_heads: got 1234567890122, needs a divisor of d_model "
            "1234567890123");
}

TEST(LargeNumbersTest, that_cannot_be_addressed_are_overflows) {
  std::vector<float> x(8), y(8, kUnset);
  OwnLayer layer;
  EXPECT_EQ(error_of([&] { layer.add_parameter("weight", {kHuge / 2, 1}); }),
            "size_overflow: weight: got 2305843009213693952 elements, needs few enough elements "
            "to fit into the address space");
  EXPECT_EQ(error_of([&] { layer.add_parameter("weight", {-2, -3}); }),
            "invalid_argument: weight: got -2, needs 0 or more");
  EXPECT_THAT(layer.parameter_names(), ::testing::IsEmpty());

  const std::int64_t keys = std::int64_t{1} << 31;
  const std::array<std::int64_t, 2> shape{keys, 1}, strides{0, 0};
  const ConstTensor many(x.data(), shape, strides), query(x.data(), {1, 1});
  EXPECT_EQ(error_of([&] {
              attn::attention_pooling(query, many, many, Tensor(y.data(), {1, 1}),
                                      attn::ScoringFunction::average());
            }),
            "size_overflow: key: got length 2147483648, needs at most 2147483647");
  const ConstTensor wide(x.data(), {1, keys});
  const std::array<std::int64_t, 1> lengths{keys};
  EXPECT_EQ(error_of([&] {
              attn::masked_softmax(wide, Tensor(y.data(), {1, keys}), {.valid_lens = lengths});
            }),
            "size_overflow: x: got 2147483648 columns, with valid_lens, needs at most 2147483647");

  const attn::Conv1d conv(
      {.in_channels = 1, .out_channels = 1, .kernel_size = 1, .padding = (std::int64_t{1} << 61)});
  EXPECT_EQ(error_of([&] { conv.output_length(INT64_MAX); }),
            "size_overflow: x: got 9223372036854775807 + 1·4611686018427387904, needs a sum that "
            "fits into the address space");

  // Each of these three tensors has a nominal size of half the address space, but all its elements
  // are at one address.
  const std::array<std::int64_t, 1> half{std::int64_t{1} << 60}, still{0};
  const ConstTensor large(x.data(), half, still);
  const std::array<attn::NamedTensor, 3> tensors{{{"a", large}, {"b", large}, {"c", large}}};
  EXPECT_EQ(error_of([&] { attn::to_safetensors(tensors); }),
            "size_overflow: safetensors: got 2^63 bytes or more, needs few enough bytes to "
            "fit into the address space");
  EXPECT_THAT(y, Each(kUnset));
}

TEST(LargeNumbersTest, of_a_header_are_more_than_the_format_has) {
  const std::vector<float> x(1);
  const std::array<attn::NamedTensor, 1> tensors{
      {{std::string(100'000'001, 'a'), ConstTensor(x.data(), {1})}}};
  EXPECT_THAT(
      attn_test::error_or_bad_alloc([&] { attn::to_safetensors(tensors); }),
      AnyOf(::testing::MatchesRegex("size_overflow: safetensors header: got 1000000.. bytes, "
                                    "needs at most 100000000"),
            "bad_alloc"));
}

class MisuseTest : public attn_test::EveryInstructionSet {};
INSTANTIATE_EVERY_INSTRUCTION_SET(MisuseTest);

/// The headers forbid overlap, and no call checks for it. With overlap, results are unspecified,
/// but a call must still write only to its output.
TEST_P(MisuseTest, only_the_output_is_written_even_if_it_overlaps_inputs) {
  constexpr std::int64_t kRows = 40, kWidth = 12, kShift = 5;
  std::vector<float> memory(kRows * kWidth + 64, 0.25F);
  const ConstTensor x(memory.data() + 16, {kRows, kWidth});
  const Tensor output(memory.data() + 16 + kShift, {kRows, kWidth});
  attn::scaled_dot_product_attention(x, x, x, output, {}, context());
  attn::apply_activation(x, output, attn::Activation::kRelu, context());
  attn::sinusoidal_encoding(output, {}, context());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const bool inside = i >= 16 + kShift && i < 16 + kShift + kRows * kWidth;
    if (inside) continue;
    ASSERT_EQ(memory[i], 0.25F) << i;
  }
}

TEST_P(MisuseTest, tensors_without_elements_are_accepted) {
  const ConstTensor no_keys(nullptr, {0, 4}), query(nullptr, {0, 4});
  std::vector<float> q(4), y(4, kUnset);
  attn::scaled_dot_product_attention(query, no_keys, no_keys, Tensor(nullptr, {0, 4}), {},
                                     context());
  attn::scaled_dot_product_attention(ConstTensor(q.data(), {1, 4}), no_keys, no_keys,
                                     Tensor(y.data(), {1, 4}), {}, context());
  EXPECT_THAT(y, Each(0.0F)) << "no key to attend to";
  attn::apply_activation(no_keys, Tensor(nullptr, {0, 4}), attn::Activation::kGelu, context());
  attn::sinusoidal_encoding(Tensor(nullptr, {0, 4}), {}, context());
}

}  // namespace
