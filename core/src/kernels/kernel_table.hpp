#pragma once

#include <cstdint>

#include "attn/element_type.hpp"
#include "attn/instruction_set.hpp"

/// The interface of the SIMD kernels to the rest of the core: one table of plain function pointers
/// for each instruction set. Nothing here depends on compiler flags. All kernels are noexcept and
/// use memory that the caller has checked and allocated. Each row of a result is bit-identical no
/// matter how the rows are divided among calls.
namespace attn::kernels {

using index = std::int64_t;

/// Number of columns in a panel of a packed matrix, for every instruction set: one cache line of
/// floats. Panel p contains columns 16p … 16p+15 as [depth][16], padded with zeros.
inline constexpr index kPanelWidth = 16;

/// Number of keys in a block that is processed along a row of scores. Blocks start at multiples of
/// this number, counted from key 0, regardless of the mask. Sums are therefore always formed in the
/// same order.
inline constexpr index kKeyTile = 256;

/// The largest number of keys for which few_keys.hpp computes attention. All of these keys fit in
/// one tile. With a limit of 64 keys, few_keys.hpp was no faster than the code for many tiles.
inline constexpr index kFewKeys = 16;

/// Number of keys per part if the keys of a query are split; a multiple of kKeyTile.
inline constexpr index kSplitKeys = 2 * kKeyTile;

/// Number of pieces of size `piece` that hold `count` elements; the last one may be partial.
constexpr index pieces(index count, index piece) { return (count + piece - 1) / piece; }

constexpr index round_up(index value, index multiple) { return pieces(value, multiple) * multiple; }

/// Number of floats in the packed form of a (cols × depth) matrix.
constexpr index packed_size(index cols, index depth) { return round_up(cols, kPanelWidth) * depth; }

/// Two bf16 numbers, the first in the low half. Instructions multiply the numbers of one pair by
/// the numbers of another pair, and add the products. A contiguous row of bf16 numbers is a row of
/// pairs.
struct __attribute__((may_alias)) Bf16Pair {
  std::uint16_t first, second;
};

/// Number of pairs in the packed form of a (cols × depth) matrix of bf16. Panels are like panels of
/// floats, with pairs along the depth and a zero if the last pair has no second number.
constexpr index bf16_packed_size(index cols, index depth) {
  return round_up(cols, kPanelWidth) * ((depth + 1) / 2);
}

/// C = A · Bᵀ + bias for one block of rows: A (rows × depth), B (cols × depth) packed. With `add`,
/// C += A · Bᵀ, without a bias.
struct ProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  const float* a = nullptr;
  index a_row = 0;  ///< stride between rows
  index a_col = 1;
  const float* packed_b = nullptr;
  const float* bias = nullptr;  ///< cols values, or null
  float* c = nullptr;
  index c_row = 0;
  index c_col = 1;
  bool add = false;
};

/// C = A · Bᵀ + bias with a packed B of bf16 and an A that is bf16 or is rounded to bf16. Products
/// are exact, and their sums are float32.
struct Bf16ProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  const float* a = nullptr;               ///< or null
  const std::uint16_t* bf16_a = nullptr;  ///< used if `a` is null
  index a_row = 0;
  index a_col = 1;
  const Bf16Pair* packed_b = nullptr;
  const float* bias = nullptr;  ///< cols values, or null
  float* c = nullptr;
  index c_row = 0;
  index c_col = 1;
};

/// C = A · Bᵀ + bias with a packed B of finite 16-bit numbers. The result is bit-identical to a
/// product with the same numbers as floats.
struct StoredProductArgs {
  index rows = 0;
  index cols = 0;
  index depth = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  ElementType type = ElementType::kFloat16;
  /// Packed into panels, as float matrices are. For kBFloat16, panels consist of pairs; see
  /// bf16_packed_size().
  const void* packed_b = nullptr;
  const float* bias = nullptr;  ///< cols values, or null
  float* c = nullptr;
  index c_row = 0;
  index c_col = 1;
};

/// The stages of a score on its way to a weight, in the order of the attention contract.
enum class ScoreStage : int {
  kScaled,   ///< scale · q·k plus the relative-key term
  kCapped,   ///< after softcap
  kBiased,   ///< after bias and exclusion: −∞ where excluded
  kWeights,  ///< after softmax and dropout
};

/// Rows as they are stored, with contiguous columns.
struct StoredRows {
  ElementType type = ElementType::kFloat32;
  const void* data = nullptr;
  index row = 0;                  ///< stride, in elements
  const float* scales = nullptr;  ///< for kInt8: factor of each row
  index scale_row = 0;
};

