#pragma once

#include "kernels/kernel_table.hpp"

/// The SIMD kernels for training. They have a table of their own for each instruction set, so that
/// programs that only run inference do not link them. The rules of KernelTable apply.
namespace attn::kernels {

/// The inputs and outputs of a head's backward pass that AttentionHead does not have.
struct AttentionGradientHead {
  const float* output_gradient = nullptr;  ///< (num_queries, value_dim)
  index output_gradient_row = 0;
  index output_gradient_col = 1;
  const float* log_sum_exp = nullptr;  ///< (num_queries), from the forward pass
  const float* delta = nullptr;        ///< (num_queries): Σ_d output_id · output_gradient_id
  /// (2·max_distance+1, head_dim rounded up to whole vectors): Shaw's keys; or null. Replaces
  /// AttentionHead::packed_relative_keys.
  const float* relative_keys = nullptr;
  bool relative_keys_are_finite = true;

  /// (num_queries, num_keys): the gradient of the weights before dropout, or null. Written only for
  /// keys that a query may attend to.
  float* weights = nullptr;
  index weight_row = 0;
  index weight_col = 1;

  // The kernel adds to the following gradients, each of which may be null.
  /// (num_queries, num_keys): the gradient of the biased scores.
  float* scores = nullptr;
  index score_row = 0;
  index score_col = 1;
  /// The gradient of the bias; either stride may be zero.
  float* bias = nullptr;
  index bias_row = 0;
  index bias_col = 1;
  /// The gradient of AttentionHead::distance_bias, indexed by j − i, for every i and j.
  float* distances = nullptr;
  float* relative_key_gradients = nullptr;    ///< as relative_keys
  float* relative_value_gradients = nullptr;  ///< as AttentionHead::relative_values
};

/// The keys of one task of the backward pass: copies of their rows in whole vectors, and the
/// gradients that queries have added so far.
struct KeyChunk {
  index key_begin = 0;  ///< a multiple of gradient_keys
  index key_end = 0;
  float* keys = nullptr;             ///< (gradient_keys, head_dim rounded up to whole vectors)
  float* key_gradients = nullptr;    ///< (gradient_keys, head_dim rounded up to whole vectors)
  float* values = nullptr;           ///< (gradient_keys, value_dim rounded up to whole vectors)
  float* value_gradients = nullptr;  ///< (gradient_keys, value_dim rounded up to whole vectors)
  bool is_finite = true;             ///< true if all keys and values are finite
};

/// sums[i] = Σ_c a[i, c] · b[i, c].
struct RowDotsArgs {
  index rows = 0;
  index cols = 0;
  const float* a = nullptr;
  index a_row = 0;
  index a_col = 1;
  const float* b = nullptr;
  index b_row = 0;
  index b_col = 1;
  float* sums = nullptr;
};

/// sums[c] = factor · Σ_i x[i, c], or sums[c] += … with `more`.
struct ColumnSumsArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;  ///< contiguous rows
  index x_row = 0;
  const index* which = nullptr;  ///< (rows), or null: reads row which[i] of x instead of row i
  float factor = 1;
  bool more = false;  ///< adds to the existing sums
  float* sums = nullptr;
};

/// The backward pass of f(x), or of f(x) ∘ factor.
struct ActivationGradientArgs {
  index count = 0;
  const float* x = nullptr;
  const float* factor = nullptr;  ///< or null
  const float* output_gradient = nullptr;
  float* gradient = nullptr;         ///< gradient of x, or null
  float* factor_gradient = nullptr;  ///< or null
};

/// The backward pass of a norm over contiguous rows.
struct NormGradientArgs {
  index rows = 0;
  index cols = 0;
  bool centred = true;
  const float* x = nullptr;
  const RowStatistics* statistics = nullptr;  ///< (rows)
  const float* weight = nullptr;  ///< (cols rounded up to whole vectors), padded with zeros
  const float* output_gradient = nullptr;
  float* gradient = nullptr;  ///< gradient of x, or null
  // Sums over these rows, (cols rounded up to whole vectors), or null.
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
};

