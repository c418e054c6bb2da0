#include "attn/positions/rotary_embedding.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>

#include "function_ref.hpp"
#include "positions/rotary_frequencies.hpp"
#include "positions/rotary_positions.hpp"
#include "positions/sinusoidal_table.hpp"
#include "row_runs.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// Number of rows that one task rotates. The number is so small that the tables of the rows stay in
/// the first-level cache while the task processes all heads.
constexpr std::int64_t kRotaryRowsPerTask = 16;

/// Number of rows whose tables are in memory at once. These tables take at most a few megabytes,
/// however long the sequence is.
constexpr std::int64_t kTableRows = 2048;

/// The tensors of a rotation, viewed as (B, H, N, D), and whether the rotation is in place.
struct Rotated {
  ConstAnyTensor x;
  AnyTensor out;
  std::int64_t batch, heads, rows, head_dim;
  bool in_place;

  /// True if rows must be converted to or from float32.
  bool converts() const noexcept {
    return x.type() != ElementType::kFloat32 || out.type() != ElementType::kFloat32;
  }
};

Rotated check_rotated(const ConstAnyTensor& x, const AnyTensor& output) {
  if (x.rank() < 2 || x.rank() > 4) {
    validation::fail_shape("x", x.shape(), {"(N, D), (B, N, D) or (B, H, N, D)"});
  }
  validation::require_data("x", x);
  validation::require_same_shape("output", output.shape(), x.shape());
  validation::require_data("output", output);
  const ConstAnyTensor from = with_heads(x);
  return {
      .x = from,
      .out = with_heads(output),
      .batch = from.size(0),
      .heads = from.size(1),
      .rows = from.size(2),
      .head_dim = from.size(3),
      .in_place = x.data() == output.data() && std::ranges::equal(x.strides(), output.strides())};
}

void require_rotary_dim(std::int64_t rotary_dim, const ConstAnyTensor& x) {
  if (x.size(-1) < rotary_dim) {
    validation::fail_shape(
        "x", x.shape(),
        {"at least ", rotary_dim, " columns in its last dimension, because that many are rotated"});
  }
}

/// Checks a view that has a position or an index for each row: (N) or (B, N), or empty.
template <class T>
void require_per_row(const char* name, const TensorView<T>& view, std::int64_t batch,
                     std::int64_t rows) {
  if (view.is_none()) return;
  if (view.rank() == 2) {
    validation::require_shape(name, view, {batch, rows});
  } else {
    validation::require_shape(name, view, {rows});
  }
  validation::require_data(name, view);
}

/// Writes one row of the tables that rotate_pairs reads: in `keep` the factor of each column, and
/// in `cross` the factor of the other column of its pair. Column j of `cos` and `sin` belongs to
/// pair `pair`[j], or to pair j if `pair` is null.
void expand_row(const float* cos, std::int64_t cos_stride, const float* sin,
                std::int64_t sin_stride, const std::int64_t* pair, std::int64_t half,
                RotaryPairing pairing, bool inverse, float* keep, float* cross) noexcept {
  const bool interleaved = pairing == RotaryPairing::kInterleaved;
  const std::int64_t step = interleaved ? 2 : 1;
  const std::int64_t partner = interleaved ? 1 : half;
  const float sign = inverse ? -1.0F : 1.0F;
  for (std::int64_t j = 0; j < half; ++j) {
    const float c = cos[j * cos_stride];
    const float s = sign * sin[j * sin_stride];
    const std::int64_t to = (pair ? pair[j] : j) * step;
    keep[to] = c;
    keep[to + partner] = c;
    cross[to] = -s;
    cross[to + partner] = s;
  }
}

/// The address of element (b, h, row, 0).
template <class View>
auto* row_at(const View& view, std::int64_t b, std::int64_t h, std::int64_t row) noexcept {
  return view.visit(
      [&](const auto& typed) -> decltype(view.data()) { return typed.pointer(b, h, row, 0); });
}

/// Rotates rows of element types other than float32 by converting them to floats in `memory`.
void rotate_converted(const Rotated& r, const void* x, void* out, kernels::RotationArgs args,
                      float* memory, const kernels::KernelTable& kernels) noexcept {
  kernels::WidenArgs wide;
  wide.rows = args.rows;
  wide.cols = wide.padded_cols = r.head_dim;
  wide.from = {r.x.type(), x, r.x.stride(2), nullptr, 0};
  wide.from_col = r.x.stride(3);
  wide.to = {memory, r.head_dim};
  kernels.widen(wide);
  args.x = args.out = wide.to;
  kernels.rotate_pairs(args);
  kernels::NarrowArgs narrow;
  narrow.rows = args.rows;
  narrow.cols = r.head_dim;
  narrow.from = wide.to;
  narrow.type = r.out.type();
  narrow.to = out;
  narrow.to_row = r.out.stride(2);
  narrow.to_col = r.out.stride(3);
  kernels.narrow(narrow);
}

