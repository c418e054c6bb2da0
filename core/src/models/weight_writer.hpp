#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "attn/context.hpp"
#include "attn/layers/module.hpp"
#include "attn/models/load_language_model.hpp"

namespace attn {

/// Throws kUnsupported if a model's weights need more than `max_memory` bytes. The default is the
/// memory of the machine.
void require_memory(const ModelFilesDescription& description,
                    std::optional<std::int64_t> max_memory);

/// Writes weights from files to the parameters of a model.
class WeightWriter {
 public:
  /// The model's parameters must outlive the writer, but the model may be moved. Throws
  /// kInvalidArgument, kNotFound or kShapeMismatch unless the weights fill each row of each
  /// parameter once.
  WeightWriter(const Module& model, std::span<const WeightSource> weights);
  ~WeightWriter();

  /// Like LanguageModelLoader::write().
  void write(std::size_t source, std::span<const std::byte> bytes, Context& context);

  /// Throws kInvalidFormat for the first incomplete tensor.
  void require_complete() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn
