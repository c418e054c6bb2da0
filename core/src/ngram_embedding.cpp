#include "attn/ngram_embedding.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "philox.hpp"
#include "runtime/execution.hpp"
#include "unicode.hpp"
#include "validation.hpp"

namespace attn {
namespace {

// Beyond Unicode, so that they equal no character.
constexpr std::uint32_t kBeginMark = 0x110000;
constexpr std::uint32_t kEndMark = 0x110001;

// What hashing starts from: a whole word is not the n-gram of the same letters.
constexpr std::uint64_t kNgramHash = 0x6E6772616D000000;
constexpr std::uint64_t kWordHash = 0x776F726400000000;

/// Random bytes, and so vector entries, in a block of the generator.
constexpr std::int64_t kBlock = 16;

/// Extends the hash of a text by one character: the finaliser of SplitMix64 (Steele et al. 2014), a
/// bijection that spreads every bit over all others.
std::uint64_t extend(std::uint64_t hash, std::uint32_t code_point) noexcept {
  std::uint64_t z = (hash ^ code_point) + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// A token's characters between their marks: as spelled, and in small letters.
struct Spelling {
  std::uint32_t* exact;
  std::uint32_t* lower;
  std::int64_t size;
};

void decode(std::string_view token, Spelling& spelling) noexcept {
  std::int64_t n = 0;
  const auto push = [&](std::uint32_t code_point) {
    spelling.exact[n] = code_point;
    spelling.lower[n++] = to_lower(code_point);
  };
  push(kBeginMark);
  while (!token.empty()) {
    const DecodedCharacter character = decode_utf8(token);
    push(character.code_point);
    token.remove_prefix(character.size);
  }
  push(kEndMark);
  spelling.size = n;
}

/// sum += weight · v(g), for d entries rounded up to whole blocks.
void add_vector(std::uint64_t hash, std::uint64_t seed, std::int64_t weight, std::int64_t d,
                std::int64_t* sum) noexcept {
  for (std::int64_t i = 0; i < d; i += kBlock) {
    const PhiloxCounter words = philox_block(hash, static_cast<std::uint64_t>(i / kBlock), seed);
    for (std::int64_t k = 0; k < kBlock; ++k) {
      const std::uint32_t byte = words[k / 4] >> (8 * (k % 4)) & 0xFF;
      sum[i + k] += weight * (2 * static_cast<std::int64_t>(byte) - 255);
    }
  }
}

/// sum += 2·v(lower(g)) + v(g)
void add_both_spellings(std::uint64_t exact, std::uint64_t lower, std::uint64_t seed,
                        std::int64_t d, std::int64_t* sum) noexcept {
  if (exact == lower) {
    add_vector(exact, seed, 3, d, sum);
  } else {
    add_vector(lower, seed, 2, d, sum);
    add_vector(exact, seed, 1, d, sum);
  }
}

void embed(const Spelling& s, const NgramEmbeddingOptions& options, std::int64_t d,
           std::int64_t* sum) noexcept {
  std::fill_n(sum, kernels::round_up(d, kBlock), 0);
  for (std::int64_t begin = 0; begin < s.size; ++begin) {
    std::uint64_t exact = kNgramHash;
    std::uint64_t lower = kNgramHash;
    const std::int64_t longest = std::min<std::int64_t>(options.max_n, s.size - begin);
    for (std::int64_t n = 1; n <= longest; ++n) {
      exact = extend(exact, s.exact[begin + n - 1]);
      lower = extend(lower, s.lower[begin + n - 1]);
      if (n >= options.min_n) add_both_spellings(exact, lower, options.seed, d, sum);
    }
  }
  std::uint64_t exact = kWordHash;
  std::uint64_t lower = kWordHash;
  for (std::int64_t i = 0; i < s.size; ++i) {
    exact = extend(exact, s.exact[i]);
    lower = extend(lower, s.lower[i]);
  }
  add_both_spellings(exact, lower, options.seed, d, sum);
  // In very few dimensions the vectors may cancel. The word's own, of odd numbers, is never zero.
  if (std::all_of(sum, sum + d, [](std::int64_t x) { return x == 0; })) {
    add_vector(lower, options.seed, 1, d, sum);
  }
}

}  // namespace

void ngram_embedding(std::span<const std::string_view> tokens, const Tensor& output,
                     const NgramEmbeddingOptions& options, Context& context) {
  const auto num_tokens = static_cast<std::int64_t>(tokens.size());
  validation::require_shape("output", output, {num_tokens, -1});
  const std::int64_t d = output.size(1);
  validation::require_at_least("output width", d, 1);
  validation::require_data("output", output);
  if (options.min_n < 1 || options.min_n > options.max_n) {
    validation::fail_value("min_n", options.min_n,
                           "a number between 1 and max_n, " + std::to_string(options.max_n));
  }
  if (options.max_n > 64) validation::fail_value("max_n", options.max_n, "at most 64");

  runtime::Execution run(context);
  std::int64_t longest = 0;
  for (const std::string_view token : tokens) {
    longest = std::max(longest, static_cast<std::int64_t>(token.size()));
  }
  const std::int64_t max_size = longest + 2;
  const std::int64_t padded = kernels::round_up(d, kBlock);
  const std::int64_t workers = run.num_threads();
  auto* characters = run.take<std::uint32_t>(validation::product("tokens", {2 * max_size, workers}),
                                             "n-gram embedding");
  auto* sums =
      run.take<std::int64_t>(validation::product("output", {padded, workers}), "n-gram embedding");
  run.parallel_for(num_tokens, [&](std::int64_t i, int worker) noexcept {
    std::uint32_t* memory = characters + worker * 2 * max_size;
    Spelling spelling{memory, memory + max_size, 0};
    decode(tokens[i], spelling);
    std::int64_t* sum = sums + worker * padded;
    embed(spelling, options, d, sum);
    double squares = 0;
    for (std::int64_t c = 0; c < d; ++c) {
      const auto value = static_cast<double>(sum[c]);
      squares += value * value;
    }
    const double factor = std::sqrt(static_cast<double>(d) / squares);
    for (std::int64_t c = 0; c < d; ++c) {
      output(i, c) = static_cast<float>(static_cast<double>(sum[c]) * factor);
    }
  });
}

}  // namespace attn
