#pragma once

#include "attn/instruction_set.hpp"
#include "attn/layers/activation.hpp"
#include "kernels/training/attention_gradient_args.hpp"
#include "kernels/training/pooling_gradient_args.hpp"
#include "kernels/training/training_args.hpp"

/// The SIMD kernels for training. They have a separate table for each instruction set, so that
/// programs that only run inference do not link them. The rules of KernelTable apply.
namespace attn::kernels {

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
  /// `scratch` has one float per column, rounded up to whole vectors.
  void (*cross_entropy)(const CrossEntropyArgs&, float* scratch) noexcept;
  void (*sgd)(const SgdArgs&) noexcept;
  void (*adam)(const AdamArgs&) noexcept;

  /// Returns the kernel of an activation's gradient, or null if there is no such activation.
  ActivationGradientKernel (*activation_gradient)(Activation) noexcept;

  void (*norm_gradient)(const NormGradientArgs&) noexcept;

  void (*gru_cell_gradient)(const RecurrentCellGradientArgs&) noexcept;
  void (*rnn_cell_gradient)(const RecurrentCellGradientArgs&) noexcept;

  void (*weight_gradient)(const WeightGradientArgs&) noexcept;
  void (*pair_sums)(const PairSumsArgs&) noexcept;

  /// Copies the rows of a head's keys and values into a chunk.
  void (*load_keys)(const AttentionHead&, KeyChunk&) noexcept;
  /// Number of scratch floats that backpropagate_attention needs.
  index (*attention_gradient_scratch)(const AttentionHead&) noexcept;
  /// Processes queries [first, first + count), where count is at most gradient_queries, with a
  /// chunk of keys. Adds to the gradients of keys and values, without the factor `scale`, and to
  /// the gradients in AttentionGradientHead. Writes what this chunk adds to the gradients of the
  /// queries, (count, head_dim rounded up to whole vectors). Returns false, and writes nothing, if
  /// the queries may not attend to any of the keys.
  bool (*backpropagate_attention)(const AttentionHead&, const AttentionGradientHead&, index first,
                                  index count, const KeyChunk&, float* query_gradients,
                                  float* scratch) noexcept;
};

/// Each function returns the table of one translation unit in training/isa/.
const TrainingTable* scalar_training_table() noexcept;
const TrainingTable* sse4_1_training_table() noexcept;
const TrainingTable* avx2_training_table() noexcept;
const TrainingTable* avx512_training_table() noexcept;
const TrainingTable* neon_training_table() noexcept;
const TrainingTable* wasm_simd128_training_table() noexcept;
const TrainingTable* wasm_relaxed_simd_training_table() noexcept;

}  // namespace attn::kernels
