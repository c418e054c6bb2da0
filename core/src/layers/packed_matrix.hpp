#pragma once

#include <cstdint>
#include <vector>

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

  /// Zeros (out, in). Throws std::bad_alloc.
  PackedMatrix(std::int64_t rows, std::int64_t cols);

  /// Takes the weights of a (rows, cols) matrix over, or those of its columns from `first_col` on.
  void pack(const ConstTensor& weight, Context& context, std::int64_t first_col = 0);

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t cols() const noexcept { return cols_; }

  /// The scratch memory that multiply needs; may throw.
  float* take_scratch(runtime::Execution& run) const;

  /// y = x · Wᵀ + bias: x (N, in) or (B, N, in), y (N, out) or (B, N, out), any strides; bias (out)
  /// or null. Bits of a row of y do not depend on the other rows.
  void multiply(const ConstTensor& x, const float* bias, const Tensor& y, runtime::Execution& run,
                float* scratch) const noexcept;

 private:
  /// A row of a panel. Panels begin at a cache line: a vector that lies across two costs twice.
  struct alignas(64) PanelRow {
    float columns[kernels::kPanelWidth];
  };

  float* packed() noexcept { return reinterpret_cast<float*>(packed_.data()); }
  const float* packed() const noexcept { return reinterpret_cast<const float*>(packed_.data()); }

  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::vector<PanelRow> packed_;
};

}  // namespace attn