/// Rotates the same range of rows in every head of a batch entry. `args` contains all arguments
/// except the addresses and strides of rows.
void rotate_heads(const Rotated& r, std::int64_t b, std::int64_t row, kernels::RotationArgs args,
                  float* memory, const kernels::KernelTable& kernels) noexcept {
  for (std::int64_t h = 0; h < r.heads; ++h) {
    const void* const x = row_at(r.x, b, h, row);
    void* const out = row_at(r.out, b, h, row);
    if (r.converts()) {
      rotate_converted(r, x, out, args, memory, kernels);
      continue;
    }
    args.x = {static_cast<const float*>(x), r.x.stride(2), r.x.stride(3)};
    args.out = {static_cast<float*>(out), r.out.stride(2), r.out.stride(3)};
    kernels.rotate_pairs(args);
    if (r.in_place) continue;
    for (std::int64_t i = 0; i < args.rows; ++i) {
      for (std::int64_t c = args.cols; c < r.head_dim; ++c) args.out(i, c) = args.x(i, c);
    }
  }
}

/// Rotates with the tables that fill_row(i, keep, cross, worker) writes. i is the index of a row.
/// With `per_batch`, rows are counted across all batch entries.
void rotate(const Rotated& r, std::int64_t rotary_dim, RotaryPairing pairing, bool per_batch,
            runtime::Execution& run,
            FunctionRef<void(std::int64_t i, float* keep, float* cross, int worker)> fill_row) {
  // Makes tables for this many rows at a time. If batch entries are short, these rows may belong to
  // several batch entries.
  const std::int64_t chunk_rows = std::min(r.rows, kTableRows);
  const std::int64_t chunk_batch =
      per_batch ? std::clamp<std::int64_t>(kTableRows / r.rows, 1, r.batch) : r.batch;
  const std::int64_t table_row = validation::product("rotary_dim", {2, rotary_dim});
  float* tables =
      run.floats(validation::product("x", {per_batch ? chunk_batch : 1, chunk_rows, table_row}),
                 "rotary tables");
  const std::int64_t converted =
      r.converts() ? validation::product("x", {kRotaryRowsPerTask, r.head_dim}) : 0;
  float* const memory =
      run.floats(validation::product("x", {converted, run.num_threads()}), "rotated rows");

  for (std::int64_t first_b = 0; first_b < r.batch; first_b += chunk_batch) {
    const std::int64_t batch = std::min(chunk_batch, r.batch - first_b);
    for (std::int64_t first_row = 0; first_row < r.rows; first_row += chunk_rows) {
      const std::int64_t rows = std::min(chunk_rows, r.rows - first_row);
      const std::int64_t table_rows = per_batch ? batch * rows : rows;
      run.parallel_for((table_rows + kRotaryRowsPerTask - 1) / kRotaryRowsPerTask,
                       [&](std::int64_t task, int worker) noexcept {
                         const std::int64_t begin = task * kRotaryRowsPerTask;
                         const std::int64_t end = std::min(begin + kRotaryRowsPerTask, table_rows);
                         for (std::int64_t i = begin; i < end; ++i) {
                           const std::int64_t b = per_batch ? first_b + i / rows : 0;
                           float* keep = tables + i * table_row;
                           fill_row(b * r.rows + first_row + i % rows, keep, keep + rotary_dim,
                                    worker);
                         }
                       });

      const std::int64_t blocks = (rows + kRotaryRowsPerTask - 1) / kRotaryRowsPerTask;
      run.parallel_for(batch * blocks, [&](std::int64_t task, int worker) noexcept {
        const std::int64_t b = task / blocks;
        const std::int64_t row = task % blocks * kRotaryRowsPerTask;
        kernels::RotationArgs args;
        args.rows = std::min(kRotaryRowsPerTask, rows - row);
        args.cols = rotary_dim;
        args.interleaved = pairing == RotaryPairing::kInterleaved;
        args.keep = tables + (row + (per_batch ? b * rows : 0)) * table_row;
        args.cross = args.keep + rotary_dim;
        args.table_row = table_row;
        rotate_heads(r, first_b + b, first_row + row, args, memory + worker * converted,
                     run.kernels());
      });
    }
  }
}

