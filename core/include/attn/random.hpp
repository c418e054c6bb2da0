#pragma once

#include <array>
#include <cstdint>

#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The counter-based generator Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy
/// as 1, 2, 3"): a bijection that turns a counter and a key into 128 random bits. It has no state:
/// each number of a sequence can be computed directly, so results do not depend on the number of
/// threads or on the order of computation.
ATTN_API std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                 std::array<std::uint32_t, 2> key) noexcept;

/// One of the 2^64 independent sequences that each seed provides. Give each use of a seed (each
/// weight matrix, each dropout) its own stream.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;

  /// The four 32-bit words of block number `block`, computed by philox4x32() with counter = (block,
  /// stream) and key = seed, each with the low word first.
  ATTN_API std::array<std::uint32_t, 4> words(std::uint64_t block) const noexcept;
};

/// Fills `output`, which may have any shape and strides, with uniformly distributed numbers in
/// [low, high). Element i in row-major order is low + (high − low)·(w_i >> 8)·2^-24, computed in
/// double precision and rounded to float, where w_i is word i mod 4 of block ⌊i/4⌋. Rounding can
/// give `high` itself if the floats near it are further apart than (high − low)·2^-24. The numbers
/// are bit-identical on every machine.
///
/// Throws kInvalidArgument if the data is null, if `low` or `high` is not finite, or if low > high.
ATTN_API void fill_uniform(const Tensor& output, const RandomStream& random, float low = 0,
                           float high = 1, Context& context = Context::default_context());

/// Fills `output` with normally distributed numbers. Elements 4b … 4b+3 in row-major order are
/// computed from block b: two from its words (w0, w1), and two from (w2, w3) (Box & Muller 1958):
///
///   mean + deviation·r·cos(2π·w1·2^-32),  mean + deviation·r·sin(2π·w1·2^-32),
///   r = √(−2 ln((w0 + ½)·2^-32))
///
/// No number is further than 6.77 standard deviations from the mean. The logarithm, sine and cosine
/// are attn's own implementations in double precision, so the numbers are bit-identical on every
/// machine.
///
/// Throws kInvalidArgument if the data is null, if `mean` or `deviation` is not finite, or if
/// `deviation` is negative.
ATTN_API void fill_normal(const Tensor& output, const RandomStream& random, float mean = 0,
                          float deviation = 1, Context& context = Context::default_context());

}  // namespace attn
