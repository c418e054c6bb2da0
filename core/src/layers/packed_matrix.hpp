#pragma once

#include <cstdint>
#include <vector>

#include "attn/element_type.hpp"
#include "attn/tensor_view.hpp"
#include "kernels/kernel_table.hpp"
#include "runtime/execution.hpp"

namespace attn {

/// Packs a (rows, cols) matrix, any strides, into packed_size(rows, cols) floats, or into those of
/// a matrix with more columns, `packed_cols`.
void pack_matrix(const ConstTensor& matrix, float* packed, std::int64_t packed_cols,
                 runtime::Execution& run) noexcept;

/// The scratch memory that multiply_packed needs for rows of `depth`; may throw.
float* take_product_scratch(std::int64_t depth, runtime::Execution& run);

/// y = x · Bᵀ + bias, with a packed B (out, in): x (N, in) or (B, N, in), y (N, out) or (B, N,
/// out), any strides; bias (out) or null. Bits of a row of y do not depend on the other rows.
void multiply_packed(const ConstTensor& x, const float* packed, const float* bias, const Tensor& y,
                     runtime::Execution& run, float* scratch) noexcept;

/// A weight matrix in the order in which the product reads it; the same for every instruction set.
class PackedMatrix {
 public:
  PackedMatrix() = default;

  /// Zeros (out, in), of float32 or bfloat16. Throws std::bad_alloc.
  PackedMatrix(std::int64_t rows, std::int64_t cols, ElementType type = ElementType::kFloat32);

  /// Takes the weights of a (rows, cols) matrix over, or those of its columns from `first_col` on;
  /// as bfloat16 all of them, rounded.
  void pack(const ConstTensor& weight, Context& context, std::int64_t first_col = 0);
  /// The weights of a matrix of bfloat16.
  void unpack(const Tensor& weight) const noexcept;

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t cols() const noexcept { return cols_; }

  /// The scratch memory that multiply needs; may throw.
  float* take_scratch(runtime::Execution& run) const;

  /// y = x · Wᵀ + bias: x (N, in) or (B, N, in), y (N, out) or (B, N, out), any strides; bias (out)
  /// or null. Bits of a row of y do not depend on the other rows. With weights of bfloat16 x is
  /// rounded to it where the instruction set multiplies pairs; elsewhere weights are widened.
  void multiply(const ConstTensor& x, const float* bias, const Tensor& y, runtime::Execution& run,
                float* scratch) const noexcept;

 private:
  /// A row of a panel, of floats or of pairs. Panels begin at a cache line: a vector that lies
  /// across two costs twice.
  struct alignas(64) PanelRow {
    float columns[kernels::kPanelWidth];
  };
  static_assert(sizeof(float) == sizeof(kernels::Bf16Pair));

  float* packed() noexcept { return reinterpret_cast<float*>(packed_.data()); }
  const float* packed() const noexcept { return reinterpret_cast<const float*>(packed_.data()); }
  const kernels::Bf16Pair* pairs() const noexcept {
    return reinterpret_cast<const kernels::Bf16Pair*>(packed_.data());
  }
  /// Calls body(number, row, col) for the numbers of each pair that the matrix has.
  template <class Pair, class F>
  void for_numbers(Pair* pairs, F&& body) const noexcept;

  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  ElementType type_ = ElementType::kFloat32;
  std::vector<PanelRow> packed_;
};

}  // namespace attn
