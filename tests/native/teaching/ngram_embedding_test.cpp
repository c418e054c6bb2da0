#include "attn/teaching/ngram_embedding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

namespace {

using attn::NgramEmbeddingOptions;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using ::testing::StartsWith;

using Row = std::vector<float>;

double cosine(const Row& a, const Row& b) {
  double product = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    squares_a += double{a[i]} * a[i];
    squares_b += double{b[i]} * b[i];
  }
  return product / std::sqrt(squares_a * squares_b);
}

class NgramEmbeddingTest : public attn_test::EveryInstructionSet {
 protected:
  /// Returns one row per token.
  std::vector<Row> embed(const std::vector<std::string_view>& tokens, std::int64_t d_model,
                         const NgramEmbeddingOptions& options = {}, int threads = 1) {
    const auto n = static_cast<std::int64_t>(tokens.size());
    std::vector<float> output(static_cast<std::size_t>(n * d_model), 7.0F);
    attn::ngram_embedding(tokens, {output.data(), {n, d_model}}, options, context(threads));
    std::vector<Row> rows;
    for (std::int64_t i = 0; i < n; ++i) {
      rows.emplace_back(output.begin() + i * d_model, output.begin() + (i + 1) * d_model);
    }
    return rows;
  }

  double similarity(std::string_view a, std::string_view b, std::int64_t d_model = 1024) {
    const std::vector<Row> rows = embed({a, b}, d_model);
    return cosine(rows[0], rows[1]);
  }
};
INSTANTIATE_EVERY_INSTRUCTION_SET(NgramEmbeddingTest);

/// Five standard deviations of the cosine between unrelated vectors.
constexpr double kUnrelated = 5.0 / 32;  // 5/√1024

// ---- Geometry

TEST_P(NgramEmbeddingTest, every_row_has_root_mean_square_1) {
  for (const std::int64_t d : {1, 2, 3, 15, 16, 17, 64, 500}) {
    for (const Row& row : embed({"", "a", "attention", "Größe", "\xff", "日本語"}, d)) {
      double squares = 0;
      for (const float x : row) squares += double{x} * x;
      // Each entry has a relative error of at most 2^-24.
      EXPECT_NEAR(squares / static_cast<double>(d), 1, 1.3e-7) << "d " << d;
    }
  }
}

TEST_P(NgramEmbeddingTest, identical_words_get_the_same_row_at_any_position) {
  const std::vector<Row> rows = embed({"the", "cat", "and", "the", "dog"}, 33);
  EXPECT_TRUE(same_bits(rows[0], rows[3]));
  EXPECT_TRUE(same_bits(rows[1], embed({"cat"}, 33)[0]));
  EXPECT_FALSE(same_bits(rows[0], rows[1]));
}

TEST_P(NgramEmbeddingTest, words_with_similar_spelling_are_closer_than_others) {
  EXPECT_GT(similarity("encoding", "encodings"), 0.6);
  EXPECT_GT(similarity("attention", "attentive"), 0.4);
  EXPECT_GT(similarity("walked", "walking"), 0.25);
  EXPECT_GT(similarity("encoding", "encodings"), similarity("encoding", "encoder"));
  EXPECT_GT(similarity("encoding", "encoder"), similarity("encoding", "matrix"));
  EXPECT_NEAR(similarity("encoding", "matrix"), 0, kUnrelated);
  EXPECT_NEAR(similarity("cat", "dog"), 0, kUnrelated);
}

TEST_P(NgramEmbeddingTest, similarity_is_the_share_of_n_grams_in_common) {
  // ‹ and › mark the beginning and the end of a word. "ab" is the sum of 7 vectors: for the n-grams
  // "‹a", "ab", "b›", "‹ab", "ab›" and "‹ab›", and for the word. "abc" is the sum of 10 vectors:
  // for "‹a", "ab", "bc", "c›", "‹ab", "abc", "bc›", "‹abc" and "abc›", and for the word. The two
  // sums have the vectors of "‹a", "ab" and "‹ab" in common.
  EXPECT_NEAR(similarity("ab", "abc", 65536), 3 / std::sqrt(7.0 * 10.0), 5 / 256.0);
}

