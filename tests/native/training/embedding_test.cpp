#include "attn/layers/embedding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/owned_tensor.hpp"
#include "attn/training/tape.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "random.hpp"
#include "reference/array.hpp"
#include "training/gradients.hpp"

namespace {

using attn::Embedding;
using attn::OwnedTensor;
using attn::Variable;
using attn_test::error_of;
using attn_test::is_within;
using attn_test::Random;
using attn_test::Results;
using attn_test::same_bits;
using attn_test::values;
using reference::Array;
using ::testing::ElementsAre;

using EmbeddingGradientTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(EmbeddingGradientTest);

TEST_P(EmbeddingGradientTest, repeated_tokens_are_summed) {
  Random random;
  for (const std::int64_t width : {1, 3, 15, 16, 17, 70}) {
    for (const std::int64_t vocabulary : {1, 5, 1000}) {
      const std::int64_t batch = random.integer(1, 4), length = random.integer(0, 200);
      const bool scaled = random.chance(0.5);
      Embedding embedding(
          {.num_embeddings = vocabulary, .embedding_dim = width, .scale_by_sqrt_dim = scaled});
      embedding.initialize_normal({1, 2});
      std::vector<std::int32_t> ids(static_cast<std::size_t>(batch * length));
      for (std::int32_t& id : ids)
        id = static_cast<std::int32_t>(random.integer(0, vocabulary - 1));
      const std::vector<float> dy = random.normals(batch * length * width);
      attn::Tape tape(context());
      const Variable out = embedding.forward(tape, {ids.data(), {batch, length}});
      std::vector<float> y(dy.size());
      embedding.forward({ids.data(), {batch, length}}, {y.data(), {batch, length, width}},
                        context());
      EXPECT_TRUE(same_bits(values(out.value()), y));
      tape.backward(out, {dy.data(), {batch, length, width}});
      Array exact({vocabulary, width}), error({vocabulary, width});
      const double factor = scaled ? std::sqrt(static_cast<double>(width)) : 1;
      for (std::size_t t = 0; t < ids.size(); ++t) {
        for (std::int64_t c = 0; c < width; ++c) {
          const double v = factor * dy[t * static_cast<std::size_t>(width) + c];
          exact.at({ids[t], c}) += v;
          error.at({ids[t], c}) += 6e-6 * std::abs(v);
        }
      }
      EXPECT_TRUE(is_within(values(tape.gradient(embedding, "weight")), exact, error))
          << vocabulary << " × " << width;
    }
  }
}

TEST_P(EmbeddingGradientTest, a_token_that_is_everywhere_is_summed_exactly) {
  Random random;
  const Embedding embedding({.num_embeddings = 3, .embedding_dim = 5});
  const std::vector<std::int64_t> ids(50'000, 1);
  const std::vector<float> dy = random.uniforms(50'000 * 5, 0, 1);
  attn::Tape tape(context());
  tape.backward(embedding.forward(tape, ids), {dy.data(), {50'000, 5}});
  Array exact({3, 5}), error({3, 5});
  for (std::size_t i = 0; i < dy.size(); ++i) {
    exact.values[5 + i % 5] += dy[i];
    error.values[5 + i % 5] += (6e-6 + 1e-9 * 50'000) * dy[i];
  }
  EXPECT_TRUE(is_within(values(tape.gradient(embedding, "weight")), exact, error));
}

TEST_P(EmbeddingGradientTest, the_row_of_padding_does_not_learn) {
  for (const std::int64_t padding : {2, -1}) {
    Embedding embedding({.num_embeddings = 3, .embedding_dim = 1, .padding_idx = padding});
    attn::Tape tape(context());
    const std::vector<std::int64_t> ids{2, 0, 2, 0};
    tape.backward(embedding.forward(tape, ids), OwnedTensor({4, 1}, {1, 2, 4, 8}));
    EXPECT_THAT(values(tape.gradient(embedding, "weight")), ElementsAre(10, 0, 0));
  }
}

TEST_P(EmbeddingGradientTest, a_layer_tied_to_the_table_adds_its_gradient) {
  const Embedding embedding({.num_embeddings = 3, .embedding_dim = 2});
  attn::Tape tape(context());
  const std::vector<std::int64_t> first{1, 1}, second{0, 1};
  const Variable sum = embedding.forward(tape, first) + embedding.forward(tape, second);
  const Variable table = tape.parameter(embedding, "weight");
  tape.backward(sum, OwnedTensor({2, 2}, {1, 2, 10, 20}));
  EXPECT_THAT(values(table.gradient()), ElementsAre(1, 2, 21, 42, 0, 0));
}

TEST_P(EmbeddingGradientTest, bits_and_memory_are_steady) {
  Random random;
  Embedding embedding({.num_embeddings = 700, .embedding_dim = 24, .scale_by_sqrt_dim = true});
  std::vector<std::int64_t> ids(3000);
  for (std::int64_t& id : ids) id = random.chance(0.3) ? 5 : random.integer(0, 699);
  const std::vector<float> dy = random.normals(3000 * 24);
  const auto pass = [&](attn::Tape& tape) {
    tape.clear();
    tape.backward(embedding.forward(tape, ids) + embedding.forward(tape, ids),
                  {dy.data(), {3000, 24}});
  };
  attn_test::expect_steady([&](int n) -> attn::Context& { return context(n); },
                           [&](attn::Tape& tape) -> Results {
                             pass(tape);
                             return {values(tape.gradient(embedding, "weight"))};
                           });
  attn_test::expect_no_allocation(context(), pass);
}

TEST_P(EmbeddingGradientTest, drawing_the_table_counts_as_a_change) {
  Embedding embedding({.num_embeddings = 3, .embedding_dim = 2});
  attn::Tape tape(context());
  const std::vector<std::int64_t> ids{1};
  const Variable y = embedding.forward(tape, ids);
  embedding.initialize_normal({1, 2});
  EXPECT_THAT(error_of([&] { tape.backward(y, OwnedTensor({1, 2}, {1, 1})); }),
              ::testing::StartsWith("invalid_argument: weight: got a change"));
}

TEST(EmbeddingGradientErrorTest, ids) {
  const Embedding embedding({.num_embeddings = 3, .embedding_dim = 2});
  attn::Tape tape;
  const std::vector<std::int64_t> ids{1, 3};
  EXPECT_EQ(error_of([&] { embedding.forward(tape, ids); }),
            "invalid_argument: ids: got 3, needs an index from 0 to 2");
  EXPECT_EQ(error_of([&] { embedding.forward(tape, {ids.data(), {1, 1, 2}}); }),
            "shape_mismatch: ids: got shape (1, 1, 2), needs rank 1 (N) or 2 (B, N)");
  const std::vector<std::int64_t> fine{1};
  const Variable y = embedding.forward(tape, fine);
  tape.backward(y, OwnedTensor({1, 2}, {1, 1}));
  EXPECT_EQ(error_of([&] { embedding.forward(tape, fine); }),
            "invalid_argument: tape: got a call after backward(), needs clear() first");
}

}  // namespace
