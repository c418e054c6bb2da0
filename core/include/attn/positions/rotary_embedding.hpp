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

/// Which two columns of a head are rotated together. Both give the same scores, for weights whose
/// rows are ordered accordingly.
enum class RotaryPairing : int {
  /// Columns 2j and 2j + 1: RoFormer, GPT-J, Meta's Llama, torchtune; MLX `traditional=True`; ONNX
  /// `interleaved=1`.
  kInterleaved,
  /// Columns j and j + rotary_dim/2: GPT-NeoX, Llama in Hugging Face's Transformers
  /// ("rotate_half"); MLX `traditional=False`; ONNX `interleaved=0`.
  kHalfSplit,
};

/// Position interpolation (Chen et al. 2023, arXiv:2306.15595), rope_type "linear":
/// ω'_j = ω_j / factor; the same as dividing all positions by it. MLX's `scale` is 1 / factor.
struct LinearRotaryScaling {
  double factor = 1;  ///< here and below: any finite number above 0
};

/// Dynamic NTK scaling, rope_type "dynamic": for sequences of length L > max_position_embeddings
///
///   base' = base · (factor·L/max_position_embeddings − (factor − 1))^(d/(d−2)),
///
/// and no change up to there. L is RotaryPositions::sequence_length.
struct DynamicNtkRotaryScaling {
  double factor = 1;
  std::int64_t max_position_embeddings = 2048;
};

/// YaRN (Peng et al. 2023, arXiv:2309.00071), rope_type "yarn": with the ramp
/// r_j = clamp((j − low)/(high − low), 0, 1)
///
///   ω'_j = (1 − r_j)·ω_j + r_j·ω_j/factor,
///   low, high = d·ln(original_max_position_embeddings / (2π·β)) / (2·ln base) for β = beta_fast,
///   beta_slow, with `truncate` rounded down and up, then max(low, 0), min(high, d − 1), and
///   high + 0.001 if they are equal,
///
/// and all cosines and sines are multiplied by the attention factor.
struct YarnRotaryScaling {
  double factor = 1;
  std::int64_t original_max_position_embeddings = 2048;
  /// By default m(factor, mscale) / m(factor, mscale_all_dim) where both of these are given (as in
  /// DeepSeek), else m(factor, 1); m(s, x) = 0.1·x·ln s + 1 for s > 1, else 1.
  std::optional<double> attention_factor = {};
  double beta_fast = 32;
  double beta_slow = 1;
  std::optional<double> mscale = {};
  std::optional<double> mscale_all_dim = {};
  bool truncate = true;
};

/// Llama 3.1 and later, rope_type "llama3": with L = original_max_position_embeddings and
/// s_j = (L·ω_j/2π − low_freq_factor) / (high_freq_factor − low_freq_factor), clamped to [0, 1],
///
///   ω'_j = (1 − s_j)·ω_j/factor + s_j·ω_j
struct Llama3RotaryScaling {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
};

/// p-RoPE (Barbero et al. 2024, arXiv:2410.06205), rope_type "proportional", as Gemma's: the first
/// ⌊partial_rotary_factor · d/2⌋ pairs turn as they would in the whole head, ω'_j = ω_j / factor,
/// and the slow ones not at all, ω'_j = 0. d is the whole head: with a smaller rotary_dim other
/// columns would be partners, and turn faster.
struct ProportionalRotaryScaling {
  double partial_rotary_factor = 1;  ///< in [0, 1]
  double factor = 1;
};

/// LongRoPE (Ding et al. 2024, arXiv:2402.13753), rope_type "longrope": ω'_j = ω_j / λ_j, where λ
/// is long_factor for sequences of length L > original_max_position_embeddings, and short_factor up
/// to there. L is RotaryPositions::sequence_length. All cosines and sines are multiplied by the
/// attention factor, for sequences of any length.
struct LongRotaryScaling {
  std::vector<double> short_factor = {};  ///< λ_0 … λ_(d/2−1)
  std::vector<double> long_factor = {};
  std::int64_t original_max_position_embeddings = 4096;
  /// How many times longer the model's sequences may become; only for the attention factor.
  double factor = 1;
  /// By default √(1 + ln factor / ln original_max_position_embeddings) for factor > 1, else 1.
  std::optional<double> attention_factor = {};
};

