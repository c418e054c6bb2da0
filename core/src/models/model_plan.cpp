#include "models/model_plan.hpp"

#include <algorithm>
#include <string_view>

#include "heap_sort.hpp"
#include "io/safetensors_numbers.hpp"
#include "kernels/kernel_table.hpp"
#include "validation.hpp"

namespace attn {

using validation::fail;

void ModelPlan::output(const LanguageModelOptions& options, const std::string& name) {
  const std::int64_t e = options.stack.layers.empty() ? options.stack.layer.d_model
                                                      : options.stack.layers.front().d_model;
  const std::int64_t width = options.embedding_dim > 0 ? options.embedding_dim : e;
  output(options.tied, options.vocab_size, width, name);
}

void ModelPlan::output(bool tied, std::int64_t rows, std::int64_t cols, const std::string& name) {
  if (!tied) return matrix("output.weight", name, rows, cols);
  for (Matrix& m : matrices_) {
    if (m.use == Use::kEmbedding) m.use = Use::kProduct;
  }
}

void ModelPlan::projections_by_head(const std::string& parameter, const std::string& name,
                                    std::int64_t heads, std::int64_t head_dim, std::int64_t cols,
                                    bool bias) {
  const std::int64_t rows = 3 * heads * head_dim;
  matrices_.push_back({description_.weights.size(), rows, cols, Use::kProduct});
  for (const bool is_bias : {false, true}) {
    if (is_bias && !bias) break;
    const char* const kind = is_bias ? "bias" : "weight";
    const std::string tensor = name + "." + kind;
    const std::vector<std::int64_t> shape = is_bias ? std::vector{rows} : std::vector{rows, cols};
    for (std::int64_t i = 0; i < 3 * heads; ++i) {
      const std::int64_t projection = i / heads, head = i % heads;
      take(parameter + "_" + kind, tensor, shape, head_dim, false,
           (3 * head + projection) * head_dim);
      if (!has(tensor)) break;  // take() has already listed the tensor as missing
    }
  }
}

void ModelPlan::require_all() const {
  if (missing_.empty()) return;
  fail(ErrorCode::kNotFound, "tensors", {"no ", list_quoted(missing_)},
       {"all tensors of the ", description_.family, " architecture"});
}

void ModelPlan::finish(const std::string& layers, const std::string& other_layers) {
  require_all();
  std::vector<std::string> unknown;
  for (const ModelTensors::Found& tensor : tensors_.all()) {
    if (tensor.used) continue;
    const std::string& name = tensor.name;
    // The original checkpoints of T5 contain a table for cross attention. No version of T5 uses
    // this table.
    constexpr std::string_view kBuffers[] = {
        ".attn.bias",      ".attn.masked_bias",
        ".attention.bias", ".attention.masked_bias",
        ".inv_freq",       ".EncDecAttention.relative_attention_bias.weight"};
    const bool is_buffer = std::ranges::any_of(
        kBuffers, [&](std::string_view buffer) { return name.ends_with(buffer); });
    const bool in_layers =
        name.starts_with(layers) || (!other_layers.empty() && name.starts_with(other_layers));
    if (in_layers && !is_buffer) unknown.push_back(tensor.entry->name);
    description_.unused_tensors.push_back(tensor.entry->name);
  }
  if (!unknown.empty()) {
    fail(ErrorCode::kNotFound, "tensors", {"unexpected ", list_quoted(unknown)},
         {"layers with only the tensors of the ", description_.family, " architecture"});
  }
  format_ = weights_.value_or(format_of_files());
  count_memory();
  heap_sort(description_.weights,
            [](const WeightSource& source) { return std::pair(source.file, source.begin); });
}

WeightFormat ModelPlan::format_of_files() const {
  std::string_view dtype;
  for (const Matrix& m : matrices_) {
    const std::string& other = description_.weights[m.source].dtype;
    if (!dtype.empty() && dtype != other) return {};
    dtype = other;
  }
  if (dtype == "F16") return {ElementType::kFloat16, /*rounds_inputs=*/false};
  if (dtype == "BF16") return {ElementType::kBFloat16, /*rounds_inputs=*/false};
  return {};
}

void ModelPlan::count_memory() {
  constexpr std::int64_t kFloat = sizeof(float);
  constexpr std::int64_t kPair = sizeof(kernels::Bf16Pair);
  for (const Matrix& m : matrices_) {
    const std::int64_t packed = kernels::packed_size(m.rows, m.cols);
    if (format_.type == ElementType::kFloat32) {
      description_.memory += m.use == Use::kEmbedding ? 0 : kFloat * packed;
    } else {
      const bool paired = format_.type == ElementType::kBFloat16;
      description_.memory -= kFloat * m.rows * m.cols;
      description_.memory +=
          paired ? kPair * kernels::bf16_packed_size(m.rows, m.cols) : kPair / 2 * packed;
    }
  }
}

void ModelPlan::take(const std::string& parameter, const std::string& name,
                     std::vector<std::int64_t> shape, std::int64_t rows, bool transposed,
                     std::optional<std::int64_t> part) {
  // The tensors that make up one parameter are added one after another, so a new name means a new
  // parameter.
  const std::int64_t first = parameter == parameter_ ? next_row_ : 0;
  parameter_ = parameter;
  next_row_ = first + rows;
  ModelTensors::Found* found = tensors_.find(name);
  if (!found) {
    // The list is limited, because a configuration can ask for any number of layers, with names of
    // any length.
    constexpr std::size_t kEnough = 1000;
    missing_.push_back(name);
    if (missing_.size() == kEnough) require_all();
    return;
  }
  const SafetensorsEntry& entry = *found->entry;
  if (entry.shape != shape) {
    validation::fail_shape("tensor " + in_quotes(entry.name), entry.shape,
                           {"shape ", shape, " to match the sizes of the model"});
  }
  Safetensors::require_readable(entry);
  found->used = true;
  std::int64_t begin = tensors_.file(found->file).data_begin + entry.begin;
  std::int64_t end = begin + entry.end - entry.begin;
  if (part) {
    const std::int64_t bytes_per_row = (end - begin) / shape[0];
    shape[0] = rows;
    begin += *part * bytes_per_row;
    end = begin + rows * bytes_per_row;
  }
  const std::int64_t count = validation::product(name, shape);
  description_.num_parameters += count;
  description_.memory += count * std::int64_t{sizeof(float)};
  description_.weights.push_back({.tensor = entry.name,
                                  .dtype = entry.dtype,
                                  .shape = std::move(shape),
                                  .file = found->file,
                                  .begin = begin,
                                  .end = end,
                                  .parameter = parameter,
                                  .first_row = first,
                                  .transposed = transposed});
}

}  // namespace attn
