#include "attn/layers/embedding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

namespace {

using attn::Embedding;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::HostTensor;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;

using EmbeddingTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INSTRUCTION_SET(EmbeddingTest);

TEST_P(EmbeddingTest, rows_come_from_the_table) {
  Random random;
  for (const std::int64_t width : {1, 5, 16, 33}) {
    Embedding embedding({.num_embeddings = 7, .embedding_dim = width});
    const std::vector<float> table = random.normals(7 * width);
    embedding.set_parameter("weight", {table.data(), {7, width}});
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 3 * 1000; ++i) ids.push_back(random.integer(0, 6));
    std::vector<float> want;
    for (const std::int64_t id : ids) {
      const auto row = table.begin() + id * width;
      want.insert(want.end(), row, row + width);
    }
    const std::vector<std::int32_t> short_ids(ids.begin(), ids.end());
    FloatTensor flat = FloatTensor::filled({3000, width}, 77.0F);
    embedding.forward(ids, flat.view(), context());
    EXPECT_TRUE(same_bits(flat.values(), want));
    embedding.forward(short_ids, flat.view(), context(1));
    EXPECT_TRUE(same_bits(flat.values(), want));
    for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
      const HostTensor<std::int64_t> in({3, 1000}, ids, layout);
      const HostTensor<std::int32_t> short_in({3, 1000}, short_ids, layout);
      FloatTensor out = FloatTensor::filled({3, 1000, width}, 77.0F, layout);
      embedding.forward(in.view(), out.view(), context());
      EXPECT_TRUE(same_bits(out.values(), want));
      EXPECT_TRUE(out.gaps_are_untouched());
      embedding.forward(short_in.view(), out.view(), context());
      EXPECT_TRUE(same_bits(out.values(), want));
    }
  }
}

TEST_P(EmbeddingTest, rows_can_be_scaled_by_the_root_of_their_width) {
  Random random;
  Embedding embedding({.num_embeddings = 3, .embedding_dim = 10, .scale_by_sqrt_dim = true});
  const std::vector<float> table = random.normals(30);
  embedding.set_parameter("weight", {table.data(), {3, 10}});
  std::vector<float> output(10);
  embedding.forward(std::array<std::int64_t, 1>{2}, {output.data(), {1, 10}}, context());
  for (std::size_t c = 0; c < 10; ++c) {
    EXPECT_EQ(output[c], table[20 + c] * static_cast<float>(std::sqrt(10.0)));
  }
}

TEST_P(EmbeddingTest, initialization_is_normal_except_for_padding) {
  for (const std::int64_t padding : {2, -3}) {
    Embedding embedding({.num_embeddings = 5, .embedding_dim = 1000, .padding_idx = padding});
    embedding.initialize_normal({1, 2}, 0.5F, context());
    const attn::ConstTensor weight = embedding.parameter("weight");
    double squares = 0;
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t c = 0; c < 1000; ++c) {
        if (row == 2) {
          EXPECT_EQ(weight(row, c), 0.0F);
        } else {
          squares += weight(row, c) * weight(row, c);
        }
      }
    }
    EXPECT_NEAR(squares / 4000, 0.25, 0.025);
  }
}

TEST_P(EmbeddingTest, lookup_allocates_nothing) {
  const Embedding embedding({.num_embeddings = 5, .embedding_dim = 4});
  std::vector<float> output(12);
  const std::vector<std::int32_t> ids{1, 4, 0};
  attn::Context& where = context();
  const attn_test::AllocationProbe probe;
  embedding.forward(ids, {output.data(), {3, 4}}, where);
  EXPECT_EQ(probe.count(), 0);
}

TEST(EmbeddingErrorTest, sizes) {
  const auto error = [](const attn::EmbeddingOptions& options) {
    return error_of([&] { Embedding embedding(options); });
  };
  EXPECT_EQ(error({.num_embeddings = 0, .embedding_dim = 4}),
            "invalid_argument: num_embeddings: got 0, needs 1 or more");
  EXPECT_EQ(error({.num_embeddings = 4, .embedding_dim = 0}),
            "invalid_argument: embedding_dim: got 0, needs 1 or more");
  EXPECT_EQ(error({.num_embeddings = 4, .embedding_dim = 4, .padding_idx = 4}),
            "invalid_argument: padding_idx: got 4, needs an index from -4 to 3");
  EXPECT_EQ(error({.num_embeddings = 4, .embedding_dim = 4, .padding_idx = -5}),
            "invalid_argument: padding_idx: got -5, needs an index from -4 to 3");
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(error({.num_embeddings = kHuge, .embedding_dim = kHuge}),
              ::testing::StartsWith("size_overflow: "));
}

TEST(EmbeddingErrorTest, ids_and_shapes) {
  Embedding embedding({.num_embeddings = 4, .embedding_dim = 2});
  std::vector<float> output(12, 5.0F);
  std::vector<std::int64_t> ids{0, 3, 1};
  const auto error = [&](std::initializer_list<std::int64_t> shape,
                         std::initializer_list<std::int64_t> out) {
    return error_of([&] { embedding.forward({ids.data(), shape}, {output.data(), out}); });
  };
  EXPECT_EQ(error({3}, {3, 3}), "shape_mismatch: output: got shape (3, 3), needs shape (3, 2)");
  EXPECT_EQ(error({1, 3}, {3, 2}),
            "shape_mismatch: output: got shape (3, 2), needs shape (1, 3, 2)");
  EXPECT_EQ(error({1, 1, 3}, {1, 1, 3, 2}),
            "shape_mismatch: ids: got shape (1, 1, 3), needs rank 1 (N) or 2 (B, N)");
  ids[2] = 4;
  EXPECT_EQ(error({3}, {3, 2}), "invalid_argument: ids: got 4, needs an index from 0 to 3");
  ids[2] = -1;
  EXPECT_EQ(error({1, 3}, {1, 3, 2}), "invalid_argument: ids: got -1, needs an index from 0 to 3");
  EXPECT_EQ(error_of([&] {
              embedding.forward(attn::TensorView<const std::int64_t>(nullptr, {3}),
                                {output.data(), {3, 2}});
            }),
            "invalid_argument: ids: got a null pointer, needs data");
  EXPECT_THAT(output, ::testing::Each(5.0F));
  EXPECT_EQ(error_of([&] { embedding.set_parameter("weight", {output.data(), {2, 4}}); }),
            "shape_mismatch: weight: got shape (2, 4), needs shape (4, 2)");
}

}  // namespace