/// The checked positions of a call.
struct CheckedPositions {
  double start;
  TensorView<const double> positions;
  std::int64_t rows;
  bool per_axis;
  bool per_batch;
  double largest;

  CheckedPositions(const RotaryPositions& given, std::int64_t axes, std::int64_t batch,
                   std::int64_t rows_)
      : start(given.start),
        positions(given.positions),
        rows(rows_),
        per_axis(axes > 0 && given.positions.rank() == 3),
        per_batch(given.positions.rank() == 2 || (per_axis && given.positions.size(1) != 1)),
        largest(given.start + static_cast<double>(std::max<std::int64_t>(rows_ - 1, 0))) {
    if (given.sequence_length &&
        !(*given.sequence_length >= 0 && *given.sequence_length <= 0x1p53)) {
      validation::fail_value("sequence_length", *given.sequence_length,
                             {"a length between 0 and 2^53"});
    }
    if (positions.is_none()) {
      require_position("start", start);
      require_position("start", largest, "the last position, ");
      return;
    }
    largest = check_rotary_positions("positions", positions, axes, batch, rows);
  }

  /// The position of row i. Rows are counted across all batch entries, or within one entry if all
  /// entries share their positions.
  double at(std::int64_t i, std::int64_t axis) const noexcept {
    if (positions.is_none()) return start + static_cast<double>(i % rows);
    if (per_axis) return positions(axis, i / rows, i % rows);
    return per_batch ? positions(i / rows, i % rows) : positions(i);
  }
};

/// Writes a row of a table: the cosines of all columns, then their sines. The columns of each axis
/// are adjacent in `columns` and end at `ends`.
void write_table_row(const kernels::SinusoidColumns& columns, std::span<const std::int64_t> ends,
                     const CheckedPositions& where, std::int64_t i,
                     const kernels::KernelTable& kernels, float* row) noexcept {
  if (!where.per_axis) {
    const double position = where.at(i, 0);
    return kernels.sinusoids(columns, &position, 1, row, 0, 1);
  }
  const std::int64_t half = columns.count / 2;
  std::int64_t begin = 0;
  for (std::size_t axis = 0; axis < ends.size(); ++axis) {
    const double position = where.at(i, static_cast<std::int64_t>(axis));
    for (const std::int64_t first : {begin, half + begin}) {
      kernels::SinusoidColumns part = columns;
      part.count = ends[axis] - begin;
      part.frequency += first;
      part.offset += first;
      kernels.sinusoids(part, &position, 1, row + first, 0, 1);
    }
    begin = ends[axis];
  }
}

/// Returns, for each column, by how many turns it rotates per position in sequences of this length.
/// The result is `turns` for short sequences; otherwise it is a new array in scratch memory.
const double* turns_for(const RotaryEmbeddingOptions& options, const std::vector<double>& turns,
                        const std::vector<std::int64_t>& pair, double sequence_length,
                        runtime::Execution& run) {
  const auto longest = longest_sequence_of_first_frequencies(options);
  if (!longest || sequence_length <= static_cast<double>(*longest)) return turns.data();
  const auto half = static_cast<std::size_t>(options.rotary_dim / 2);
  const std::span radians(run.take<double>(std::ssize(turns), "rotary frequencies"), half);
  write_rotary_frequencies(options, sequence_length, radians);
  auto* longer = run.take<double>(std::ssize(turns), "rotary frequencies");
  std::copy(turns.begin(), turns.end(), longer);
  for (std::size_t j = 0; j < half; ++j) {
    const auto from = pair.empty() ? j : static_cast<std::size_t>(pair[j]);
    longer[j] = longer[half + j] = radians[from] / (2 * std::numbers::pi);
  }
  return longer;
}

}  // namespace

double check_rotary_positions(const char* name, const TensorView<const double>& positions,
                              std::int64_t axes, std::int64_t batch, std::int64_t rows) {
  const bool per_axis = axes > 0 && positions.rank() == 3;
  if (per_axis) {
    const std::int64_t entries = positions.size(1) == 1 ? 1 : batch;
    validation::require_shape(name, positions, {axes, entries, rows});
    validation::require_data(name, positions);
  } else {
    require_per_row(name, positions, batch, rows);
  }
  const std::int64_t count = validation::product(name, positions.shape());
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double position = *element(positions, i);
    require_position(name, position);
    largest = std::max(largest, position);
  }
  return largest;
}

