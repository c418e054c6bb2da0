#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

class Variable;
namespace kernels {
struct SinusoidColumns;
}  // namespace kernels
namespace runtime {
class Execution;
}  // namespace runtime

/// The two columns of a head that are rotated together. Both pairings give the same scores if the
/// rows of the weights are in the matching order.
enum class RotaryPairing : int {
  /// Pairs columns 2j and 2j + 1, like RoFormer, GPT-J, Meta's Llama and torchtune, MLX with
  /// `traditional=True`, and ONNX with `interleaved=1`.
  kInterleaved,
  /// Pairs columns j and j + rotary_dim/2, like GPT-NeoX, Llama in Hugging Face's Transformers
  /// ("rotate_half"), MLX with `traditional=False`, and ONNX with `interleaved=0`.
  kHalfSplit,
};

/// Position interpolation (Chen et al. 2023, arXiv:2306.15595), rope_type "linear": ω'_j = ω_j /
/// factor, which has the same effect as dividing all positions by factor. MLX's `scale` is 1 /
/// factor.
struct LinearRotaryScaling {
  double factor = 1;  ///< finite number above 0, as in all rules
};

/// Dynamic NTK scaling, rope_type "dynamic". Sequences of length L > max_position_embeddings use a
/// larger base:
///
///   base' = base · (factor·L/max_position_embeddings − (factor − 1))^(d/(d−2))
///
/// For shorter sequences, base' = base. L is RotaryPositions::sequence_length.
struct DynamicNtkRotaryScaling {
  double factor = 1;
  std::int64_t max_position_embeddings = 2048;
};

/// YaRN (Peng et al. 2023, arXiv:2309.00071), rope_type "yarn", mixes ω_j and ω_j/factor along the
/// ramp r_j = clamp((j − low)/(high − low), 0, 1):
///
///   ω'_j = (1 − r_j)·ω_j + r_j·ω_j/factor
///
/// Here, low is d·ln(original_max_position_embeddings / (2π·beta_fast)) / (2·ln base), and high is
/// given by the same formula with beta_slow. With `truncate`, low is rounded down and high is
/// rounded up. Then low is replaced by max(low, 0) and high by min(high, d − 1). If the two are
/// then equal, 0.001 is added to high. All cosines and sines are multiplied by the attention
/// factor.
struct YarnRotaryScaling {
  double factor = 1;
  std::int64_t original_max_position_embeddings = 2048;
  /// The default is m(factor, mscale) / m(factor, mscale_all_dim) if both are set (as in DeepSeek),
  /// and m(factor, 1) otherwise, where m(s, x) = 0.1·x·ln s + 1 for s > 1 and 1 otherwise.
  std::optional<double> attention_factor = {};
  double beta_fast = 32;
  double beta_slow = 1;
  std::optional<double> mscale = {};
  std::optional<double> mscale_all_dim = {};
  bool truncate = true;
};

/// The rule of Llama 3.1 and later, rope_type "llama3". With L = original_max_position_embeddings
/// and s_j = (L·ω_j/2π − low_freq_factor) / (high_freq_factor − low_freq_factor), clamped to [0,
/// 1], the frequencies become
///
///   ω'_j = (1 − s_j)·ω_j/factor + s_j·ω_j
struct Llama3RotaryScaling {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
};

/// p-RoPE (Barbero et al. 2024, arXiv:2410.06205), rope_type "proportional", as in Gemma. The first
/// ⌊partial_rotary_factor · d/2⌋ pairs rotate as usual, ω'_j = ω_j / factor, and the slower pairs
/// do not rotate at all, ω'_j = 0. Set rotary_dim to the width of the whole head. A smaller
/// rotary_dim would change the frequencies and, with kHalfSplit, the pairs of columns.
struct ProportionalRotaryScaling {
  double partial_rotary_factor = 1;  ///< fraction of the pairs that rotate, in [0, 1]
  double factor = 1;
};

/// LongRoPE (Ding et al. 2024, arXiv:2402.13753), rope_type "longrope": ω'_j = ω_j / λ_j, where λ
/// is long_factor for sequences of length L > original_max_position_embeddings and short_factor for
/// all others. L is RotaryPositions::sequence_length. All cosines and sines are multiplied by the
/// attention factor, whatever the length.
struct LongRotaryScaling {
  std::vector<double> short_factor = {};  ///< λ_0 … λ_(d/2−1)
  std::vector<double> long_factor = {};
  std::int64_t original_max_position_embeddings = 4096;
  /// The length of the longest sequence divided by the length of the longest training sequence.
  /// Used for the attention factor only.
  double factor = 1;
  /// The default is √(1 + ln factor / ln original_max_position_embeddings) for factor > 1, and 1
  /// otherwise.
  std::optional<double> attention_factor = {};
};

/// A rule that changes the frequencies, either to extend a model beyond its training length or to
/// leave some columns unrotated. std::monostate changes nothing.
using RotaryScaling =
    std::variant<std::monostate, LinearRotaryScaling, DynamicNtkRotaryScaling, YarnRotaryScaling,
                 Llama3RotaryScaling, ProportionalRotaryScaling, LongRotaryScaling>;