/// The cross entropy of rows of logits with one target each, and its gradient:
///
///   losses[i]      = (1 − s)·(lse_i − x[i, t_i]) + s·(lse_i − mean_c x[i, c])
///   gradient[i, c] = factor · (exp(x[i, c] − lse_i) − (1 − s)·[c = t_i] − s/cols)
///
/// with s the smoothing and lse_i = ln Σ_c exp(x[i, c]). Rows without a target have loss and
/// gradient 0.
struct CrossEntropyArgs {
  index rows = 0;
  index cols = 0;
  const float* x = nullptr;
  index x_row = 0;
  index x_col = 1;
  const index* targets = nullptr;  ///< (rows); negative for a row without a target
  double smoothing = 0;
  double factor = 1;
  float* gradient = nullptr;  ///< (rows, cols), contiguous rows; or null
  double* losses = nullptr;   ///< (rows)
};

/// A step of stochastic gradient descent for `count` parameters; see attn::Sgd.
struct SgdArgs {
  index count = 0;
  float* values = nullptr;
  const float* gradient = nullptr;
  float* momentum_buffer = nullptr;  ///< null if there is no momentum
  float learning_rate = 0;
  float weight_decay = 0;
  float kept = 0;   ///< the buffer is multiplied by this factor
  float added = 1;  ///< this factor times the gradient is added to the buffer
  float momentum = 0;
  bool nesterov = false;
};

/// A step of Adam or AdamW for `count` parameters; see attn::Adam.
struct AdamArgs {
  index count = 0;
  float* values = nullptr;
  const float* gradient = nullptr;
  float* average = nullptr;
  float* square_average = nullptr;
  float average_rate = 0;  ///< 1 − β₁
  float square_rate = 0;   ///< 1 − β₂
  float step_size = 0;     ///< learning rate / (1 − β₁^t)
  float root_factor = 0;   ///< 1 / √(1 − β₂^t)
  float epsilon = 0;
  float gradient_decay = 0;  ///< this factor times the value is added to the gradient
  float value_decay = 0;     ///< this factor times the value is subtracted from the value
};

/// The backward pass of one step of a recurrent layer for several sequences; see RecurrentCellArgs.
struct RecurrentCellGradientArgs {
  index rows = 0;
  index hidden = 0;
  // (rows, gates · hidden): the products. The kernel replaces them with their gradients.
  float* from_input = nullptr;
  index from_input_row = 0;
  float* from_state = nullptr;
  index from_state_row = 0;
  const float* state = nullptr;  ///< (rows, hidden), before the step
  index state_row = 0;
  const float* output_gradient = nullptr;  ///< (rows, hidden)
  index output_gradient_row = 0;
  /// (rows, hidden). Before the call: the part of the output's gradient that the following step
  /// passes back; the kernel adds it to `output_gradient`. After the call: the part of the gradient
  /// of `state` that does not pass through the products.
  float* carried = nullptr;
  bool relu = false;  ///< for rnn_cell_gradient
};

/// How weights were computed from the scores of query-key pairs.
enum class PairWeight : int {
  kSoftmax,       ///< the softmax of scores
  kGaussian,      ///< the softmax of −distance² / (2·width²)
  kEpanechnikov,  ///< max(1 − distance/width, 0), divided by the row's sum
};

/// The backward pass of weights, row by row, with d = weight_gradient − Σ_j weight_j ·
/// weight_gradient_j:
///
///   kSoftmax       gradient_j = weight_j · d_j
///   kGaussian      gradient_j = weight_j · d_j / width²
///   kEpanechnikov  gradient_j = d_j / (Σ_k score_k · width · distance_j)
///
/// For kGaussian and kEpanechnikov, the gradients of query and key are then ±gradient · (key −
/// query). gradient_j is 0 if the weight or the distance is 0, even if other numbers are not
/// finite.
struct WeightGradientArgs {
  PairWeight pair = PairWeight::kSoftmax;
  index rows = 0;
  index cols = 0;
  const float* weights = nullptr;          ///< (rows, cols), like the arrays below
  const float* weight_gradient = nullptr;  ///< read only if the weight is not 0
  const float* scores = nullptr;           ///< −2 · distance²; unused for kSoftmax
  float width = 1;
  float* gradient = nullptr;
  float* selected = nullptr;    ///< weight_gradient, or 0 where the weight is 0; null if not needed
  float* width_sums = nullptr;  ///< (rows): the gradient of ln width, summed over j; or null
};

/// The term that one member of a pair adds to the gradient of the other.
enum class PairTerm : int {
  kOther,       ///< factor · x_n
  kDifference,  ///< factor · (x_n − y_i)
  kTanh,        ///< factor · tanh'(x_n + y_i)
};

