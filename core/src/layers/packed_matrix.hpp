#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/layers/module.hpp"
#include "attn/layers/weight_format.hpp"
#include "attn/tensor_view.hpp"
#include "kernels/kernel_table.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Packs a (rows, cols) matrix with any strides into packed_size(rows, cols) floats, or into part
/// of a packed matrix that has `packed_cols` > cols columns.
void pack_matrix(const ConstTensor& matrix, float* packed, std::int64_t packed_cols,
                 runtime::Execution& run) noexcept;

/// Allocates the scratch memory that multiply_packed needs for rows of length `depth`. May throw.
float* take_product_scratch(std::int64_t depth, runtime::Execution& run);

/// Computes y = x · Bᵀ + bias, with a packed B (out, in), x (N, in) or (B, N, in), and y (N, out)
/// or (B, N, out). Strides are arbitrary; bias has shape (out) or is null. The result for a row
/// does not depend on the other rows, not even in its last bit.
void multiply_packed(const ConstTensor& x, const float* packed, const float* bias, const Tensor& y,
                     runtime::Execution& run, float* scratch) noexcept;

/// A weight matrix in the order in which the product reads it. The order is the same for every
/// instruction set.
class PackedMatrix {
 public:
  PackedMatrix() = default;

  /// Makes an (out, in) matrix of zeros. Throws std::bad_alloc, and kInvalidArgument for a type
  /// that weights cannot have.
  PackedMatrix(std::int64_t rows, std::int64_t cols, WeightFormat format = {});

  /// Stores the weights of a (rows, cols) matrix, or of its columns starting at `first_col`.
  void pack(const ConstTensor& weight, Context& context, std::int64_t first_col = 0);
  /// For 16-bit matrices only: rounds and stores a block that begins at (row, col).
  void pack_block(const ConstTensor& block, std::int64_t row, std::int64_t col) noexcept;
  /// For 16-bit matrices only: reads a block. Numbers are widened or rounded if the types differ.
  void unpack_block(const AnyTensor& block, std::int64_t row, std::int64_t col) const noexcept;

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t cols() const noexcept { return cols_; }
  ElementType type() const noexcept { return format_.type; }
  /// True if this matrix is the weight itself, not a copy derived from it. The parameter is then
  /// written and read through this matrix.
  bool is_kept() const noexcept { return format_.type != ElementType::kFloat32; }

  /// Allocates the scratch memory that multiply() needs for float32 tensors, or for tensors with
  /// the types of x and y. May throw.
  float* take_scratch(runtime::Execution& run) const;
  float* take_scratch(const ConstAnyTensor& x, const AnyTensor& y, runtime::Execution& run) const;

  /// Computes y = x · Wᵀ + bias, with x (N, in) or (B, N, in), and y (N, out) or (B, N, out).
  /// Strides are arbitrary; bias has shape (out) or is null. The result for a row does not depend
  /// on the other rows, not even in its last bit. 16-bit weights are widened. With bfloat16
  /// weights, x is rounded to bfloat16 instead if the format allows this and the instruction set
  /// multiplies pairs. Computation is in float32. An x of another type is widened, and a y of
  /// another type is rounded, several rows at a time.
  void multiply(const ConstAnyTensor& x, const float* bias, const AnyTensor& y,
                runtime::Execution& run, float* scratch) const noexcept;

 private:
  /// A row of a panel of floats or bf16 pairs, or two rows of a panel of float16 numbers. Aligned
  /// to cache lines, because a vector that spans two lines costs twice as much.
  struct alignas(64) PanelRow {
    float columns[kernels::kPanelWidth];
  };
  static_assert(sizeof(float) == sizeof(kernels::Bf16Pair));

  float* packed() noexcept { return reinterpret_cast<float*>(packed_.data()); }
  const float* packed() const noexcept { return reinterpret_cast<const float*>(packed_.data()); }
  /// The panel of 16-bit numbers that begins at this row of weights.
  const std::uint16_t* panel(std::int64_t row) const noexcept {
    const std::int64_t cols = format_.type == ElementType::kBFloat16 ? cols_ + cols_ % 2 : cols_;
    return reinterpret_cast<const std::uint16_t*>(packed_.data()) + row * cols;
  }
  /// Like multiply(), but only for tensors that need no conversion.
  void multiply_unconverted(const ConstAnyTensor& x, const float* bias, const Tensor& y,
                            runtime::Execution& run, float* scratch) const noexcept;
  /// True if multiply_unconverted() accepts x of this type.
  bool accepts(ElementType type, runtime::Execution& run) const noexcept {
    return type == ElementType::kFloat32 || (type == ElementType::kBFloat16 && pair_kernels(run));
  }
  std::int64_t scratch_size(runtime::Execution& run) const noexcept;
  /// The kernels for products of pairs, or null.
  const kernels::Bf16Table* pair_kernels(runtime::Execution& run) const noexcept {
    const bool rounds = format_.type == ElementType::kBFloat16 && format_.round_inputs;
    return rounds ? run.bf16_kernels() : nullptr;
  }

  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  WeightFormat format_;
  bool is_finite_ = true;  ///< true if all weights are finite; kept up to date for 16-bit numbers
                           ///< only
  std::vector<PanelRow> packed_;
};

/// Returns the ParameterKeeper of a parameter of 16-bit numbers. The parameter is one matrix, or a
/// stack of matrices with the same columns.
ParameterKeeper make_keeper(std::vector<std::shared_ptr<PackedMatrix>> matrices);

}  // namespace attn