TEST_P(NgramEmbeddingTest, capitals_are_different_characters) {
  // The vector of ‹attention› has 28 terms: 27 n-grams and the word. The first letter occurs in 6
  // n-grams and in the word.
  EXPECT_NEAR(similarity("attention", "Attention", 65536), 21 / 28.0, 5 / 256.0);
  EXPECT_NEAR(similarity("attention", "ATTENTION"), 0, kUnrelated);
  EXPECT_NEAR(similarity("привет", "ПРИВЕТ"), 0, kUnrelated);
}

TEST_P(NgramEmbeddingTest, beginnings_and_ends_differ_from_middles) {
  EXPECT_LT(similarity("abab", "baba"), 0.7);
  // The boundary marks differ from the characters < and >.
  EXPECT_LT(similarity("a", "<a>"), 0.5);
}

TEST_P(NgramEmbeddingTest, entries_have_mean_0_and_seeds_are_unrelated) {
  const Row a = embed({"word"}, 4096, {.seed = 1})[0];
  const Row b = embed({"word"}, 4096, {.seed = 2})[0];
  const Row c = embed({"word"}, 4096, {.seed = (1ULL << 32) + 1})[0];
  double sum = 0;
  for (const float x : a) sum += x;
  EXPECT_NEAR(sum / 4096, 0, 4 / 64.0);
  EXPECT_NEAR(cosine(a, b), 0, 5 / 64.0);
  EXPECT_NEAR(cosine(a, c), 0, 5 / 64.0);
}

TEST_P(NgramEmbeddingTest, n_gram_lengths_can_be_chosen) {
  const std::vector<Row> only_words =
      embed({"encoding", "encodings"}, 1024, {.min_n = 64, .max_n = 64});
  EXPECT_NEAR(cosine(only_words[0], only_words[1]), 0, kUnrelated);
  // With n-grams of length 1, which are letters and boundary marks, anagrams share everything
  // except the word itself.
  const std::vector<Row> anagrams = embed({"listen", "silent"}, 4096, {.min_n = 1, .max_n = 1});
  EXPECT_NEAR(cosine(anagrams[0], anagrams[1]), 8.0 / 9, 5 / 64.0);
}

// ---- Text

TEST_P(NgramEmbeddingTest, an_empty_token_has_a_distinct_row) {
  const std::vector<Row> rows = embed({"", "a", std::string_view()}, 1024);
  EXPECT_TRUE(same_bits(rows[0], rows[2]));
  EXPECT_LT(cosine(rows[0], rows[1]), 0.5);
}

TEST_P(NgramEmbeddingTest, characters_are_code_points_not_bytes) {
  // 日 and 本 have the same first byte, but they are different characters.
  EXPECT_NEAR(similarity("日日日", "本本本"), 0, kUnrelated);
  EXPECT_NEAR(similarity("\U0001F600\U0001F600", "\U0001F601\U0001F601"), 0, kUnrelated);
  // The letter é may be written as one code point or as two.
  EXPECT_LT(similarity("caf\u00e9", "cafe\u0301"), 0.9);
}

TEST_P(NgramEmbeddingTest, invalid_utf8_is_accepted_byte_by_byte) {
  const std::vector<std::string_view> invalid{
      "\x80",              // continuation without a lead
      "\xff\xfe",          // never valid
      "\xc3",              // cut short
      "\xe6\x97",          // cut short
      "\xf0\x9f\x98",      // cut short
      "\xc0\xaf",          // overlong
      "\xc1\xbf",          // overlong
      "\xe0\x9f\xbf",      // overlong
      "\xf0\x8f\xbf\xbf",  // overlong
      "\xed\xa0\x80",      // surrogate
      "\xf4\x90\x80\x80",  // beyond U+10FFFF
      "\xf5\x80\x80\x80",  // beyond U+10FFFF
      std::string_view("\0", 1),
  };
  const std::vector<Row> rows = embed(invalid, 1024);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_LT(cosine(rows[i], rows[j]), 0.9) << i << ", " << j;
    }
  }
  // An invalid byte does not change how the valid text around it is read.
  EXPECT_GT(similarity("abcdefgh\xff", "abcdefgh"), 0.5);
}

