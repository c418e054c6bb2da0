#include "layers/packed_matrix.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "elementwise.hpp"
#include "rows.hpp"
#include "validation.hpp"

namespace attn {

using kernels::index;
using kernels::kPanelWidth;

namespace {

/// Number of columns per task if there are few rows.
constexpr index kColumnBlock = 16 * kPanelWidth;

/// Number of rows to convert at a time if their type is not float32. All weights are fetched once
/// for this many rows, which is rare enough to cost little.
constexpr index kConvertedRows = 128;

index rows_of(const ConstAnyTensor& x) { return batch_of(x) * x.size(-2); }

/// can_join_rows() returns true if all rows of a batch (B, N, width) have a constant stride;
/// join_rows() returns these rows as a matrix.
template <class View>
bool can_join_rows(const View& rows) {
  return rows.stride(0) == rows.size(1) * rows.stride(1);
}
template <class View>
View join_rows(const View& rows) {
  return rows.visit([&](const auto& typed) -> View {
    const std::array shape{rows.size(0) * rows.size(1), rows.size(2)};
    const std::array strides{rows.stride(1), rows.stride(2)};
    return std::remove_cvref_t<decltype(typed)>(typed.data(), shape, strides);
  });
}

/// The part of y = x · Bᵀ that one task computes.
struct ProductPart {
  index rows, cols;
  index col;  ///< first column
  index x;    ///< index of the first element of x
  float* y;
  int worker;
};

/// Divides a product into parts and calls multiply(part) for each part, on all threads. A part has
/// `column_block` columns. If `column_block` is 0, a part has all columns, or kColumnBlock columns
/// if there are too few rows to keep all threads busy.
template <class Multiply>
void for_product_parts(const ConstAnyTensor& x, const Tensor& y, index task_rows, index tile_rows,
                       index column_block, runtime::Execution& run, Multiply&& multiply) noexcept {
  const index depth = x.size(-1);
  const index cols = y.size(-1);
  const bool batched = x.rank() == 3;
  index batch = batched ? x.size(0) : 1;
  index rows = x.size(-2);
  if (batched && can_join_rows(x) && can_join_rows(y)) {
    rows *= batch;
    batch = 1;
  }

  // One thread takes all rows at once. Several threads take the same number of blocks each. Blocks
  // are as equal as whole tiles allow, and none is much larger than the best size for the kernel.
  const bool shared = run.num_threads() > 1;
  const index tiles = std::max<index>(kernels::ceil_divide(rows, tile_rows), 1);
  const index row_blocks =
      shared ? std::min(kernels::round_up(std::max<index>(kernels::ceil_divide(rows, task_rows), 1),
                                          run.num_threads()),
                        tiles)
             : 1;
  const auto block_begin = [&](index block) {
    return std::min(tiles * block / row_blocks * tile_rows, rows);
  };
  // If there are few rows, the work is also split by columns, so that all threads are busy.
  if (column_block == 0) {
    const bool split = shared && batch * row_blocks < 4 * run.num_threads();
    column_block = split ? kColumnBlock : std::max<index>(cols, 1);
  }
  const index column_blocks = kernels::ceil_divide(cols, column_block);

  const double multiply_adds =
      static_cast<double>(batch * rows) * static_cast<double>(cols * depth);
  const index tasks = batch * row_blocks * column_blocks;
  run.parallel_for(tasks, multiply_adds, [&](index task, int worker) noexcept {
    const index col = task % column_blocks * column_block;
    const index block = task / column_blocks % row_blocks;
    const index row = block_begin(block);
    const index b = task / column_blocks / row_blocks;
    multiply(ProductPart{
        .rows = block_begin(block + 1) - row,
        .cols = std::min(column_block, cols - col),
        .col = col,
        .x = row * x.stride(-2) + (batched ? b * x.stride(0) : 0),
        .y = y.data() + row * y.stride(-2) + col * y.stride(-1) + (batched ? b * y.stride(0) : 0),
        .worker = worker});
  });
}

/// The part's rows of x, whose numbers have type T.
template <class T>
kernels::Strided<const T> rows_at(const ProductPart& part, const ConstAnyTensor& x) noexcept {
  return {static_cast<const T*>(x.data()) + part.x, x.stride(-2), x.stride(-1)};
}

/// All arguments of a product except A.
template <class Args>
Args product_args(const ProductPart& part, const ConstAnyTensor& x, const float* bias,
                  const Tensor& y) noexcept {
  Args args;
  args.rows = part.rows;
  args.cols = part.cols;
  args.depth = x.size(-1);
  args.bias = bias ? bias + part.col : nullptr;
  args.c = {part.y, y.stride(-2), y.stride(-1)};
  return args;
}

/// Number of columns per task, chosen so that their panels have about `floats` numbers. It is a
/// multiple of the tile width of every instruction set.
index columns_of(index floats, index depth) noexcept {
  constexpr index kStep = 4 * kPanelWidth;
  return std::clamp(floats / depth / kStep * kStep, kStep, kColumnBlock);
}

/// Number of columns per task, if tasks widen panels. Each task reads all rows once, so there
/// should be few tasks. The panels need not stay in a second-level cache, because products process
/// the inner dimension in blocks of 256.
index widened_columns(index depth) noexcept { return columns_of(1 << 20, depth); }

/// Number of columns per task if there are few rows, so that every thread gets a task.
index few_rows_columns(index depth) noexcept { return columns_of(1 << 16, depth); }

}  // namespace

PackedMatrix::PackedMatrix(std::int64_t rows, std::int64_t cols, WeightFormat format)
    : rows_(rows), cols_(cols), format_(format) {
  // A float32 panel has one PanelRow per column; with two-byte numbers, two columns share a
  // PanelRow.
  const index panels = rows / kPanelWidth + (rows % kPanelWidth != 0 ? 1 : 0);
  index count = 0;
  switch (format.type) {
    case ElementType::kFloat32:
      count = validation::product("weight", {panels, cols});
      break;
    case ElementType::kFloat16:
      count = validation::product("weight", {panels, cols});
      count = count / 2 + count % 2;
      break;
    case ElementType::kBFloat16:
      count = validation::product("weight", {panels, cols / 2 + cols % 2});
      break;
    default:
      validation::fail(ErrorCode::kInvalidArgument, "weight_type", {to_string(format.type)},
                       {"float32, float16 or bfloat16"});
  }
  packed_.assign(validation::allocation("weight", count, sizeof(PanelRow)), {});
}

void pack_matrix(const ConstTensor& matrix, float* packed, index packed_cols,
                 runtime::Execution& run) noexcept {
  // Each task packs a few panels, with one call if they are contiguous.
  constexpr index kRowsPerTask = 4 * kPanelWidth;
  const index rows = matrix.size(0);
  const index rows_per_call = packed_cols == matrix.size(1) ? kRowsPerTask : kernels::kPanelWidth;
  const double elements = static_cast<double>(rows) * static_cast<double>(matrix.size(1));
  run.parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, elements,
                   [&](index task, int) noexcept {
                     const index end = std::min(rows, (task + 1) * kRowsPerTask);
                     for (index row = task * kRowsPerTask; row < end; row += rows_per_call) {
                       run.kernels().pack(std::min(rows_per_call, end - row), matrix.size(1),
                                          matrix.pointer(row, 0), matrix.stride(0),
                                          matrix.stride(1), packed + row * packed_cols);
                     }
                   });
}

