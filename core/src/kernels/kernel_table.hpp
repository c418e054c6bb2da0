#pragma once

#include <cstdint>

#include "attn/element_type.hpp"
#include "attn/instruction_set.hpp"
#include "attn/layers/activation.hpp"
#include "kernels/attention_args.hpp"
#include "kernels/elements_args.hpp"
#include "kernels/pooling_args.hpp"
#include "kernels/product_args.hpp"
#include "kernels/row_args.hpp"

/// The interface of the SIMD kernels to the rest of the core: one table of plain function pointers
/// for each instruction set. Nothing here depends on compiler flags. All kernels are noexcept and
/// use memory that the caller has checked and allocated. Each row of a result is bit-identical no
/// matter how the rows are divided among calls.
namespace attn::kernels {

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

  /// Summarises what mask and bias exclude for the queries starting at `first`, a multiple of
  /// kSummaryQueries: one row of AttentionHead::mask_summary.
  void (*summarize_mask)(const AttentionHead&, index first, std::uint8_t* summary) noexcept;

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

  /// attend_part computes attention for a single query over one block of kSplitKeys keys, and fills
  /// part_size floats. merge_parts merges the parts of the query in order and writes its results.
  index (*part_size)(const AttentionHead&) noexcept;
  void (*attend_part)(const AttentionHead&, index row, index key_begin, index key_end, float* part,
                      float* scratch) noexcept;
  void (*merge_parts)(const AttentionHead&, index row, const float* parts, index num_parts,
                      const ScoreOutput* scores, int num_scores, float* scratch) noexcept;

  /// Computes rows [skip, skip + rows) of a table that starts at position `anchor`; skip + rows ≤
  /// kSinusoidRows.
  void (*rotated_sinusoids)(const SinusoidColumns&, double anchor, index skip, index rows,
                            float* out, index out_row, index out_col) noexcept;
  /// Computes the row of each position separately.
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

  /// Returns the kernel of an activation, or null if there is no such activation.
  MapKernel (*activation)(Activation) noexcept;

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

  // These members have the same meaning as in KernelTable. The kernels need as much scratch memory
  // as the functions below return.
  index product_rows;
  index product_tile_rows;
  index (*product_scratch)(index depth) noexcept;
  void (*product)(const Bf16ProductArgs&, float* scratch) noexcept;
  index attention_rows;
  index attention_step;
  index (*attention_scratch)(const AttentionHead&) noexcept;
  void (*attend)(const Bf16AttentionHead&, index row_begin, index row_end, float* scratch) noexcept;
};

/// Each function returns the table of one translation unit in isa/, or null if this build has no
/// such kernels.
const KernelTable* scalar_table() noexcept;
const KernelTable* sse4_1_table() noexcept;
const KernelTable* avx2_table() noexcept;
const KernelTable* avx512_table() noexcept;
const KernelTable* avx512_vnni_table() noexcept;
const Bf16Table* avx512_bf16_table() noexcept;
const Bf16Table* amx_bf16_table() noexcept;
const KernelTable* neon_table() noexcept;
const KernelTable* neon_dotprod_table() noexcept;
const Bf16Table* neon_bf16_table() noexcept;
const KernelTable* wasm_simd128_table() noexcept;
const KernelTable* wasm_relaxed_simd_table() noexcept;

}  // namespace attn::kernels