/// For positions with several axes, selects which axis rotates which pairs.
enum class RotaryAxes : int {
  /// The position on the first axis rotates the pairs of the first section, and so on. This is
  /// Qwen2-VL's M-RoPE.
  kSections,
  /// Pair j is rotated by axis j mod A of the A axes while this axis has pairs left in its section;
  /// the first axis rotates all other pairs. This is Qwen3-VL's "mrope_interleaved".
  kInterleaved,
  /// Like kSections, but frequencies start again in each section: ω_i = base^(−i/n) for pair i of a
  /// section of n. Used by vision transformers, including Qwen2-VL's.
  kAxial,
};

struct RotaryEmbeddingOptions {
  /// d, the number of leading columns of each head that are rotated; must be even. The other
  /// columns do not change. You must set it: 0 is allowed only in AttentionPositions, where it
  /// means the whole head.
  std::int64_t rotary_dim = 0;
  RotaryPairing pairing = RotaryPairing::kHalfSplit;
  double base = 10000;
  RotaryScaling scaling = {};
  /// If not empty, the frequencies ω_0 … ω_(d/2−1) in radians per position, which replace `base`
  /// and `scaling`. MLX calls their reciprocals `freqs`.
  std::vector<double> frequencies = {};
  /// If not empty, the number of pairs for each axis of the positions, such as time, height and
  /// width; the sum is d/2. Hugging Face's Transformers calls this list "mrope_section".
  std::vector<std::int64_t> sections = {};
  RotaryAxes axes = RotaryAxes::kSections;
};

/// The positions of the rows of a call.
struct RotaryPositions {
  /// Row i has position start + i. With a key/value cache, pass the past length. Ignored if
  /// `positions` are given.
  double start = 0;
  /// Shape (N), or (B, N) if batch entries have different positions. Positions may be fractional or
  /// negative. For several axes, the shape is (A, B, N), or (A, 1, N) if the batch shares the
  /// positions, like Transformers' position_ids; with (N), (B, N) or `start`, the position is the
  /// same along all axes, as for text.
  TensorView<const double> positions = {};
  /// The length L for dynamic NTK scaling and LongRoPE, in [0, 2^53]; by default the largest
  /// position + 1.
  std::optional<double> sequence_length = {};
  /// Rotates backwards, which inverts the rotation if the attention factor is 1.
  bool inverse = false;
};

/// Rotary positional embedding (RoPE; Su et al. 2021, arXiv:2104.09864): rotates each pair (x, y)
/// of columns of queries and keys by an angle that grows with the position:
///
///   ⎛ x' ⎞       ⎛ cos(p·ω_j)  −sin(p·ω_j) ⎞   ⎛ x ⎞
///   ⎝ y' ⎠ = a · ⎝ sin(p·ω_j)   cos(p·ω_j) ⎠ · ⎝ y ⎠,   ω_j = base^(−2j/d) or scaled
///
/// The score of a query at position p and a key at position p' then depends on p and p' only
/// through p − p'. The attention factor a is 1 except with YaRN and LongRoPE.
///
/// Scaling rules have the names, parameters and frequencies of `rope_scaling` in Hugging Face's
/// Transformers, with two differences. First, frequencies and angles are computed in double
/// precision. Transformers computes them in float32, so at large positions its angles are off by
/// radians. Second, dynamic NTK keeps no state: L belongs to the call, whereas in Transformers it
/// is the length of the longest sequence seen so far.
class ATTN_API RotaryEmbedding {
 public:
  /// Throws kInvalidArgument for a rotary_dim that is odd or below 2, a base that is not in
  /// [1e-100, ∞) (with YaRN: above 1), frequencies beyond ±1e100, parameters of the scaling rule
  /// outside their domains, and sections that are negative or, with kInterleaved, too large to
  /// alternate. Throws kShapeMismatch unless `frequencies` is empty or has rotary_dim/2 elements,
  /// and unless `sections` is empty or has rotary_dim/2 pairs in total. May also throw
  /// kSizeOverflow.
  explicit RotaryEmbedding(const RotaryEmbeddingOptions& options);

  const RotaryEmbeddingOptions& options() const noexcept { return options_; }

  /// The factor by which all cosines and sines are multiplied.
  double attention_factor() const noexcept { return attention_factor_; }

  /// The frequencies ω_0 … ω_(d/2−1) in radians per position for sequences of length
  /// `sequence_length`. They depend on the length only with dynamic NTK and LongRoPE.
  std::vector<double> frequencies(double sequence_length = 0) const;

