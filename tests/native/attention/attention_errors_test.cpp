// Error messages of scaled_dot_product_attention for arguments that are invalid or do not match.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"

namespace {

using attn::Window;
using attn_test::kInfinity;
using attn_test::kNaN;

class AttentionErrorTest : public ::testing::Test {
 protected:
  /// Enough memory for every view below. Every call fails before it reads this memory.
  std::vector<float> memory_ = std::vector<float>(4096, 1.0F);
  std::vector<float> written_ = std::vector<float>(4096, 5.0F);
  attn::AttentionOptions options_;

  attn::ConstTensor in(std::initializer_list<std::int64_t> shape) const {
    return {memory_.data(), shape};
  }
  attn::Tensor out(std::initializer_list<std::int64_t> shape) { return {written_.data(), shape}; }

  std::string error(const attn::ConstTensor& query, const attn::ConstTensor& key,
                    const attn::ConstTensor& value, const attn::Tensor& output) {
    const std::string text = attn_test::error_of(
        [&] { attn::scaled_dot_product_attention(query, key, value, output, options_); });
    EXPECT_EQ(std::count(written_.begin(), written_.end(), 5.0F), std::ssize(written_))
        << "a failed call has written";
    return text;
  }
  /// The error of a call with (B, Hq, Nq, D) = (2, 4, 3, 5), Hkv = 2, Nk = 6, Dv = 7 and the
  /// current options.
  std::string error_of_options() {
    return error(in({2, 4, 3, 5}), in({2, 2, 6, 5}), in({2, 2, 6, 7}), out({2, 4, 3, 7}));
  }
};

TEST_F(AttentionErrorTest, ranks) {
  EXPECT_EQ(error(in({5}), in({6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: query: got shape (5), needs rank 2 (N, D), 3 (B, N, D) or 4 (B, H, N, "
            "D)");
  EXPECT_EQ(error(in({1, 1, 1, 3, 5}), in({6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: query: got shape (1, 1, 1, 3, 5), needs rank 2 (N, D), 3 (B, N, D) or "
            "4 (B, H, N, D)");
  EXPECT_EQ(error({}, in({6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: query: got shape (), needs rank 2 (N, D), 3 (B, N, D) or 4 (B, H, N, "
            "D)");
  EXPECT_EQ(error(in({3, 5}), in({1, 6, 5}), in({6, 7}), out({3, 7})),
            "shape_mismatch: key: got shape (1, 6, 5), needs rank 2, the rank of query");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({7}), out({3, 7})),
            "shape_mismatch: value: got shape (7), needs rank 2, the rank of query");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({6, 7}), out({1, 1, 3, 7})),
            "shape_mismatch: output: got shape (1, 1, 3, 7), needs rank 2, the rank of query");
}

TEST_F(AttentionErrorTest, sizes_that_do_not_match) {
  EXPECT_EQ(error(in({3, 5}), in({6, 4}), in({6, 7}), out({3, 7})),
            "shape_mismatch: key: got head dimension 4, needs 5, the head dimension of query");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({5, 7}), out({3, 7})),
            "shape_mismatch: key: got length 6, needs 5, the length of value");
  EXPECT_EQ(error(in({2, 3, 5}), in({1, 6, 5}), in({1, 6, 7}), out({2, 3, 7})),
            "shape_mismatch: key: got batch 1, needs 2, the batch of query");
  EXPECT_EQ(error(in({2, 3, 5}), in({2, 6, 5}), in({3, 6, 7}), out({2, 3, 7})),
            "shape_mismatch: value: got batch 3, needs 2, the batch of query");
  EXPECT_EQ(error(in({1, 4, 3, 5}), in({1, 2, 6, 5}), in({1, 4, 6, 7}), out({1, 4, 3, 7})),
            "shape_mismatch: value: got number of heads 4, needs 2, the number of heads of key");
  EXPECT_EQ(error(in({1, 4, 3, 5}), in({1, 3, 6, 5}), in({1, 3, 6, 7}), out({1, 4, 3, 7})),
            "shape_mismatch: query: got 4 heads, needs a multiple of the 3 heads of key");
  EXPECT_EQ(error(in({1, 4, 3, 5}), in({1, 0, 6, 5}), in({1, 0, 6, 7}), out({1, 4, 3, 7})),
            "shape_mismatch: query: got 4 heads, needs a multiple of the 0 heads of key");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({6, 7}), out({3, 5})),
            "shape_mismatch: output: got shape (3, 5), needs shape (3, 7)");
  EXPECT_EQ(error(in({3, 0}), in({6, 0}), in({6, 7}), out({3, 7})),
            "invalid_argument: query: got head dimension 0, needs at least 1");
}

TEST_F(AttentionErrorTest, missing_memory) {
  EXPECT_EQ(error({nullptr, {3, 5}}, in({6, 5}), in({6, 7}), out({3, 7})),
            "invalid_argument: query: got a null pointer, needs data");
  EXPECT_EQ(error(in({3, 5}), {nullptr, {6, 5}}, in({6, 7}), out({3, 7})),
            "invalid_argument: key: got a null pointer, needs data");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), {nullptr, {6, 7}}, out({3, 7})),
            "invalid_argument: value: got a null pointer, needs data");
  EXPECT_EQ(error(in({3, 5}), in({6, 5}), in({6, 7}), {nullptr, {3, 7}}),
            "invalid_argument: output: got a null pointer, needs data");
  options_.mask = {nullptr, {3, 6}};
  EXPECT_EQ(error_of_options(), "invalid_argument: mask: got a null pointer, needs data");
  options_ = {};
  options_.bias = {nullptr, {3, 6}};
  EXPECT_EQ(error_of_options(), "invalid_argument: bias: got a null pointer, needs data");
  options_ = {};
  options_.valid_lens = {nullptr, {2}};
  EXPECT_EQ(error_of_options(), "invalid_argument: valid_lens: got a null pointer, needs data");
  options_ = {};
  options_.weights = {nullptr, {2, 4, 3, 6}};
  EXPECT_EQ(error_of_options(), "invalid_argument: weights: got a null pointer, needs data");
}

TEST_F(AttentionErrorTest, scale_and_softcap) {
  options_.scale = kNaN;
  EXPECT_EQ(error_of_options(), "invalid_argument: scale: got nan, needs a finite number");
  options_.scale = kInfinity;
  EXPECT_EQ(error_of_options(), "invalid_argument: scale: got inf, needs a finite number");
  options_ = {};
  options_.softcap = -1;
  EXPECT_EQ(error_of_options(),
            "invalid_argument: softcap: got -1, needs 0 (none) or a finite number above 0");
  options_.softcap = kNaN;
  EXPECT_EQ(error_of_options(),
            "invalid_argument: softcap: got nan, needs 0 (none) or a finite number above 0");
}

TEST_F(AttentionErrorTest, window) {
  options_.window = Window{-1, 2};
  EXPECT_EQ(error_of_options(),
            "invalid_argument: window: got -1, needs 0 or more keys on each side");
  options_.window = Window{{}, -3};
  EXPECT_EQ(error_of_options(),
            "invalid_argument: window: got -3, needs 0 or more keys on each side");
}

TEST_F(AttentionErrorTest, mask_and_bias_that_do_not_broadcast) {
  const std::vector<std::uint8_t> bytes(1000, 1);
  options_.mask = {bytes.data(), {3, 7}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: mask: got shape (3, 7), needs a shape that broadcasts to (2, 4, 3, "
            "6)");
  options_.mask = {bytes.data(), {1, 2, 4, 3, 6}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: mask: got shape (1, 2, 4, 3, 6), needs a shape that broadcasts to (2, "
            "4, 3, 6)");
  options_ = {};
  options_.bias = in({2, 3, 6});
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: bias: got shape (2, 3, 6), needs a shape that broadcasts to (2, 4, 3, "
            "6)");
}

TEST_F(AttentionErrorTest, valid_lengths) {
  const std::vector<std::int32_t> too_long{6, 7}, negative{-1, 6}, fine(100, 1);
  options_.valid_lens = {too_long.data(), {2}};
  EXPECT_EQ(error_of_options(),
            "invalid_argument: valid_lens: got 7, needs a length from 0 to 6, the number of keys");
  options_.valid_lens = {negative.data(), {2}};
  EXPECT_EQ(error_of_options(),
            "invalid_argument: valid_lens: got -1, needs a length from 0 to 6, the number of keys");
  options_.valid_lens = {fine.data(), {3}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: valid_lens: got shape (3), needs shape (2) or (2, 3)");
  options_.valid_lens = {fine.data(), {2, 4}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: valid_lens: got shape (2, 4), needs shape (2) or (2, 3)");
  options_.valid_lens = {fine.data(), {2, 3, 1}};
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: valid_lens: got shape (2, 3, 1), needs shape (2) or (2, 3)");
}

TEST_F(AttentionErrorTest, further_outputs_of_the_wrong_shape) {
  const char* const needs = ", needs shape (2, 4, 3, 6)";
  options_.scaled_scores = out({2, 4, 3, 5});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: scaled_scores: got shape (2, 4, 3, 5)") + needs);
  options_ = {};
  options_.capped_scores = out({3, 6});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: capped_scores: got shape (3, 6)") + needs);
  options_ = {};
  options_.biased_scores = out({1, 4, 3, 6});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: biased_scores: got shape (1, 4, 3, 6)") + needs);
  options_ = {};
  options_.weights = out({2, 2, 3, 6});
  EXPECT_EQ(error_of_options(),
            std::string("shape_mismatch: weights: got shape (2, 2, 3, 6)") + needs);
  options_ = {};
  options_.log_sum_exp = out({2, 4, 3, 1});
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: log_sum_exp: got shape (2, 4, 3, 1), needs shape (2, 4, 3)");
  options_ = {};
  options_.column_sums = out({2, 4, 3});
  EXPECT_EQ(error_of_options(),
            "shape_mismatch: column_sums: got shape (2, 4, 3), needs shape (2, 4, 6)");
}

TEST_F(AttentionErrorTest, sizes_beyond_the_address_space) {
  // With strides of 0, a view can declare more elements than memory can hold. The call must fail
  // without accessing an element.
  const auto huge = [&](std::vector<std::int64_t> shape) {
    const std::vector<std::int64_t> strides(shape.size(), 0);
    return attn::TensorView<float>(written_.data(), shape, strides);
  };
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  const auto starts_with = [](const char* text) { return ::testing::StartsWith(text); };
  EXPECT_THAT(error(huge({kBig, kBig, 1, 1}), huge({kBig, kBig, 1, 1}), huge({kBig, kBig, 1, 1}),
                    huge({kBig, kBig, 1, 1})),
              starts_with("size_overflow: query: "));
  EXPECT_THAT(error(huge({1, kBig}), huge({kBig, kBig}), huge({kBig, 1}), huge({1, 1})),
              starts_with("size_overflow: key: "));
  EXPECT_THAT(
      error(huge({1, 1}), huge({kBig / 4096, 1}), huge({kBig / 4096, kBig}), huge({1, kBig})),
      starts_with("size_overflow: value: "));
  EXPECT_THAT(error(huge({1, std::int64_t{1} << 60}), huge({1, std::int64_t{1} << 60}),
                    huge({1, 1}), huge({1, 1})),
              starts_with("size_overflow: "));
  EXPECT_THAT(error(huge({std::int64_t{1} << 32, 1}), in({1, 1}), in({1, 1}),
                    huge({std::int64_t{1} << 32, 1})),
              starts_with("size_overflow: query: "));
}

}  // namespace