/// How frequencies are changed to reach beyond the length of training, or to leave some columns
/// as they are: by nothing, or one rule.
using RotaryScaling =
    std::variant<std::monostate, LinearRotaryScaling, DynamicNtkRotaryScaling, YarnRotaryScaling,
                 Llama3RotaryScaling, ProportionalRotaryScaling, LongRotaryScaling>;

/// Which pairs turn with the position along which axis, for positions along several.
enum class RotaryAxes : int {
  /// The first section's pairs with the first axis, and so on: Qwen2-VL's M-RoPE.
  kSections,
  /// Pair j with axis j modulo their number while that has pairs left in its section, all others
  /// with the first: Qwen3-VL, "mrope_interleaved".
  kInterleaved,
  /// As kSections, and frequencies begin anew in each: ω_i = base^(−i/n) for pair i of a section of
  /// n. Vision transformers, Qwen2-VL's own among them.
  kAxial,
};

struct RotaryEmbeddingOptions {
  /// d: the leading columns of each head that are rotated; even. The others stay as they are. Has
  /// to be set: 0 is for AttentionPositions only, where it stands for the whole head.
  std::int64_t rotary_dim = 0;
  RotaryPairing pairing = RotaryPairing::kHalfSplit;
  double base = 10000;
  RotaryScaling scaling = {};
  /// When not empty, ω_0 … ω_(d/2−1) in radians per position, instead of base and scaling.
  /// MLX calls their reciprocals `freqs`.
  std::vector<double> frequencies = {};
  /// When not empty, positions have as many axes, such as time, height and width: the number of
  /// pairs for each, d/2 together. "mrope_section" in Transformers.
  std::vector<std::int64_t> sections = {};
  RotaryAxes axes = RotaryAxes::kSections;
};

/// Which positions the rows of a call have.
struct RotaryPositions {
  /// Row i has position start + i: with a key/value cache, the past length. Not used with
  /// `positions`.
  double start = 0;
  /// (N), or (B, N) for positions of their own in each batch entry; fractional and negative ones
  /// too. With several axes (A, B, N), or (A, 1, N) for those that the batch shares, as
  /// Transformers' position_ids; (N), (B, N) and `start` are then positions along all of them, such
  /// as those of text.
  TensorView<const double> positions = {};
  /// L of dynamic NTK scaling and LongRoPE, in [0, 2^53]; by default the largest position + 1.
  std::optional<double> sequence_length = {};
  /// Rotates back: the inverse of the rotation, for attention factor 1.
  bool inverse = false;
};

/// Rotary positional embedding (RoPE; Su et al. 2021, arXiv:2104.09864): rotates each pair (x, y)
/// of columns of queries and keys by an angle that grows with the position,
///
///   ⎛ x' ⎞       ⎛ cos(p·ω_j)  −sin(p·ω_j) ⎞   ⎛ x ⎞
///   ⎝ y' ⎠ = a · ⎝ sin(p·ω_j)   cos(p·ω_j) ⎠ · ⎝ y ⎠,   ω_j = base^(−2j/d) or scaled
///
/// so that the score of a query at p and a key at p' depends on p − p' alone. a is the attention
/// factor, 1 except with YaRN.
///
/// Scaling rules have the names, parameters and frequencies of `rope_scaling` in Hugging Face's
/// Transformers. Two differences: frequencies and angles are in double precision, where theirs are
/// in float32 and off by radians at far positions; and dynamic NTK keeps no state: L is that of the
/// call, where theirs is the longest sequence met so far.
class ATTN_API RotaryEmbedding {
 public:
  /// Throws kInvalidArgument for an odd rotary_dim or one below 2, a base that is not in
  /// [1e-100, ∞) (with YaRN: above 1), frequencies beyond ±1e100, parameters of the scaling rule
  /// outside their domains, sections that are negative or, where they take turns, too large for
  /// that; kShapeMismatch unless there are no or rotary_dim/2 frequencies, and sections of no or
  /// rotary_dim/2 pairs; kSizeOverflow.
  explicit RotaryEmbedding(const RotaryEmbeddingOptions& options);

  const RotaryEmbeddingOptions& options() const noexcept { return options_; }

  /// What cosines and sines are multiplied by.
  double attention_factor() const noexcept { return attention_factor_; }

  /// ω_0 … ω_(d/2−1), in radians per position, for sequences of length L; only those of dynamic NTK
  /// depend on it.
  std::vector<double> frequencies(double sequence_length = 0) const;