/// One head of one batch entry.
struct AttentionHead {
  index num_queries = 0;
  index num_keys = 0;
  index head_dim = 0;
  index value_dim = 0;

  const float* query = nullptr;  ///< (num_queries, head_dim)
  index query_row = 0;
  index query_col = 1;
  const float* key = nullptr;  ///< (num_keys, head_dim), unit column stride
  index key_row = 0;
  /// (num_keys, value_dim): unit column stride, readable up to a whole vector beyond value_dim.
  const float* value = nullptr;
  index value_row = 0;
  /// Keys and values of any type, for a single query.
  StoredRows stored_key, stored_value;

  float* output = nullptr;  ///< (num_queries, value_dim)
  index output_row = 0;
  index output_col = 1;
  float* log_sum_exp = nullptr;  ///< (num_queries) or null
  index log_sum_exp_row = 0;

  float scale = 1;
  float softcap = 0;  ///< 0: none

  // Exclusion.
  /// Query i may attend only to keys [key_begin[i], key_end[i]).
  const std::int32_t* key_begin = nullptr;
  const std::int32_t* key_end = nullptr;
  const std::uint8_t* mask = nullptr;  ///< (num_queries, mask_cols), or null; zeros exclude keys
  index mask_row = 0;
  index mask_col = 0;
  index mask_cols = 0;  ///< keys from here on are excluded

  // Bias.
  const float* bias = nullptr;  ///< (num_queries, bias_cols), added to the score; or null
  index bias_row = 0;
  index bias_col = 0;
  index bias_cols = 0;  ///< keys from here on are excluded
  /// distance_bias[j − i] is added to the score of query i and key j, for every i and j; or null.
  const float* distance_bias = nullptr;
  /// An extra score that has no value row; −∞ if there is none.
  float sink = -__builtin_inff();

  // Shaw's relative keys and values, for 2·max_distance+1 distances. Entry c applies to query i and
  // key j at distance j − (i + relative_offset) = c − max_distance. The first and last entries also
  // apply to all larger distances.
  index max_distance = 0;
  index relative_offset = 0;
  const float* packed_relative_keys = nullptr;  ///< packed (2·max_distance+1 × head_dim), or null
  /// (2·max_distance+1, value columns rounded up to whole vectors), or null
  const float* relative_values = nullptr;

  // Dropout of weights, if random_words is not null: word j of row i decides whether key j is
  // dropped.
  void (*random_words)(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block,
                       index blocks, std::uint32_t* words) noexcept = nullptr;
  std::uint64_t random_seed = 0;
  std::uint64_t random_stream = 0;
  index dropout_row = 0;         ///< number of rows of weights that precede this head's rows
  std::uint32_t drop_below = 0;  ///< a weight is dropped if its word is below this
  float kept_factor = 1;
};

/// A head with bf16 query, key and value; without relative keys and values and without dropout.
struct Bf16AttentionHead : AttentionHead {
  const std::uint16_t* query = nullptr;  ///< (num_queries, head_dim)
  const std::uint16_t* key = nullptr;    ///< (num_keys, head_dim), unit column stride
  const std::uint16_t* value = nullptr;  ///< (num_keys, value_dim), unit column stride
};

/// The output for the scores at one stage: (num_queries, num_keys).
struct ScoreOutput {
  ScoreStage stage = ScoreStage::kWeights;
  float* data = nullptr;
  index row = 0;
  index col = 1;
};

/// Columns of a sinusoidal table: column c is sin(2π·(frequency[c]·p + offset[c])) at position p.
/// The arrays are readable for kPanelWidth more columns.
struct SinusoidColumns {
  index count = 0;
  const double* frequency = nullptr;  ///< turns per position
  const double* offset = nullptr;     ///< turns: 0 for a sine, 1/4 for a cosine
  /// Factor on every value; only `sinusoids` uses it.
  double amplitude = 1;
  /// Cosine and sine of the angle from one row to the next; only `rotated_sinusoids` uses them.
  const double* step_cos = nullptr;
  const double* step_sin = nullptr;
};

/// The number of rows of a sinusoidal table that are computed by rotating one exact row.
inline constexpr index kSinusoidRows = 64;

