#include "models/weight_writer.hpp"

#ifdef __EMSCRIPTEN__
#include <emscripten/heap.h>
#include <malloc.h>
#elif defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "io/safetensors_numbers.hpp"
#include "layers/module_access.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using validation::fail;

constexpr std::int64_t kSlice = 1 << 20;

/// Number of bytes available for weights: the machine's memory. In WebAssembly, where memory never
/// shrinks, this is the free part of memory plus the amount by which memory can still grow.
std::int64_t memory_of_machine() {
#ifdef __EMSCRIPTEN__
  return static_cast<std::int64_t>(emscripten_get_heap_max()) -
         static_cast<std::int64_t>(emscripten_get_heap_size()) +
         static_cast<std::int64_t>(static_cast<std::size_t>(mallinfo().fordblks));
#elif defined(_WIN32)
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof memory;
  return GlobalMemoryStatusEx(&memory) ? static_cast<std::int64_t>(memory.ullTotalPhys) : 0;
#else
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
#endif
}

[[noreturn]] void fail_row(const std::string& parameter, std::int64_t row, const char* got) {
  fail(ErrorCode::kInvalidArgument, parameter, {got, " for row ", row},
       {"one tensor for each row"});
}

/// The indices of the element at a row-major position, such as "(3, 5)".
std::string indices_of(std::int64_t element, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> indices(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    indices[i] = element % shape[i];
    element /= shape[i];
  }
  return validation::to_string(indices);
}

}  // namespace

void require_memory(const ModelFilesDescription& description,
                    std::optional<std::int64_t> max_memory) {
  const std::int64_t most = max_memory.value_or(memory_of_machine());
  if (description.memory > most) {
    constexpr std::int64_t kMega = 1000000;
    fail(ErrorCode::kUnsupported, "weights",
         {description.num_parameters, " parameters that take ",
          (description.memory + kMega - 1) / kMega, " MB of memory"},
         {"at most the ", most / kMega, " MB available"});
  }
}

struct WeightWriter::Impl {
  Impl(const Module& model, std::span<const WeightSource> weights) {
    const std::vector<ModuleAccess::FoundParameter> parameters = ModuleAccess::parameters(model);
    // One flag for each row of each parameter.
    std::vector<std::vector<bool>> is_written(parameters.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      is_written[p].resize(static_cast<std::size_t>(parameters[p].shape[0]));
    }
    for (const WeightSource& weight : weights) {
      const auto found =
          std::ranges::find(parameters, weight.parameter, &ModuleAccess::FoundParameter::name);
      if (found == parameters.end()) {
        fail(ErrorCode::kNotFound, std::string_view("parameter"), {in_quotes(weight.parameter)},
             {"a parameter of the model"});
      }
      Source source = {.weight = weight, .parameter = *found};
      // Finds the destinations of the weights, in file order. The caller may have changed the
      // description, so the loop also checks that the numbers fit into the parameters.
      std::vector<std::int64_t> shape = weight.shape;
      if (weight.transposed) {
        if (shape.size() != 2) {
          validation::fail_shape("tensor " + in_quotes(weight.tensor), shape,
                                 {"rank 2, because it is stored transposed"});
        }
        std::swap(shape[0], shape[1]);
      }
      const std::span<const std::int64_t> all = found->shape;
      if (all.size() != shape.size() || shape[0] < 0 || weight.first_row < 0 ||
          weight.first_row > all[0] - shape[0] ||
          !std::ranges::equal(all.subspan(1), std::span(shape).subspan(1))) {
        validation::fail_shape(weight.parameter, all,
                               {"room for shape ", shape, " starting at row ", weight.first_row});
      }
      if (!found->values.is_none()) {
        source.target = found->values.slice(0, weight.first_row, weight.first_row + shape[0]);
      }
      auto row = is_written[static_cast<std::size_t>(found - parameters.begin())].begin() +
                 static_cast<std::ptrdiff_t>(weight.first_row);
      for (std::int64_t r = 0; r < shape[0]; ++r, ++row) {
        if (*row) fail_row(weight.parameter, weight.first_row + r, "more than one tensor");
        *row = true;
      }
      source.numbers = stored_numbers(weight.tensor, weight.dtype);
      const std::int64_t count = validation::product("shape", weight.shape);
      if (weight.end - weight.begin != count * source.numbers.bytes) {
        fail(ErrorCode::kShapeMismatch, "tensor " + in_quotes(weight.tensor),
             {weight.end - weight.begin, " bytes"},
             {count * source.numbers.bytes, " for shape ", weight.shape});
      }
      sources.push_back(std::move(source));
    }
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const auto missing = std::ranges::find(is_written[p], false);
      if (missing != is_written[p].end()) {
        fail_row(parameters[p].name, missing - is_written[p].begin(), "no tensor");
      }
    }
    buffer.resize(kSlice);
  }

  struct Source {
    WeightSource weight;
    ModuleAccess::FoundParameter parameter;
    Tensor target = {};  ///< the parameter's memory; empty if the layer stores the parameter itself
    StoredNumbers numbers = {};
    std::int64_t written = 0;  ///< number of numbers written so far
    bool is_complete() const { return written * numbers.bytes == weight.end - weight.begin; }
  };

  /// Writes numbers from a file to their destination.
  static void write_numbers(const Source& source, const float* values, std::int64_t count) {
    const Tensor& target = source.target;
    const WeightSource& weight = source.weight;
    if (!target.is_none() && !weight.transposed) {
      std::copy_n(values, count, target.data() + source.written);
      return;
    }
    // A matrix is written in blocks: first the rest of a row of the file, then whole rows, then
    // part of a row.
    const std::int64_t width = weight.shape[1];
    for (std::int64_t at = source.written; count > 0;) {
      const std::int64_t row = at / width, col = at % width;
      const std::int64_t rows = col == 0 ? std::max<std::int64_t>(count / width, 1) : 1;
      const std::int64_t cols = std::min(width - col, count);
      const std::int64_t shape[] = {weight.transposed ? cols : rows,
                                    weight.transposed ? rows : cols};
      const std::int64_t strides[] = {weight.transposed ? 1 : width, weight.transposed ? width : 1};
      const ConstTensor block(values, shape, strides);
      const std::int64_t first_row = weight.transposed ? col : row;
      const std::int64_t first_col = weight.transposed ? row : col;
      if (target.is_none()) {
        ModuleAccess::write(source.parameter, block, weight.first_row + first_row, first_col);
      } else {
        for (std::int64_t c = 0; c < block.size(1); ++c) {
          for (std::int64_t r = 0; r < block.size(0); ++r) {
            target(first_row + r, first_col + c) = block(r, c);
          }
        }
      }
      const std::int64_t block_size = rows * cols;
      at += block_size;
      values += block_size;
      count -= block_size;
    }
  }

  std::vector<Source> sources;
  std::vector<float> buffer;
};

