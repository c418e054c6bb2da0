#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/models/load_language_model.hpp"
#include "models/model_tensors.hpp"

namespace attn {

/// What a matrix of a file is used for.
enum class Use {
  kTable,       ///< rows of it are looked up
  kProduct,     ///< products read it
  kTransposed,  ///< the same, and the file has its columns as rows
};

/// Notes which tensors a model is made of.
class ModelPlan {
 public:
  ModelPlan(ModelTensors& tensors, LanguageModelDescription& description)
      : tensors_(tensors), description_(description) {}

  bool has(const std::string& name) const { return tensors_.has(name); }

  /// The next rows of a parameter: a matrix (rows, cols).
  void matrix(const std::string& parameter, const std::string& name, std::int64_t rows,
              std::int64_t cols, Use use = Use::kProduct) {
    const bool transposed = use == Use::kTransposed;
    take(parameter, name, transposed ? std::vector{cols, rows} : std::vector{rows, cols}, rows,
         transposed);
    if (use != Use::kTable) pack(rows, cols);
  }
  /// The next values of a parameter.
  void vector(const std::string& parameter, const std::string& name, std::int64_t size) {
    take(parameter, name, {size}, size, false);
  }
  /// A matrix and, where there is one, its bias.
  void linear(const std::string& parameter, const std::string& name, std::int64_t rows,
              std::int64_t cols, bool bias = true) {
    matrix(parameter + ".weight", name + ".weight", rows, cols);
    if (bias) vector(parameter + ".bias", name + ".bias", rows);
  }
  /// Of LayerNorm, which the oldest files of BERT call gamma and beta.
  void layer_norm(const std::string& parameter, const std::string& name, std::int64_t width,
                  bool bias = true) {
    const bool old = has(name + ".gamma");
    vector(parameter + ".weight", name + (old ? ".gamma" : ".weight"), width);
    if (bias) vector(parameter + ".bias", name + (old ? ".beta" : ".bias"), width);
  }

  /// The output layer: a matrix of its own, or the embedding's where they are tied.
  void output(const LanguageModelOptions& options, const std::string& name);

  /// Checks that nothing is missing, and that nothing of the layers, which lie at `layers`, is
  /// left.
  void finish(const std::string& layers);

 private:
  /// Memory of a matrix as products read it.
  void pack(std::int64_t rows, std::int64_t cols);
  void take(const std::string& parameter, const std::string& name, std::vector<std::int64_t> shape,
            std::int64_t rows, bool transposed);

  ModelTensors& tensors_;
  LanguageModelDescription& description_;
  std::string parameter_;
  std::int64_t next_row_ = 0;
  std::vector<std::string> missing_;
};

}  // namespace attn