/// out[i, c] = keep[c]·x[i, c] + cross[c]·x[i, partner of c], for an even number of columns.
/// Partners are columns 2j and 2j + 1, or columns j and j + cols/2. out may be x.
struct RotationArgs {
  index rows = 0;
  index cols = 0;
  bool interleaved = true;  ///< partners are columns 2j and 2j + 1
  const float* keep = nullptr;
  const float* cross = nullptr;
  index table_row = 0;  ///< row stride of keep and cross; 0 if each is one row for all rows of x
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
};

/// Softmax over each row of x. Excluded columns and scores of −∞ get 0. If no other score is left
/// in a row, the whole row is 0. out may be x.
struct SoftmaxArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
  /// If not null, only the first lengths[i·length_row] columns of row i take part.
  const std::int32_t* lengths = nullptr;
  index length_row = 0;
  const std::uint8_t* mask = nullptr;  ///< (rows, cols), or null; zeros exclude elements
  index mask_row = 0;
  index mask_col = 0;
};

/// Computes out[i, c] from a[i, c] and b[i, c]. out may be a or b.
struct ElementwiseArgs {
  index rows = 0;
  index cols = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  const float* b = nullptr;
  index b_row = 0;
  index b_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
};

/// Merges the output rows and log-sum-exps of attention over two parts of the keys. A part whose
/// log-sum-exp is −∞ is not read. out may be a or b.
struct MergeArgs {
  index rows = 0;
  index cols = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  const float* log_sum_exp_a = nullptr;
  index log_sum_exp_a_row = 0;
  const float* b = nullptr;
  index b_row = 0;
  index b_col = 1;
  const float* log_sum_exp_b = nullptr;
  index log_sum_exp_b_row = 0;
  float* out = nullptr;  ///< or null
  index out_row = 0;
  index out_col = 1;
  float* log_sum_exp = nullptr;  ///< or null
  index log_sum_exp_row = 0;
  float* weights = nullptr;  ///< (rows, 2): the factors on a and b; or null
};

/// to[i, c] = from[i, c] as a float, or 0 for c ≥ cols.
struct WidenArgs {
  index rows = 0;
  index cols = 0;
  index padded_cols = 0;  ///< columns of `to`; at least cols
  StoredRows from;
  index from_col = 1;
  float* to = nullptr;
  index to_row = 0;
  index to_col = 1;
};

/// to[i, c] = the number of type `type` that is nearest to from[i, c], ties to even. With kInt8, a
/// row is first multiplied by 127 / its largest magnitude, and its scale is that magnitude / 127,
/// but at most kLargestScale. The scale is NaN if the row contains a number that is not finite. If
/// the scale would be below kSmallestScale, the scale and the row are zero.
struct NarrowArgs {
  index rows = 0;
  index cols = 0;
  const float* from = nullptr;
  index from_row = 0;
  index from_col = 1;
  ElementType type = ElementType::kFloat32;
  void* to = nullptr;
  index to_row = 0;
  index to_col = 1;
  float* scales = nullptr;  ///< (rows), for kInt8
  index scale_row = 0;
};

/// The smallest scale of an int8 row: the smallest normal float.
inline constexpr float kSmallestScale = 0x1p-126F;
/// The largest scale of an int8 row. 127 times this scale is finite, unlike 127 times the float
/// nearest to FLT_MAX / 127.
inline constexpr float kLargestScale = 0x1.020406p+121F;

/// How a score is computed from a query and a key.
enum class PairScore : int {
  kAdditive,      ///< Σ_d w_d·tanh(q_d + k_d)
  kDot,           ///< factor · Σ_d q_d·k_d
  kGaussian,      ///< factor · Σ_d (q_d − k_d)²
  kBoxcar,        ///< 1 where factor·‖q − k‖ < 1, else 0
  kEpanechnikov,  ///< max(1 − factor·‖q − k‖, 0)
  kConstant,      ///< 1
};