  /// output = x rotated: x (B, H, N, D), (B, N, D) or (N, D) with D ≥ rotary_dim and output of the
  /// same shape. Any strides; (B, N, H·D) is x.split_heads(H). output may be x itself, otherwise
  /// they must not overlap. Both may be of any type, in any mix: what is computed from the exact
  /// values of x, in float32, is rounded once where output is not float32.
  ///
  /// Error: within a · 1.7e-7 · (|x| + |y|) of the exact rotation for |positions| ≤ 2^24 (2e-7 with
  /// a ≠ 1), from that of the tables below and two to three float operations.
  ///
  /// Bits: a row depends on its values, position, frequencies, and the instruction set alone.
  ///
  /// Throws kShapeMismatch, std::bad_alloc, and kInvalidArgument for positions beyond ±2^53 and
  /// null data; output is then untouched.
  void forward(const ConstAnyTensor& x, const AnyTensor& output,
               const RotaryPositions& positions = {},
               Context& context = Context::default_context()) const;

  /// The same, recorded on the tape of x; also for x (B, N, num_heads·D) or (N, num_heads·D). The
  /// gradient is rotated back, with the same factor and within the same error. Positions are not
  /// needed any more afterwards.
  Variable forward(const Variable& x, const RotaryPositions& positions = {},
                   std::int64_t num_heads = 1) const;

  /// The tables of such a call: cos and sin, each (N, d/2) or (B, N, d/2), receive a·cos(p·ω_j) and
  /// ±a·sin(p·ω_j). With start 0 and shape (N, d/2) they are the caches that ONNX RotaryEmbedding
  /// and apply_rotary_embedding take.
  ///
  /// Error: each value is within 3.1e-8 + 1e-15·|p| of the exact one for |ω_j| ≤ 1 before scaling
  /// (4.8e-8 at position 2^24), within a·(6e-8 + 1e-15·|p|) with a ≠ 1. Without scaling it is
  /// 4.5e-16 instead of 1e-15. Frequencies above 1 multiply the second term. With YaRN's `truncate`
  /// off it grows where high − low is small, as the ramp is then steep.
  ///
  /// Errors as above.
  void tables(const Tensor& cos, const Tensor& sin, const RotaryPositions& positions = {},
              Context& context = Context::default_context()) const;

 private:
  /// The columns of a table for a call whose largest position is given.
  ATTN_LOCAL kernels::SinusoidColumns columns(const RotaryPositions& positions, double largest,
                                              runtime::Execution& run) const;

  RotaryEmbeddingOptions options_;
  double attention_factor_ = 1;
  /// Columns of a table, all cosines and then all sines, as the kernels take them: those of one
  /// axis side by side.
  std::vector<double> turns_;
  std::vector<double> offsets_;
  std::vector<std::int64_t> ends_;  ///< of each axis' columns among the cosines
  std::vector<std::int64_t> pair_;  ///< of each column; empty where it is the column's number
};

struct RotaryCacheOptions {
  /// Rows of the caches: (N), or (B, N). Without them row i of a sequence takes row i.
  TensorView<const std::int64_t> position_ids = {};
  RotaryPairing pairing = RotaryPairing::kHalfSplit;
  /// Columns rotated in each head; 0: twice the width of the caches. ONNX's rotary_embedding_dim.
  std::int64_t rotary_dim = 0;
  bool inverse = false;
};

/// The operator RotaryEmbedding of ONNX (opset 23): rotates with given tables instead of angles.
///
/// x and output as in RotaryEmbedding::forward, of any type, and the tables float32; ONNX's 3-D
/// input (B, N, H·D) with its attribute num_heads = H is x.split_heads(H). cos_cache and sin_cache:
/// (rows, rotary_dim/2) with position_ids, or (B, N, rotary_dim/2) or (N or more rows,
/// rotary_dim/2) without. Values are used as they are. Of the doubled tables of Hugging Face's
/// Transformers, (B, N, rotary_dim), take the first half: cos.slice(-1, 0, rotary_dim / 2).
///
/// Error: 1.2e-7 · (|x·cos| + |y·sin|), resp. with sin and cos exchanged.
///
/// Throws kShapeMismatch, std::bad_alloc, and kInvalidArgument for a rotary_dim that is odd or
/// negative, position_ids outside the caches and null data; output is then untouched.
ATTN_API void apply_rotary_embedding(const ConstAnyTensor& x, const ConstTensor& cos_cache,
                                     const ConstTensor& sin_cache, const AnyTensor& output,
                                     const RotaryCacheOptions& options = {},
                                     Context& context = Context::default_context());

}  // namespace attn
