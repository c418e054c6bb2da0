#include "attn/teaching/ngram_embedding.hpp"

#include <algorithm>
#include <cmath>

#include "io/utf8.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

// These values are outside the range of Unicode, so no character equals them.
constexpr std::uint32_t kBeginMark = 0x110000;
constexpr std::uint32_t kEndMark = 0x110001;

// The initial values of hashes. They distinguish a whole word from the n-gram with the same
// letters.
constexpr std::uint64_t kNgramHash = 0x6E6772616D000000;
constexpr std::uint64_t kWordHash = 0x776F726400000000;

/// Number of random bytes in a block of the generator. Each byte gives one entry of a vector.
constexpr std::int64_t kBlock = 16;

/// Extends the hash of a text by one character. Uses the finaliser of SplitMix64 (Steele et al.
/// 2014), a bijection in which each input bit affects all output bits.
std::uint64_t extend(std::uint64_t hash, std::uint32_t code_point) noexcept {
  std::uint64_t z = (hash ^ code_point) + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// Writes a token's characters and a mark at each end. Returns the number of characters, including
/// the marks.
std::int64_t decode(std::string_view token, std::uint32_t* characters) noexcept {
  std::int64_t n = 0;
  characters[n++] = kBeginMark;
  while (!token.empty()) {
    const DecodedCharacter character = decode_utf8(token);
    characters[n++] = character.code_point;
    token.remove_prefix(character.size);
  }
  characters[n++] = kEndMark;
  return n;
}

/// The sum of the vectors of one token. Bytes are summed modulo 2^32 and centred at the end. The
/// result is exact if no entry exceeds 2^31.
class VectorSum {
 public:
  /// `sum` has d entries, rounded up to whole blocks. `words` has as many bytes as `sum` has
  /// entries.
  VectorSum(const kernels::KernelTable& kernels, std::uint64_t seed, std::int64_t d,
            std::uint32_t* sum, std::uint32_t* words) noexcept
      : kernels_(kernels), seed_(seed), d_(d), sum_(sum), words_(words) {
    std::fill_n(sum_, kernels::round_up(d_, kBlock), 0U);
  }

  /// Adds v(g) for the n-gram g with this hash.
  void add(std::uint64_t hash) noexcept {
    const std::int64_t padded = kernels::round_up(d_, kBlock);
    kernels_.random_words(seed_, hash, 0, padded / kBlock, words_);
    const auto* bytes = reinterpret_cast<const unsigned char*>(words_);
    for (std::int64_t c = 0; c < padded; ++c) sum_[c] += bytes[c];
    ++count_;
  }

  /// Entries of v are 2·byte − 255: odd numbers, symmetric around 0.
  double entry(std::int64_t c) const noexcept {
    return static_cast<std::int32_t>(2 * sum_[c] - 255 * count_);
  }

  bool is_zero() const noexcept {
    for (std::int64_t c = 0; c < d_; ++c) {
      if (entry(c) != 0) return false;
    }
    return true;
  }

 private:
  const kernels::KernelTable& kernels_;
  std::uint64_t seed_;
  std::int64_t d_;
  std::uint32_t* sum_;
  std::uint32_t* words_;
  std::uint32_t count_ = 0;
};

void embed(std::span<const std::uint32_t> characters, const NgramEmbeddingOptions& options,
           VectorSum& sum) noexcept {
  const auto size = static_cast<std::int64_t>(characters.size());
  for (std::int64_t begin = 0; begin < size; ++begin) {
    std::uint64_t ngram = kNgramHash;
    const std::int64_t longest = std::min<std::int64_t>(options.max_n, size - begin);
    for (std::int64_t n = 1; n <= longest; ++n) {
      ngram = extend(ngram, characters[begin + n - 1]);
      if (n >= options.min_n) sum.add(ngram);
    }
  }
  std::uint64_t word = kWordHash;
  for (const std::uint32_t character : characters) word = extend(word, character);
  sum.add(word);
  // If there are very few dimensions, the vectors may cancel out. The word's own vector is never
  // zero, because its entries are odd.
  if (sum.is_zero()) sum.add(word);
}

}  // namespace

void ngram_embedding(std::span<const std::string_view> tokens, const Tensor& output,
                     const NgramEmbeddingOptions& options, Context& context) {
  const auto num_tokens = static_cast<std::int64_t>(tokens.size());
  validation::require_shape("output", output, {num_tokens, -1});
  const std::int64_t d = output.size(1);
  if (d < 1) validation::fail_value("output", "width 0", {"at least 1"});
  validation::require_data("output", output);
  if (options.min_n < 1 || options.min_n > options.max_n) {
    validation::fail_value(
        "min_n", options.min_n,
        {"a number between 1 and ", validation::Name("max_n"), " (", options.max_n, ")"});
  }
  if (options.max_n > 64) validation::fail_value("max_n", options.max_n, {"at most 64"});

  runtime::Execution run(context);
  std::int64_t longest = 0;
  for (const std::string_view token : tokens) {
    longest = std::max(longest, static_cast<std::int64_t>(token.size()));
  }
  const std::int64_t max_size = longest + 2;
  const std::int64_t padded = kernels::round_up(d, kBlock);
  const std::int64_t workers = run.num_threads();
  auto* characters = run.take<std::uint32_t>(validation::product("tokens", {max_size, workers}),
                                             "n-gram embedding");
  auto* sums =
      run.take<std::uint32_t>(validation::product("output", {padded, workers}), "n-gram embedding");
  auto* words = run.take<std::uint32_t>(padded / 4 * workers, "n-gram embedding");
  run.parallel_for(num_tokens, [&](std::int64_t i, int worker) noexcept {
    std::uint32_t* const token = characters + worker * max_size;
    const std::int64_t size = decode(tokens[i], token);
    VectorSum sum(run.kernels(), options.seed, d, sums + worker * padded,
                  words + worker * padded / 4);
    embed({token, static_cast<std::size_t>(size)}, options, sum);
    double squares = 0;
    for (std::int64_t c = 0; c < d; ++c) {
      squares += sum.entry(c) * sum.entry(c);
    }
    const double factor = std::sqrt(static_cast<double>(d) / squares);
    for (std::int64_t c = 0; c < d; ++c) {
      output(i, c) = static_cast<float>(sum.entry(c) * factor);
    }
  });
}

}  // namespace attn
