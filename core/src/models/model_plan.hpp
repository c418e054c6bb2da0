#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/models/load_language_model.hpp"
#include "models/model_tensors.hpp"

namespace attn {

/// How a matrix from a file is used.
enum class Use {
  kTable,       ///< as a table whose rows are looked up
  kEmbedding,   ///< as a table whose rows are looked up; it is stored like a weight
  kProduct,     ///< as a weight that is multiplied with the rows of inputs
  kTransposed,  ///< as a weight, like kProduct, but the file contains the matrix transposed
};

/// Records which tensors make up a model.
class ModelPlan {
 public:
  ModelPlan(ModelTensors& tensors, ModelFilesDescription& description,
            std::optional<WeightFormat> weights)
      : tensors_(tensors), description_(description), weights_(weights) {}

  bool has(const std::string& name) const { return tensors_.has(name); }

  /// Adds a (rows, cols) matrix as the next rows of a parameter.
  void matrix(const std::string& parameter, const std::string& name, std::int64_t rows,
              std::int64_t cols, Use use = Use::kProduct) {
    const bool transposed = use == Use::kTransposed;
    if (use != Use::kTable) matrices_.push_back({description_.weights.size(), rows, cols, use});
    take(parameter, name, transposed ? std::vector{cols, rows} : std::vector{rows, cols}, rows,
         transposed);
  }
  /// Adds a tensor as the next values of a parameter.
  void vector(const std::string& parameter, const std::string& name, std::int64_t size) {
    take(parameter, name, {size}, size, false);
  }
  /// Like vector(), for a tensor of shape (1, size).
  void row(const std::string& parameter, const std::string& name, std::int64_t size) {
    take(parameter, name, {1, size}, size, false);
    if (has(name)) description_.weights.back().shape = {size};
  }
  /// Adds a matrix and, if there is one, its bias.
  void linear(const std::string& parameter, const std::string& name, std::int64_t rows,
              std::int64_t cols, bool bias = true) {
    matrix(parameter + ".weight", name + ".weight", rows, cols);
    if (bias) vector(parameter + ".bias", name + ".bias", rows);
  }
  /// Adds the joined projections (3·H·D, E) of queries, keys and values, and their bias. In the
  /// file, the rows of each head's query, key and value are adjacent.
  void projections_by_head(const std::string& parameter, const std::string& name,
                           std::int64_t heads, std::int64_t head_dim, std::int64_t cols, bool bias);
  /// Adds the weight and bias of a LayerNorm. The oldest BERT files call them gamma and beta.
  void layer_norm(const std::string& parameter, const std::string& name, std::int64_t width,
                  bool bias = true) {
    const bool old = has(name + ".gamma");
    vector(parameter + ".weight", name + (old ? ".gamma" : ".weight"), width);
    if (bias) vector(parameter + ".bias", name + (old ? ".beta" : ".bias"), width);
  }

  /// Adds the output layer's matrix, or the embedding's matrix if the two are tied.
  void output(const LanguageModelOptions& options, const std::string& name);
  void output(bool tied, std::int64_t rows, std::int64_t cols, const std::string& name);

  /// Checks that no tensor is missing and that every tensor whose name starts with `layers`, or
  /// with `other_layers` unless it is empty, is used. Decides how weights are stored.
  void finish(const std::string& layers, const std::string& other_layers = {});

  /// The format of the matrices, after finish().
  WeightFormat format() const { return format_; }

 private:
  /// Throws kNotFound if a tensor is missing.
  void require_all() const;
  /// The 16-bit type that all matrices in the files share, or float32 if there is no such type.
  WeightFormat format_of_files() const;
  void count_memory();
  /// If `part` is set, takes only `rows` rows of the tensor in the file, and `part` is the first of
  /// them.
  void take(const std::string& parameter, const std::string& name, std::vector<std::int64_t> shape,
            std::int64_t rows, bool transposed, std::optional<std::int64_t> part = {});

  ModelTensors& tensors_;
  ModelFilesDescription& description_;
  std::optional<WeightFormat> weights_;
  WeightFormat format_ = {};
  struct Matrix {
    std::size_t source;  ///< index in the description's list of weights
    std::int64_t rows, cols;
    Use use;
  };
  std::vector<Matrix> matrices_;
  std::string parameter_;
  std::int64_t next_row_ = 0;
  std::vector<std::string> missing_;
};

}  // namespace attn