void PackedMatrix::pack(const ConstTensor& weight, Context& context, std::int64_t first_col) {
  if (is_kept()) return pack_block(weight, 0, first_col);
  runtime::Execution run(context);
  pack_matrix(weight, packed() + first_col * kernels::kPanelWidth, cols_, run);
}

namespace {

/// Calls body(bits, number) for each number of the block that begins at (row, col) of a matrix.
/// panel(row) returns the beginning of a row's panel.
template <class View, class Panel, class F>
void for_block(const View& block, bool paired, index row, index col, Panel&& panel,
               F&& body) noexcept {
  for (index r = 0; r < block.size(0); ++r) {
    const index lane = (row + r) % kPanelWidth;
    auto* const bits = panel(row + r - lane);
    auto* number = block.pointer(r, 0);
    for (index k = col; k < col + block.size(1); ++k, number += block.stride(1)) {
      const index place =
          paired ? (k / 2 * kPanelWidth + lane) * 2 + k % 2 : k * kPanelWidth + lane;
      body(bits[place], *number);
    }
  }
}

}  // namespace

void PackedMatrix::pack_block(const ConstTensor& block, index row, index col) noexcept {
  const bool paired = format_.type == ElementType::kBFloat16;
  const auto to = [&](index first) { return const_cast<std::uint16_t*>(panel(first)); };
  bool is_finite = true;
  for_block(block, paired, row, col, to, [&](std::uint16_t& bits, float number) {
    bits = paired ? BFloat16(number).bits() : Float16(number).bits();
    const std::uint16_t infinity = paired ? 0x7F80 : 0x7C00;
    is_finite = is_finite && (bits & infinity) != infinity;
  });
  const bool is_all = block.size(0) == rows_ && block.size(1) == cols_;
  is_finite_ = is_finite && (is_all || is_finite_);
}

