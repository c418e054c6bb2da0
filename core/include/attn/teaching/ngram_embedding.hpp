#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

struct NgramEmbeddingOptions {
  int min_n = 2;
  int max_n = 4;
  std::uint64_t seed = 0;
};

/// Embeds tokens without a trained model. The embedding of a token is the normalised sum of
/// pseudo-random vectors, one for each of its character n-grams with min_n ≤ n ≤ max_n, and one for
/// the whole token (as in fastText: Bojanowski et al. 2017, arXiv:1607.04606, but with the vectors
/// drawn from a hash instead of learned):
///
///   x_i = Σ_g v(g),   output[i] = x_i / √(mean of x_i²)
///
/// `tokens` (N) are in UTF-8. `output` is (N, d_model) and may have any strides. Every row has a
/// root mean square of 1. A token always gives the same row, whatever its neighbours. The rows of
/// words with similar spelling point in nearly the same direction; the rows of other words are
/// nearly orthogonal (cosine 0 ± 1/√d).
///
/// - Characters are Unicode code points. There is no normalisation, so an accented letter differs
///   from the same letter followed by a separate accent.
/// - A start mark is added before the first character and an end mark after the last. Neither
///   equals any character, so n-grams at the start or end of a word differ from n-grams inside it.
/// - Upper-case letters differ from lower-case letters. If case should not matter, convert the
///   tokens to lower case.
/// - Each byte that is not part of valid UTF-8 counts as one character, which differs from all
///   valid ones.
/// - An empty token consists of the two marks and gets a row like any other token.
/// - The entries of v(g) are spread evenly over the odd numbers from −255 to 255. They are derived
///   from the bytes of RandomStream{seed, hash of g}. Sums of integers are exact, so the embeddings
///   are bit-identical on every machine.
///
/// Throws kShapeMismatch unless `output` is (N, d_model) for the N tokens. Throws kInvalidArgument
/// if d_model is 0 or unless 1 ≤ min_n ≤ max_n ≤ 64. May also throw std::bad_alloc.
ATTN_API void ngram_embedding(std::span<const std::string_view> tokens, const Tensor& output,
                              const NgramEmbeddingOptions& options = {},
                              Context& context = Context::default_context());

}  // namespace attn