WeightWriter::WeightWriter(const Module& model, std::span<const WeightSource> weights)
    : impl_(std::make_unique<Impl>(model, weights)) {}
WeightWriter::~WeightWriter() = default;

void WeightWriter::write(std::size_t source_index, std::span<const std::byte> bytes,
                         Context& context) {
  if (source_index >= impl_->sources.size()) {
    validation::fail_value("source", source_index, {"an index below ", impl_->sources.size()});
  }
  Impl::Source& source = impl_->sources[source_index];
  const std::int64_t size = source.numbers.bytes;
  const std::int64_t left = source.weight.end - source.weight.begin - source.written * size;
  if (std::ssize(bytes) > left || std::ssize(bytes) % size != 0) {
    validation::fail_value("bytes", bytes.size(),
                           {"whole elements and at most the ", left, " remaining bytes"});
  }
  for (std::int64_t at = 0; at < std::ssize(bytes); at += kSlice * size) {
    const std::int64_t count = std::min(kSlice, (std::ssize(bytes) - at) / size);
    float* values = impl_->buffer.data();
    source.numbers.read(bytes.data() + at, count, values);
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::isfinite(values[i])) continue;
      fail(ErrorCode::kInvalidFormat, "tensor " + in_quotes(source.weight.tensor),
           {std::isnan(values[i]) ? "NaN" : "an infinite number", " at ",
            indices_of(source.written + i, source.weight.shape)},
           {"finite numbers"});
    }
    Impl::write_numbers(source, values, count);
    source.written += count;
  }
  const auto is_done = [&](const Impl::Source& other) {
    return other.parameter.entry != source.parameter.entry || other.is_complete();
  };
  if (!bytes.empty() && std::ranges::all_of(impl_->sources, is_done)) {
    ModuleAccess::mark_changed(source.parameter, context);
  }
}

void WeightWriter::require_complete() const {
  for (const Impl::Source& source : impl_->sources) {
    if (source.is_complete()) continue;
    fail(ErrorCode::kInvalidFormat, "tensor " + in_quotes(source.weight.tensor),
         {source.written * source.numbers.bytes, " bytes"},
         {source.weight.end - source.weight.begin});
  }
}

}  // namespace attn