void PackedMatrix::unpack_block(const AnyTensor& block, index row, index col) const noexcept {
  const bool paired = format_.type == ElementType::kBFloat16;
  const auto from = [&](index first) { return panel(first); };
  block.visit([&](const auto& typed) {
    for_block(typed, paired, row, col, from, [&]<class T>(const std::uint16_t& bits, T& number) {
      if constexpr (!std::is_same_v<T, float>) {
        if (kElementType<T> == format_.type) {
          number = T::from_bits(bits);
          return;
        }
      }
      number = T(paired ? float{BFloat16::from_bits(bits)} : float{Float16::from_bits(bits)});
    });
  });
}

float* take_product_scratch(index depth, runtime::Execution& run) {
  return run.floats(run.kernels().product_scratch(depth) * run.num_threads(), "matrix product");
}

index PackedMatrix::scratch_size(runtime::Execution& run) const noexcept {
  const kernels::Bf16Table* const table = pair_kernels(run);
  const index widened = is_kept() ? widened_columns(cols_) * cols_ : 0;
  const index size =
      table ? table->product_scratch(cols_) : run.kernels().product_scratch(cols_) + widened;
  return size * run.num_threads();
}

float* PackedMatrix::take_scratch(runtime::Execution& run) const {
  return run.floats(scratch_size(run), "matrix product");
}

float* PackedMatrix::take_scratch(const ConstAnyTensor& x, const AnyTensor& y,
                                  runtime::Execution& run) const {
  const index rows = std::min(rows_of(x), kConvertedRows);
  const index widened = accepts(x.type(), run) ? 0 : cols_;
  const index rounded = y.type() == ElementType::kFloat32 ? 0 : rows_;
  const index converted = validation::product("x", {rows, widened + rounded});
  return run.floats(scratch_size(run) + converted, "matrix product");
}

void PackedMatrix::multiply(const ConstAnyTensor& x, const float* bias, const AnyTensor& y,
                            runtime::Execution& run, float* scratch) const noexcept {
  const bool widens = !accepts(x.type(), run);
  const bool rounds = y.type() != ElementType::kFloat32;
  if (!widens && !rounds) return multiply_unconverted(x, bias, y.as<float>(), run, scratch);
  float* const widened = scratch + scratch_size(run);
  float* const sums = widened + (widens ? std::min(rows_of(x), kConvertedRows) * cols_ : 0);
  const auto multiply_rows = [&](const ConstAnyTensor& from, const AnyTensor& to) {
    const index rows = from.size(0);
    const Tensor y_rows = rounds ? Tensor(sums, {rows, rows_}) : to.as<float>();
    if (!widens) {
      multiply_unconverted(from, bias, y_rows, run, scratch);
    } else {
      const Tensor x_rows(widened, {rows, cols_});
      widen(from, x_rows, run);
      multiply_unconverted(x_rows, bias, y_rows, run, scratch);
    }
    if (rounds) narrow(y_rows, to, run);
  };
  const auto multiply_matrix = [&](const ConstAnyTensor& from, const AnyTensor& to) {
    for (index row = 0; row < from.size(0); row += kConvertedRows) {
      const index end = std::min(row + kConvertedRows, from.size(0));
      multiply_rows(from.slice(0, row, end), to.slice(0, row, end));
    }
  };
  if (x.rank() == 2) return multiply_matrix(x, y);
  if (x.size(1) == 1) return multiply_matrix(x.select(1, 0), y.select(1, 0));
  if (can_join_rows(x) && can_join_rows(y)) return multiply_matrix(join_rows(x), join_rows(y));
  for (index b = 0; b < x.size(0); ++b) multiply_matrix(x.select(0, b), y.select(0, b));
}