/// Pools the values of one batch entry. Weights are the softmax of the scores or, for kBoxcar and
/// the kinds after it, the scores divided by their sum. A query whose weights sum to zero gets
/// zeros. Excluded keys, and keys beyond a kernel's edge, are not used in any computation.
struct PoolingArgs {
  PairScore score = PairScore::kDot;
  bool hard = false;  ///< the first key with the highest score gets weight 1
  float factor = 1;
  index num_keys = 0;
  index depth = 0;
  index value_dim = 0;
  const float* query = nullptr;  ///< (queries, depth)
  index query_row = 0;
  index query_col = 1;
  const float* packed_keys = nullptr;     ///< packed (num_keys × depth); none for kConstant
  const float* column_weights = nullptr;  ///< (depth), for kAdditive
  const float* value = nullptr;           ///< (num_keys, value_dim)
  index value_row = 0;
  index value_col = 1;
  float* output = nullptr;  ///< (queries, value_dim)
  index output_row = 0;
  index output_col = 1;
  const std::int32_t* key_end = nullptr;  ///< query i attends to keys [0, key_end[i]) only
  const std::uint8_t* mask = nullptr;     ///< (queries, num_keys), or null; zeros exclude keys
  index mask_row = 0;
  index mask_col = 0;
  float excluded_score = 0;
  float* scores = nullptr;  ///< (queries, num_keys) or null
  index scores_row = 0;
  index scores_col = 1;
  float* weights = nullptr;  ///< (queries, num_keys) or null
  index weights_row = 0;
  index weights_col = 1;
};

/// One step of a recurrent layer for several sequences, after the step's matrix products. The
/// arrays are readable, and next_state is writable, up to a whole panel beyond each row.
struct RecurrentCellArgs {
  index rows = 0;
  index hidden = 0;
  const float* from_input = nullptr;  ///< (rows, gates · hidden)
  index from_input_row = 0;
  const float* from_state = nullptr;  ///< (rows, gates · hidden)
  index from_state_row = 0;
  const float* state = nullptr;  ///< (rows, hidden)
  float* next_state = nullptr;
  index state_row = 0;
  bool relu = false;  ///< for rnn_cell: ReLU instead of tanh
};

/// out[i, c] = f(x[i, c]), or f(x[i, c]) · factor[i, c]. out may be x or factor.
struct MapArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  const float* factor = nullptr;  ///< or null
  index factor_row = 0;
  index factor_col = 1;
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
};

/// The statistics of a row that the backward pass of a norm needs: x̂ = ((x − mean) − shift) ·
/// factor.
struct RowStatistics {
  float mean = 0;
  float shift = 0;  ///< rounding error of the mean
  float factor = 0;
};

/// Subtracts the mean from each row of x, or of x + addend, and divides the row by the root of its
/// mean square. Then multiplies by weight and adds bias. out may be x or addend.
struct NormArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  const float* addend = nullptr;  ///< or null
  index addend_row = 0;
  index addend_col = 1;
  bool centred = true;            ///< if false, the mean is not subtracted
  const float* weight = nullptr;  ///< cols values, or null
  float weight_offset = 0;        ///< added to each weight
  const float* bias = nullptr;    ///< cols values, or null; only allowed with a weight
  float epsilon = 0;              ///< added to the mean square
  float* out = nullptr;
  index out_row = 0;
  index out_col = 1;
  RowStatistics* statistics = nullptr;  ///< (rows), or null
};

/// out[i] = 0 where words[i] >> 8 < drop_below, else factor · x[i]. out may be x.
struct DropoutArgs {
  index count = 0;
  const std::uint32_t* words = nullptr;
  std::uint32_t drop_below = 0;  ///< at most 2^24
  float factor = 1;
  const float* x = nullptr;
  index x_col = 1;
  float* out = nullptr;
  index out_col = 1;
};

struct KernelTable {
  InstructionSet instruction_set;

  /// Number of floats in one SIMD vector.
  index vector_width;

  /// Packs a (cols × depth) matrix with element (c, k) at b[c·col_stride + k·depth_stride].
  void (*pack)(index cols, index depth, const float* b, index col_stride, index depth_stride,
               float* packed) noexcept;

  /// The best number of rows for one call if several threads share a product, and the number of
  /// scratch floats that a call needs.
  index product_rows;
  /// The number of rows in a call should be a multiple of this number.
  index product_tile_rows;
  index (*product_scratch)(index depth) noexcept;
  void (*product)(const ProductArgs&, float* scratch) noexcept;
  /// The largest number of rows for stored_product; with more, widening panels is faster.
  index stored_product_rows;
  void (*stored_product)(const StoredProductArgs&) noexcept;
  /// Converts panels of 16-bit numbers to panels of floats, starting with the panel at `from`.
  void (*widen_panels)(ElementType, index cols, index depth, const void* from, float* to) noexcept;

  /// The best number of queries for one call, and the number of scratch floats that a call needs.
  index attention_rows;
  /// The index of each call's first query is a multiple of this number.
  index attention_step;
  index (*attention_scratch)(const AttentionHead&) noexcept;
  /// Computes attention for queries [row_begin, row_end) of a head; row_begin is a multiple of
  /// attention_step. Writes output, log-sum-exp, and each of the `num_scores` score outputs.
  void (*attend)(const AttentionHead&, index row_begin, index row_end, const ScoreOutput* scores,
                 int num_scores, float* scratch) noexcept;