RotaryEmbedding::RotaryEmbedding(const RotaryEmbeddingOptions& options) : options_(options) {
  const std::int64_t d = options.rotary_dim;
  if (d < 2 || d % 2 != 0) {
    validation::fail_value("rotary_dim", d, {"an even number of at least 2"});
  }
  validation::allocation("rotary_dim", d, 2 * sizeof(double));
  require_sinusoidal_base(options.base);
  attention_factor_ = check_rotary_frequencies(options);
  const std::vector<double> radians = frequencies();
  require_usable_frequencies(radians);
  const auto half = static_cast<std::size_t>(d / 2);
  const std::int64_t axes = std::ssize(options.sections);
  std::int64_t end = 0;
  for (const std::int64_t section : options.sections) ends_.push_back(end += section);
  if (options.axes == RotaryAxes::kInterleaved && axes > 1) {
    // Pair j goes to axis j mod `axes` as long as that axis has fewer pairs than its section;
    // otherwise pair j goes to axis 0.
    const auto axis_of = [&](std::int64_t j) {
      const std::int64_t turn = j % axes;
      return j / axes < options.sections[static_cast<std::size_t>(turn)] ? turn : 0;
    };
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      for (std::int64_t j = 0; j < d / 2; ++j) {
        if (axis_of(j) == axis) pair_.push_back(j);
      }
    }
  }
  turns_.assign(2 * half + kernels::kPanelWidth, 0.0);
  offsets_.assign(turns_.size(), 0.0);
  for (std::size_t j = 0; j < half; ++j) {
    const auto pair = pair_.empty() ? j : static_cast<std::size_t>(pair_[j]);
    turns_[j] = turns_[half + j] = radians[pair] / (2 * std::numbers::pi);
    offsets_[j] = 0.25;
  }
}

std::vector<double> RotaryEmbedding::frequencies(double sequence_length) const {
  if (!options_.frequencies.empty()) return options_.frequencies;
  std::vector<double> result(static_cast<std::size_t>(options_.rotary_dim / 2));
  write_rotary_frequencies(options_, sequence_length, result);
  return result;
}

void RotaryEmbedding::forward(const ConstAnyTensor& x, const AnyTensor& output,
                              const RotaryPositions& positions, Context& context) const {
  const Rotated rotated = check_rotated(x, output);
  require_rotary_dim(options_.rotary_dim, x);
  const CheckedPositions where(positions, std::ssize(ends_), rotated.batch, rotated.rows);
  if (rotated.batch == 0 || rotated.heads == 0 || rotated.rows == 0) return;

  runtime::Execution run(context);
  const std::int64_t d = options_.rotary_dim;
  const kernels::SinusoidColumns columns = this->columns(positions, where.largest, run);
  float* rows =
      run.floats(validation::product("rotary_dim", {d, run.num_threads()}), "rotary tables");
  rotate(rotated, d, options_.pairing, where.per_batch, run,
         [&](std::int64_t i, float* keep, float* cross, int worker) noexcept {
           float* row = rows + worker * d;
           write_table_row(columns, ends_, where, i, run.kernels(), row);
           expand_row(row, 1, row + d / 2, 1, pair_.empty() ? nullptr : pair_.data(), d / 2,
                      options_.pairing, positions.inverse, keep, cross);
         });
}

void RotaryEmbedding::tables(const Tensor& cos, const Tensor& sin, const RotaryPositions& positions,
                             Context& context) const {
  const std::int64_t half = options_.rotary_dim / 2;
  if (cos.rank() == 3) {
    validation::require_shape("cos", cos, {-1, -1, half});
  } else {
    validation::require_shape("cos", cos, {-1, half});
  }
  validation::require_same_shape("sin", sin, cos);
  validation::require_data("cos", cos);
  validation::require_data("sin", sin);
  const std::int64_t batch = cos.rank() == 3 ? cos.size(0) : 1;
  const std::int64_t rows = cos.size(-2);
  const CheckedPositions where(positions, std::ssize(ends_), batch, rows);
  if (batch == 0 || rows == 0) return;

  runtime::Execution run(context);
  const kernels::SinusoidColumns columns = this->columns(positions, where.largest, run);
  float* table_rows =
      run.floats(validation::product("rotary_dim", {2 * half, run.num_threads()}), "rotary tables");
  const auto write = [&](const float* row, std::int64_t i, const Tensor& to, float sign) noexcept {
    float* out =
        to.data() + (to.rank() == 3 ? i / rows * to.stride(0) : 0) + i % rows * to.stride(-2);
    for (std::int64_t j = 0; j < half; ++j) {
      out[(pair_.empty() ? j : pair_[static_cast<std::size_t>(j)]) * to.stride(-1)] = sign * row[j];
    }
  };
  const std::int64_t all_rows = batch * rows;
  run.parallel_for((all_rows + kRotaryRowsPerTask - 1) / kRotaryRowsPerTask,
                   [&](std::int64_t task, int worker) noexcept {
                     float* row = table_rows + worker * 2 * half;
                     const std::int64_t begin = task * kRotaryRowsPerTask;
                     for (std::int64_t i = begin;
                          i < std::min(begin + kRotaryRowsPerTask, all_rows); ++i) {
                       write_table_row(columns, ends_, where, where.per_batch ? i : i % rows,
                                       run.kernels(), row);
                       write(row, i, cos, 1);
                       write(row + half, i, sin, positions.inverse ? -1.0F : 1.0F);
                     }
                   });
}

