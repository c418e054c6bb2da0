#include "attn/teaching/relative_skew.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "attention/check_attention.hpp"
#include "runtime/execution.hpp"
#include "strided_rows.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;

void check(const ConstTensor& query, const ConstTensor& embeddings, const Tensor& output,
           const RelativeSkewOptions& options) {
  if (query.rank() < 2 || query.rank() > 4) {
    validation::fail_shape("query", query.shape(), {"(N, D), (B, N, D) or (B, H, N, D)"});
  }
  const index heads = query.rank() == 4 ? query.size(1) : 1;
  const index rows = query.size(-2);
  const index width = query.size(-1);
  const bool fits =
      (embeddings.rank() == 2 || (embeddings.rank() == 3 && embeddings.size(0) == heads)) &&
      embeddings.size(-1) == width;
  const index count = fits ? embeddings.size(-2) : 0;
  const index longest = options.bidirectional ? (count + 1) / 2 : count;
  if (!fits || longest < rows || (options.bidirectional && count % 2 == 0)) {
    const std::string count_name = options.bidirectional ? "2L - 1" : "L";
    const std::string columns = ", " + std::to_string(width) + ")";
    validation::fail_shape("embeddings", embeddings.shape(),
                           {"shape (", count_name, columns, " or (", heads, ", ", count_name,
                            columns, " with L at least ", rows, ", the number of queries"});
  }
  bool right = output.rank() == query.rank() && output.size(-1) == rows;
  for (int i = 0; right && i < query.rank() - 1; ++i) right = output.size(i) == query.size(i);
  if (!right) {
    validation::fail_shape("output", output.shape(),
                           {"the shape of query with ", rows, " columns"});
  }
  validation::require_data("query", query);
  validation::require_data("embeddings", embeddings);
  validation::require_data("output", output);
  if (!std::isfinite(options.scale)) {
    validation::fail_value("scale", options.scale, {"a finite number"});
  }
}

}  // namespace

void relative_skew(const ConstTensor& query, const ConstTensor& embeddings, const Tensor& output,
                   const RelativeSkewOptions& options, Context& context) {
  check(query, embeddings, output, options);
  const ConstTensor q = with_heads(query);
  const Tensor out = with_heads(output);
  const index heads = q.size(1);
  const index rows = q.size(2);
  const index depth = q.size(3);
  if (q.size(0) == 0 || heads == 0 || rows == 0) return;

  // Uses only the embeddings of distances that occur: from −(rows − 1) to 0, or to rows − 1 if
  // bidirectional.
  const ConstTensor tables = embeddings.rank() == 2 ? embeddings.unsqueeze(0) : embeddings;
  const index zero = options.bidirectional ? tables.size(1) / 2 : tables.size(1) - 1;
  const index cols = options.bidirectional ? 2 * rows - 1 : rows;
  const ConstTensor used = tables.slice(1, zero - (rows - 1), zero - (rows - 1) + cols);

  runtime::Execution run(context);
  const kernels::KernelTable& kernels = run.kernels();
  validation::product("embeddings", {cols + kernels::kPanelWidth, depth});
  const index table_size = kernels::packed_size(cols, depth);
  float* packed = run.floats(validation::product("embeddings", {table_size, used.size(0)}),
                             "relative embeddings");
  const index block_rows = kernels.product_rows;
  const index block_cols = kernels::round_up(
      std::min(cols, rows + block_rows) + kernels::kPanelWidth, kernels::kPanelWidth);
  const index scratch_size = kernels.product_scratch(depth);
  float* products = run.floats(
      validation::product("query", {block_rows, block_cols, run.num_threads()}), "relative logits");
  float* scratch = run.floats(scratch_size * run.num_threads(), "matrix product");

  run.parallel_for(used.size(0), [&](index h, int) noexcept {
    kernels.pack(cols, depth, used.pointer(h), used.stride(1), used.stride(2),
                 packed + h * table_size);
  });
  const index blocks = kernels::ceil_divide(rows, block_rows);
  run.parallel_for(q.size(0) * heads * blocks, [&](index task, int worker) noexcept {
    const index begin = task % blocks * block_rows;
    const index h = task / blocks % heads;
    const index b = task / blocks / heads;
    const index end = std::min(begin + block_rows, rows);
    // Row i uses the columns starting at rows − 1 − i. The product starts with the panel that
    // contains the first of these columns.
    const index first = (rows - end) / kernels::kPanelWidth * kernels::kPanelWidth;
    const index last = std::min(cols, rows - 1 - begin + rows);
    kernels::ProductArgs args;
    args.rows = end - begin;
    args.cols = last - first;
    args.depth = depth;
    args.a = rows_at(q, b, h, begin);
    args.packed_b = packed + (used.size(0) > 1 ? h * table_size : 0) + first * depth;
    args.c = {products + worker * block_rows * block_cols, block_cols};
    kernels.product(args, scratch + worker * scratch_size);
    for (index i = begin; i < end; ++i) {
      const float* skewed = args.c.at(i - begin, (rows - 1 - i) - first);
      float* row = out.pointer(b, h, i);
      const index stride = out.stride(3);
      const index known = options.bidirectional ? rows : i + 1;
      for (index j = 0; j < known; ++j) row[j * stride] = options.scale * skewed[j];
      for (index j = known; j < rows; ++j) row[j * stride] = 0.0F;
    }
  });
}

void relative_keys_of_skew(const ConstTensor& embeddings, const Tensor& relative_keys) {
  if ((embeddings.rank() != 2 && embeddings.rank() != 3) || embeddings.size(-2) < 1) {
    validation::fail_shape("embeddings", embeddings.shape(),
                           {"(L, D) or (H, L, D) with L at least 1"});
  }
  validation::require_data("embeddings", embeddings);
  const ConstTensor from = embeddings.rank() == 2 ? embeddings.unsqueeze(0) : embeddings;
  const index length = from.size(1);
  if (embeddings.rank() == 3) {
    validation::require_shape("relative_keys", relative_keys,
                              {from.size(0), 2 * length - 1, from.size(2)});
  } else {
    validation::require_shape("relative_keys", relative_keys, {2 * length - 1, from.size(2)});
  }
  validation::require_data("relative_keys", relative_keys);
  const Tensor to = relative_keys.rank() == 2 ? relative_keys.unsqueeze(0) : relative_keys;
  for (index h = 0; h < to.size(0); ++h) {
    for (index r = 0; r < to.size(1); ++r) {
      for (index c = 0; c < to.size(2); ++c) to(h, r, c) = r < length ? from(h, r, c) : 0.0F;
    }
  }
}

}  // namespace attn