  /// Computes attention for all queries of a head with 1 to kFewKeys keys. Supports a scale and key
  /// ranges, but no other option that changes scores or weights. There must be at least
  /// vector_width output columns, and they must be contiguous. Values need not be readable beyond
  /// these columns. Outputs and scratch are the same as for `attend`.
  void (*attend_few_keys)(const AttentionHead&, const ScoreOutput* scores, int num_scores,
                          float* scratch) noexcept;

  /// The following functions process one query over its keys, which are split into blocks of
  /// kSplitKeys. attend_part fills part_size floats for each block. merge_parts merges the parts in
  /// order and writes the results.
  index (*part_size)(const AttentionHead&) noexcept;
  void (*attend_part)(const AttentionHead&, index row, index key_begin, index key_end, float* part,
                      float* scratch) noexcept;
  void (*merge_parts)(const AttentionHead&, index row, const float* parts, index num_parts,
                      const ScoreOutput* scores, int num_scores, float* scratch) noexcept;

  /// Computes rows [skip, skip + rows) of a table that starts at position `anchor`; skip + rows ≤
  /// kSinusoidRows.
  void (*rotated_sinusoids)(const SinusoidColumns&, double anchor, index skip, index rows,
                            float* out, index out_row, index out_col) noexcept;
  /// Computes one row for each position, separately.
  void (*sinusoids)(const SinusoidColumns&, const double* positions, index rows, float* out,
                    index out_row, index out_col) noexcept;

  void (*rotate_pairs)(const RotationArgs&) noexcept;

  /// `scratch` has one float per column, rounded up to whole vectors.
  void (*softmax)(const SoftmaxArgs&, float* scratch) noexcept;

  void (*add)(const ElementwiseArgs&) noexcept;

  void (*widen)(const WidenArgs&) noexcept;
  void (*narrow)(const NarrowArgs&) noexcept;

  void (*merge)(const MergeArgs&) noexcept;

  /// Pools queries [row_begin, row_end); scratch has value_dim floats, rounded up to whole panels.
  void (*pool)(const PoolingArgs&, index row_begin, index row_end, float* scratch) noexcept;

  void (*gru_cell)(const RecurrentCellArgs&) noexcept;
  void (*rnn_cell)(const RecurrentCellArgs&) noexcept;
  void (*relu)(const MapArgs&) noexcept;
  void (*gelu)(const MapArgs&) noexcept;
  void (*gelu_tanh)(const MapArgs&) noexcept;
  void (*silu)(const MapArgs&) noexcept;
  void (*tanh)(const MapArgs&) noexcept;
  void (*sigmoid)(const MapArgs&) noexcept;

  /// `scratch` has one float per column, rounded up to whole vectors.
  void (*norm)(const NormArgs&, float* scratch) noexcept;

  /// Writes the words of RandomStream{seed, stream}, starting at block first_block, four per block.
  void (*random_words)(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block,
                       index num_blocks, std::uint32_t* out) noexcept;
  void (*dropout)(const DropoutArgs&) noexcept;
};

/// An instruction set's kernels for products of bf16 pairs. All other operations use the float
/// kernels of another instruction set.
struct Bf16Table {
  InstructionSet instruction_set;

  // As in KernelTable, with the same amount of scratch memory.
  index product_rows;
  index product_tile_rows;
  index (*product_scratch)(index depth) noexcept;
  void (*product)(const Bf16ProductArgs&, float* scratch) noexcept;
  index attention_rows;
  index attention_step;
  index (*attention_scratch)(const AttentionHead&) noexcept;
  void (*attend)(const Bf16AttentionHead&, index row_begin, index row_end, float* scratch) noexcept;
};

/// One function for each translation unit in isa/. Returns null if this build has no such kernels.
const KernelTable* scalar_table() noexcept;
const KernelTable* sse4_1_table() noexcept;
const KernelTable* avx2_table() noexcept;
const KernelTable* avx512_table() noexcept;
const Bf16Table* avx512_bf16_table() noexcept;
const Bf16Table* amx_bf16_table() noexcept;
const KernelTable* neon_table() noexcept;
const Bf16Table* neon_bf16_table() noexcept;
const KernelTable* wasm_simd128_table() noexcept;
const KernelTable* wasm_relaxed_simd_table() noexcept;

}  // namespace attn::kernels