TEST_P(NgramEmbeddingTest, the_ends_of_the_valid_ranges_are_single_characters) {
  // Different characters have no n-gram in common. If tokens were processed byte by byte, the two
  // words of each pair would share at least one of their 7 vectors.
  for (const auto& [a, b] : {std::pair{"\u0080", "\u00bf"},
                             {"\u07c0", "\u07ff"},
                             {"\u0800", "\u0801"},
                             {"\ud7ff", "\ud7fe"},
                             {"\ue000", "\ue001"},
                             {"\uffff", "\ufffe"},
                             {"\U00010000", "\U00010001"},
                             {"\U0010ffff", "\U0010fffe"}}) {
    EXPECT_NEAR(similarity(a, b, 65536), 0, 5 / 256.0);
  }
}

TEST_P(NgramEmbeddingTest, long_tokens_are_embedded_whole) {
  const std::string long_token(100000, 'x');
  std::string other = long_token;
  other[50000] = 'y';
  const std::vector<Row> rows = embed({long_token, other}, 16);
  EXPECT_GT(cosine(rows[0], rows[1]), 0.99);
  EXPECT_FALSE(same_bits(rows[0], rows[1]));
}

// ---- Bits

// The numbers are part of the contract, because a page that is shared as a link must show the same
// picture everywhere.
TEST_P(NgramEmbeddingTest, the_same_token_gives_the_same_bits_on_every_machine) {
  EXPECT_THAT(embed({"attention"}, 4)[0],
              ::testing::ElementsAre(0.827795684F, 0.0708815902F, 1.31890392F, 1.25308526F));
}

TEST_P(NgramEmbeddingTest, wider_embeddings_begin_like_narrower_ones) {
  const Row wide = embed({"attention"}, 100)[0];
  const Row narrow = embed({"attention"}, 7)[0];
  for (std::size_t i = 1; i < narrow.size(); ++i) {
    EXPECT_NEAR(double{wide[i]} / wide[0], double{narrow[i]} / narrow[0], 1e-6);
  }
}

TEST_P(NgramEmbeddingTest, any_number_of_threads_gives_the_same_bits) {
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) words.push_back("word" + std::to_string(i * i));
  const std::vector<std::string_view> tokens(words.begin(), words.end());
  const std::vector<Row> one = embed(tokens, 40);
  for (const int threads : {2, 3}) EXPECT_EQ(one, embed(tokens, 40, {}, threads));
}

TEST_P(NgramEmbeddingTest, any_strides_get_the_same_bits) {
  const std::vector<std::string_view> tokens{"a", "strided", "output"};
  std::vector<float> contiguous;
  for (const Row& row : embed(tokens, 21))
    contiguous.insert(contiguous.end(), row.begin(), row.end());
  for (const Layout layout : {Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    auto output = FloatTensor::filled({3, 21}, 7.0F, layout);
    attn::ngram_embedding(tokens, output.view(), {}, context());
    EXPECT_TRUE(same_bits(contiguous, output.values()));
    EXPECT_TRUE(output.gaps_are_untouched());
  }
}

// ---- Edges and errors

TEST_P(NgramEmbeddingTest, an_empty_list_of_tokens_is_accepted) {
  attn::ngram_embedding({}, {nullptr, {0, 8}}, {}, context());
}

TEST(NgramEmbeddingErrorTest, names_the_argument_and_what_it_needs) {
  std::vector<float> memory(8, 7.0F);
  const std::vector<std::string_view> tokens{"a", "b"};
  const auto embed = [&](std::vector<std::int64_t> shape,
                         const NgramEmbeddingOptions& options = {}) {
    return error_of([&] {
      attn::ngram_embedding(tokens, {memory.data(), std::span<const std::int64_t>(shape)}, options);
    });
  };
  EXPECT_EQ(embed({3, 2}), "shape_mismatch: output: got shape (3, 2), needs shape (2, any)");
  EXPECT_THAT(embed({2, 0}), StartsWith("invalid_argument: output: got width 0"));
  EXPECT_THAT(embed({2, 4}, {.min_n = 0}), StartsWith("invalid_argument: min_n: got 0"));
  EXPECT_THAT(embed({2, 4}, {.min_n = 5, .max_n = 4}),
              StartsWith("invalid_argument: min_n: got 5"));
  EXPECT_THAT(embed({2, 4}, {.max_n = 65}), StartsWith("invalid_argument: max_n: got 65"));
  EXPECT_EQ(error_of([&] { attn::ngram_embedding(tokens, {nullptr, {2, 4}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(memory, ::testing::Each(7.0F));
}

}  // namespace