kernels::SinusoidColumns RotaryEmbedding::columns(const RotaryPositions& positions, double largest,
                                                  runtime::Execution& run) const {
  kernels::SinusoidColumns columns;
  columns.count = options_.rotary_dim;
  columns.frequency =
      turns_for(options_, turns_, pair_, positions.sequence_length.value_or(largest + 1), run);
  columns.offset = offsets_.data();
  columns.amplitude = attention_factor_;
  return columns;
}

void apply_rotary_embedding(const ConstAnyTensor& x, const ConstTensor& cos_cache,
                            const ConstTensor& sin_cache, const AnyTensor& output,
                            const RotaryCacheOptions& options, Context& context) {
  const Rotated rotated = check_rotated(x, output);
  const bool by_id = !options.position_ids.is_none();
  const bool per_row = cos_cache.rank() == 3 && !by_id;
  const bool fits =
      (cos_cache.rank() == 2 && (by_id || cos_cache.size(0) >= rotated.rows)) ||
      (per_row && cos_cache.size(0) == rotated.batch && cos_cache.size(1) == rotated.rows);
  const std::int64_t half = options.rotary_dim != 0 ? options.rotary_dim / 2
                            : fits                  ? cos_cache.size(-1)
                                                    : -1;
  if (options.rotary_dim < 0 || options.rotary_dim % 2 != 0) {
    validation::fail_value("rotary_dim", options.rotary_dim,
                           {"an even number, or 0 for the width of the caches"});
  }
  if (!fits || cos_cache.size(-1) != half || half < 1) {
    std::string width;
    if (half < 1) {
      validation::append(width, {validation::Name("rotary_dim"), "/2"});
    } else {
      validation::append(width, {half});
    }
    if (by_id) {
      validation::fail_shape("cos_cache", cos_cache.shape(), {"shape (any, ", width, ")"});
    }
    validation::fail_shape(
        "cos_cache", cos_cache.shape(),
        {"shape (", rotated.batch, ", ", rotated.rows, ", ", width, ") or (", rotated.rows,
         " or more, ", width, ") if there are no ", validation::Name("position_ids")});
  }
  validation::require_same_shape("sin_cache", sin_cache, cos_cache);
  validation::require_data("cos_cache", cos_cache);
  validation::require_data("sin_cache", sin_cache);
  require_rotary_dim(2 * half, x);
  const TensorView<const std::int64_t>& ids = options.position_ids;
  require_per_row("position_ids", ids, rotated.batch, rotated.rows);
  const bool ids_per_batch = ids.rank() == 2;
  const auto id = [&](std::int64_t i) noexcept {
    return ids_per_batch ? ids(i / rotated.rows, i % rotated.rows) : ids(i);
  };
  if (by_id) {
    for (std::int64_t i = 0; i < (ids_per_batch ? rotated.batch : 1) * rotated.rows; ++i) {
      if (id(i) < 0 || id(i) >= cos_cache.size(0)) {
        validation::fail_value(
            "position_ids", id(i),
            {"the index of a row of the caches, from 0 to ", cos_cache.size(0) - 1});
      }
    }
  }
  if (rotated.batch == 0 || rotated.heads == 0 || rotated.rows == 0) return;

  runtime::Execution run(context);
  const auto row_of = [&](const ConstTensor& cache, std::int64_t i) noexcept {
    if (by_id) return cache.data() + id(i) * cache.stride(0);
    if (!per_row) return cache.data() + i * cache.stride(0);
    return cache.data() + i / rotated.rows * cache.stride(0) + i % rotated.rows * cache.stride(1);
  };
  rotate(rotated, 2 * half, options.pairing, per_row || ids_per_batch, run,
         [&](std::int64_t i, float* keep, float* cross, int) noexcept {
           expand_row(row_of(cos_cache, i), cos_cache.stride(-1), row_of(sin_cache, i),
                      sin_cache.stride(-1), nullptr, half, options.pairing, options.inverse, keep,
                      cross);
         });
}

}  // namespace attn
