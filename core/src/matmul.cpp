#include "attn/matmul.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;

void check(const ConstTensor& a, const ConstTensor& b, const Tensor& output) {
  if (a.rank() < 2 || a.rank() > 4) {
    validation::fail_shape("a", a.shape(), {"(M, K), (B, M, K) or (B, H, M, K)"});
  }
  std::vector<std::int64_t> shape(a.shape().begin(), a.shape().end());
  shape[shape.size() - 2] = a.size(-1);
  shape.back() = b.rank() > 0 ? b.size(-1) : 0;
  if (b.rank() == 2) {
    validation::require_shape("b", b, {a.size(-1), -1});
  } else if (!std::ranges::equal(b.shape(), shape)) {
    validation::fail_shape(
        "b", b.shape(),
        {"K = ", a.size(-1), " rows and either no leading dimensions or the leading dimensions of ",
         validation::Name("a")});
  }
  shape[shape.size() - 2] = a.size(-2);
  if (!std::ranges::equal(output.shape(), shape)) {
    validation::fail_shape("output", output.shape(), {shape});
  }
  validation::require_data("a", a);
  validation::require_data("b", b);
  validation::require_data("output", output);
}

}  // namespace

void matmul(const ConstTensor& a, const ConstTensor& b, const Tensor& output, Context& context) {
  check(a, b, output);
  const ConstTensor left = with_heads(a), right = with_heads(b);
  const Tensor to = with_heads(output);
  const index heads = left.size(1), rows = left.size(2), depth = left.size(3), cols = to.size(3);
  const index products = validation::product("a", {left.size(0), heads});
  const index matrices = b.rank() == 2 ? std::min<index>(products, 1) : products;
  if (products == 0 || rows == 0 || cols == 0) return;

  runtime::Execution run(context);
  const kernels::KernelTable& kernels = run.kernels();
  validation::product("b", {cols + kernels::kPanelWidth, depth});
  const index packed_size = kernels::packed_size(cols, depth);
  float* packed = run.floats(validation::product("b", {packed_size, matrices}), "packed matrices");
  const index scratch_size = kernels.product_scratch(depth);
  float* scratch = run.floats(scratch_size * run.num_threads(), "matrix product");

  const auto work = static_cast<double>(depth) * static_cast<double>(cols);
  run.parallel_for(matrices, work * static_cast<double>(matrices), [&](index m, int) noexcept {
    kernels.pack(cols, depth, right.pointer(m / right.size(1), m % right.size(1)), right.stride(3),
                 right.stride(2), packed + m * packed_size);
  });
  const index blocks = kernels::ceil_divide(rows, kernels.product_rows);
  run.parallel_for(products * blocks,
                   work * static_cast<double>(rows) * static_cast<double>(products),
                   [&](index task, int worker) noexcept {
                     const index m = task / blocks;
                     const index begin = task % blocks * kernels.product_rows;
                     kernels::ProductArgs args;
                     args.rows = std::min(kernels.product_rows, rows - begin);
                     args.cols = cols;
                     args.depth = depth;
                     args.a = rows_at(left, m / heads, m % heads, begin);
                     args.packed_b = packed + (matrices > 1 ? m * packed_size : 0);
                     args.c = rows_at(to, m / heads, m % heads, begin);
                     kernels.product(args, scratch + worker * scratch_size);
                   });
}

}  // namespace attn