/// sums[i] = Σ_n term(factor[i, n], x_n, y_i), over the pairs whose factor is not 0.
struct PairSumsArgs {
  PairTerm term = PairTerm::kOther;
  index rows = 0;
  index count = 0;  ///< number of vectors x_n
  index cols = 0;
  const float* factors = nullptr;
  index factor_row = 0;
  index factor_col = 1;
  const float* x = nullptr;               ///< (count, cols)
  const float* y = nullptr;               ///< (rows, cols); unused for kOther
  const float* column_weights = nullptr;  ///< (cols): factors on the sums, for kTanh
  float* sums = nullptr;                  ///< (rows, cols)
  float* tanh_sums = nullptr;             ///< (rows, cols): Σ_n factor · tanh(x_n + y_i); or null
};

struct TrainingTable {
  InstructionSet instruction_set;

  /// Number of queries in a block.
  index gradient_queries;
  /// Number of keys in a task of attention's backward pass. It is a multiple of every tile size.
  /// The gradients of these keys stay in a second-level cache while all queries are processed. The
  /// arguments are the numbers of keys and of key heads.
  index (*gradient_keys)(index keys, index heads) noexcept;
  /// Number of floats in a row padded to whole vectors.
  index (*padded_row)(index dim) noexcept;

  void (*row_dots)(const RowDotsArgs&) noexcept;
  void (*column_sums)(const ColumnSumsArgs&) noexcept;
  /// Σ (a_i − b_i)², or Σ a_i² if b is null. Products and sums are in double precision, and the
  /// result is the same for every instruction set.
  double (*sum_of_squares)(index count, const float* a, const float* b) noexcept;
  /// out_i = factor · (a_i − b_i), or factor · a_i if b is null; out may be a or b.
  void (*scaled_difference)(index count, float factor, const float* a, const float* b,
                            float* out) noexcept;
  /// out_i = a_i · b_i; out may be a or b.
  void (*multiply)(index count, const float* a, const float* b, float* out) noexcept;
  /// Scratch: cols rounded up to whole vectors.
  void (*cross_entropy)(const CrossEntropyArgs&, float* scratch) noexcept;
  void (*sgd)(const SgdArgs&) noexcept;
  void (*adam)(const AdamArgs&) noexcept;

  void (*relu_gradient)(const ActivationGradientArgs&) noexcept;
  void (*gelu_gradient)(const ActivationGradientArgs&) noexcept;
  void (*gelu_tanh_gradient)(const ActivationGradientArgs&) noexcept;
  void (*silu_gradient)(const ActivationGradientArgs&) noexcept;
  void (*tanh_gradient)(const ActivationGradientArgs&) noexcept;
  void (*sigmoid_gradient)(const ActivationGradientArgs&) noexcept;

  void (*norm_gradient)(const NormGradientArgs&) noexcept;

  void (*gru_cell_gradient)(const RecurrentCellGradientArgs&) noexcept;
  void (*rnn_cell_gradient)(const RecurrentCellGradientArgs&) noexcept;

  void (*weight_gradient)(const WeightGradientArgs&) noexcept;
  void (*pair_sums)(const PairSumsArgs&) noexcept;

  /// Copies the rows of a head's keys and values into a chunk.
  void (*load_keys)(const AttentionHead&, KeyChunk&) noexcept;
  /// Number of scratch floats that meet_keys needs.
  index (*attention_gradient_scratch)(const AttentionHead&) noexcept;
  /// Processes queries [first, first + count), where count is at most gradient_queries, with a
  /// chunk of keys. Adds to the gradients of keys and values, without the factor `scale`, and to
  /// the gradients in AttentionGradientHead. Writes what this chunk adds to the gradients of the
  /// queries, (count, head_dim rounded up to whole vectors). Returns false, and writes nothing, if
  /// the queries may not attend to any of the keys.
  bool (*meet_keys)(const AttentionHead&, const AttentionGradientHead&, index first, index count,
                    const KeyChunk&, float* query_gradients, float* scratch) noexcept;
};

/// One function for each translation unit in training/isa/.
const TrainingTable* scalar_training_table() noexcept;
const TrainingTable* sse4_1_training_table() noexcept;
const TrainingTable* avx2_training_table() noexcept;
const TrainingTable* avx512_training_table() noexcept;
const TrainingTable* neon_training_table() noexcept;
const TrainingTable* wasm_simd128_training_table() noexcept;
const TrainingTable* wasm_relaxed_simd_training_table() noexcept;

}  // namespace attn::kernels