void PackedMatrix::multiply_unconverted(const ConstAnyTensor& any_x, const float* bias,
                                        const Tensor& y, runtime::Execution& run,
                                        float* scratch) const noexcept {
  if (const kernels::Bf16Table* const table = pair_kernels(run)) {
    const index size = table->product_scratch(cols_);
    const bool is_float = any_x.type() == ElementType::kFloat32;
    return for_product_parts(
        any_x, y, table->product_rows, table->product_tile_rows, 0, run,
        [&](const ProductPart& part) noexcept {
          auto args = product_args<kernels::Bf16ProductArgs>(part, any_x, bias, y);
          if (is_float) {
            args.a = rows_at<float>(part, any_x);
          } else {
            args.bf16_a = rows_at<std::uint16_t>(part, any_x);
          }
          args.packed_b = reinterpret_cast<const kernels::Bf16Pair*>(panel(part.col));
          table->product(args, scratch + part.worker * size);
        });
  }
  const auto x = any_x.as<float>();
  if (!is_kept()) return multiply_packed(x, packed(), bias, y, run, scratch);
  const kernels::KernelTable& kernels = run.kernels();
  const index product_size = kernels.product_scratch(cols_);
  const index size = product_size + widened_columns(cols_) * cols_;
  const bool few = rows_of(any_x) <= kernels.stored_product_rows && is_finite_;
  const index block = few ? few_rows_columns(cols_) : widened_columns(cols_);
  for_product_parts(x, y, kernels.product_rows, kernels.product_tile_rows, block, run,
                    [&](const ProductPart& part) noexcept {
                      if (part.rows <= kernels.stored_product_rows && is_finite_) {
                        auto args = product_args<kernels::StoredProductArgs>(part, x, bias, y);
                        args.a = rows_at<float>(part, x);
                        args.type = format_.type;
                        args.packed_b = panel(part.col);
                        return kernels.stored_product(args);
                      }
                      float* const memory = scratch + part.worker * size;
                      float* const panels = memory + product_size;
                      kernels.widen_panels(format_.type, part.cols, cols_, panel(part.col), panels);
                      auto args = product_args<kernels::ProductArgs>(part, x, bias, y);
                      args.a = rows_at<float>(part, x);
                      args.packed_b = panels;
                      kernels.product(args, memory);
                    });
}

namespace {

/// Splits a block of the stacked matrices, which begins at `row`, into one part per matrix. Calls
/// body(matrix, part, first) for each part, where `first` is the part's first row in the matrix.
template <class View, class F>
void for_matrices(const std::vector<std::shared_ptr<PackedMatrix>>& matrices, const View& block,
                  index row, F&& body) {
  index first = 0;
  for (const auto& matrix : matrices) {
    const index end = first + matrix->rows();
    const index from = std::max(row, first), to = std::min(row + block.size(0), end);
    if (from < to) body(*matrix, block.slice(0, from - row, to - row), from - first);
    first = end;
  }
}

}  // namespace

ParameterKeeper make_keeper(std::vector<std::shared_ptr<PackedMatrix>> matrices) {
  const auto read = [matrices](const AnyTensor& block, index row, index col) {
    for_matrices(matrices, block, row,
                 [&](PackedMatrix& matrix, const AnyTensor& part, index first) {
                   matrix.unpack_block(part, first, col);
                 });
  };
  const auto write = [matrices](const ConstTensor& block, index row, index col) {
    for_matrices(matrices, block, row,
                 [&](PackedMatrix& matrix, const ConstTensor& part, index first) {
                   matrix.pack_block(part, first, col);
                 });
  };
  return {.type = matrices.front()->type(), .read = read, .write = write};
}

void multiply_packed(const ConstTensor& x, const float* packed, const float* bias, const Tensor& y,
                     runtime::Execution& run, float* scratch) noexcept {
  const kernels::KernelTable& kernels = run.kernels();
  const index scratch_size = kernels.product_scratch(x.size(-1));
  for_product_parts(x, y, kernels.product_rows, kernels.product_tile_rows, 0, run,
                    [&](const ProductPart& part) noexcept {
                      auto args = product_args<kernels::ProductArgs>(part, x, bias, y);
                      args.a = rows_at<float>(part, x);
                      args.packed_b = packed + part.col * x.size(-1);
                      kernels.product(args, scratch + part.worker * scratch_size);
                    });
}

}  // namespace attn