  /// Rotates `x` and writes the result to `output`. `x` is (B, H, N, D), (B, N, D) or (N, D) with D
  /// ≥ rotary_dim; `output` has the same shape. Both may have any strides; for (B, N, H·D) pass
  /// x.split_heads(H). `output` may be `x` itself; otherwise the two must not overlap. Both may
  /// have any element types: the result is computed in float32 from the exact values of x and
  /// rounded once if `output` is not float32.
  ///
  /// Error: for |positions| ≤ 2^24, each value is within a · 1.7e-7 · (|x| + |y|) of the exact
  /// rotation. If a ≠ 1, the factor is 2e-7 instead of 1.7e-7. The bound covers the error of
  /// tables() and the rounding of two or three float operations.
  ///
  /// The bits of a row depend only on its values, its position, the frequencies and the instruction
  /// set.
  ///
  /// Throws kInvalidArgument for positions beyond ±2^53 or a null data pointer. May also throw
  /// kShapeMismatch or std::bad_alloc. If it throws, `output` is unchanged.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               const RotaryPositions& positions = {},
               Context& context = Context::default_context()) const;

  /// Like forward() for tensors, but records the computation on the tape of `x`. `x` may also be
  /// (B, N, num_heads·D) or (N, num_heads·D). The gradient is rotated backwards, with the same
  /// factor and the same error bound. Positions need not outlive the call.
  Variable forward(const Variable& x, const RotaryPositions& positions = {},
                   std::int64_t num_heads = 1) const;

  /// Writes the tables that forward() uses for these positions: `cos` and `sin`, each (N, d/2) or
  /// (B, N, d/2), receive a·cos(p·ω_j) and a·sin(p·ω_j). If `inverse` is set, the sines are
  /// negated. With start 0 and shape (N, d/2), they are the caches that ONNX RotaryEmbedding and
  /// apply_rotary_embedding() expect.
  ///
  /// Error: each value is within 3.1e-8 + 1e-15·|p| of the exact one for |ω_j| ≤ 1 before scaling
  /// (4.8e-8 at position 2^24), or within a·(6e-8 + 1e-15·|p|) with a ≠ 1. Without scaling, 4.5e-16
  /// replaces 1e-15 in these bounds. A frequency |ω_j| above 1 multiplies the second term by
  /// |ω_j|. With YaRN's `truncate` off, the second term also grows if high − low is small, because
  /// the ramp is then steep.
  ///
  /// Throws the same errors as forward().
  void tables(const Tensor& cos, const Tensor& sin, const RotaryPositions& positions = {},
              Context& context = Context::default_context()) const;

 private:
  /// The columns of a table for a call whose largest position is `largest`.
  ATTN_LOCAL kernels::SinusoidColumns columns(const RotaryPositions& positions, double largest,
                                              runtime::Execution& run) const;

  RotaryEmbeddingOptions options_;
  double attention_factor_ = 1;
  /// Columns of a table as the kernels expect them: all cosines, then all sines, with the columns
  /// of each axis contiguous.
  std::vector<double> turns_;
  std::vector<double> offsets_;
  std::vector<std::int64_t> ends_;  ///< index after the last cosine column of each axis
  /// pair_[j] is the pair that column j of the cosines rotates. Empty if column j rotates pair j.
  std::vector<std::int64_t> pair_;
};

struct RotaryCacheOptions {
  /// The row of the caches for each token: (N) or (B, N). By default row i of a sequence uses row i
  /// of the caches.
  TensorView<const std::int64_t> position_ids = {};
  RotaryPairing pairing = RotaryPairing::kHalfSplit;
  /// The number of columns rotated in each head; 0 means twice the width of the caches. ONNX calls
  /// it rotary_embedding_dim.
  std::int64_t rotary_dim = 0;
  bool inverse = false;
};

/// Implements ONNX's operator RotaryEmbedding (opset 23), which rotates with given tables instead
/// of angles.
///
/// `x` and `output` are as in RotaryEmbedding::forward and may have any element types; the tables
/// are float32. For ONNX's 3-D input (B, N, H·D) with num_heads = H, pass x.split_heads(H). With
/// position_ids, `cos_cache` and `sin_cache` are (rows, rotary_dim/2). Without position_ids, they
/// are (B, N, rotary_dim/2), or (rows, rotary_dim/2) with at least N rows. The values of the caches
/// are used unchanged. Hugging Face's Transformers doubles its tables to (B, N, rotary_dim): pass
/// only the first half, cos.slice(-1, 0, rotary_dim / 2).
///
/// Error: at most 1.2e-7 · (|x·cos| + |y·sin|) for x' and 1.2e-7 · (|x·sin| + |y·cos|) for y', with
/// x, y, x' and y' as in RotaryEmbedding.
///
/// Throws kInvalidArgument for a rotary_dim that is odd or negative, position_ids outside the
/// caches or a null data pointer. May also throw kShapeMismatch or std::bad_alloc. If it throws,
/// `output` is unchanged.
ATTN_API void apply_rotary_embedding(const ConstAnyTensor& x, const ConstTensor& cos_cache,
                                     const ConstTensor& sin_cache, const AnyTensor& output,
                                     const RotaryCacheOptions& options = {},
                                     Context& context = Context::default_context());

}  // namespace attn
