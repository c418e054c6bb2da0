#include "attn/layers/embedding.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "elementwise.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// A row's number, which may count from the end, from the beginning.
std::optional<std::int64_t> from_beginning(std::optional<std::int64_t> row, std::int64_t rows) {
  return row && *row < 0 ? *row + rows : row;
}

}  // namespace

Embedding::Embedding(const EmbeddingOptions& options) : options_(options) {
  validation::require_at_least("num_embeddings", options.num_embeddings, 1);
  validation::require_at_least("embedding_dim", options.embedding_dim, 1);
  if (options.padding_idx) {
    const std::int64_t index = *options.padding_idx;
    if (index < -options.num_embeddings || index >= options.num_embeddings) {
      validation::fail_value("padding_idx", index,
                             {"an index into the ", options.num_embeddings, " embeddings"});
    }
  }
  const auto padding = from_beginning(options.padding_idx, options.num_embeddings);
  weight_ = add_parameter("weight", {options.num_embeddings, options.embedding_dim},
                          Initialization::normal(1, padding));
}

void Embedding::initialize_normal(const RandomStream& random, float deviation, Context& context) {
  fill_normal(weight_, random, 0, deviation, context);
  if (const auto row = from_beginning(options_.padding_idx, options_.num_embeddings)) {
    std::fill_n(weight_.pointer(*row, 0), options_.embedding_dim, 0.0F);
  }
}

template <class Id>
void Embedding::look_up(const TensorView<const Id>& ids, const Tensor& output,
                        Context& context) const {
  const std::int64_t width = options_.embedding_dim;
  if (ids.rank() != 1 && ids.rank() != 2) {
    validation::fail_shape("ids", ids.shape(), {"rank 1 (N) or 2 (B, N)"});
  }
  if (ids.rank() == 1) {
    validation::require_shape("output", output, {ids.size(0), width});
  } else {
    validation::require_shape("output", output, {ids.size(0), ids.size(1), width});
  }
  validation::require_data("ids", ids);
  validation::require_data("output", output);
  const auto tokens = ids.rank() == 1 ? ids.unsqueeze(0) : ids;
  const Tensor rows = ids.rank() == 1 ? output.unsqueeze(0) : output;
  for (std::int64_t b = 0; b < tokens.size(0); ++b) {
    for (std::int64_t i = 0; i < tokens.size(1); ++i) {
      if (tokens(b, i) < 0 || tokens(b, i) >= options_.num_embeddings) {
        validation::fail_value("ids", tokens(b, i),
                               {"an index below the ", options_.num_embeddings, " embeddings"});
      }
    }
  }

  runtime::Execution run(context);
  const float factor =
      options_.scale_by_sqrt_dim ? static_cast<float>(std::sqrt(static_cast<double>(width))) : 1.0F;
  const std::int64_t length = tokens.size(1);
  const std::int64_t count = tokens.size(0) * length;
  const std::int64_t per_task = std::max<std::int64_t>(1, kElementsPerTask / width);
  run.parallel_for((count + per_task - 1) / per_task, [&](std::int64_t task, int) noexcept {
    const std::int64_t end = std::min(count, (task + 1) * per_task);
    for (std::int64_t t = task * per_task; t < end; ++t) {
      const float* from = weight_.pointer(tokens(t / length, t % length), 0);
      float* to = rows.pointer(t / length, t % length, 0);
      const std::int64_t step = rows.stride(2);
      for (std::int64_t c = 0; c < width; ++c) to[c * step] = from[c] * factor;
    }
  });
}

void Embedding::forward(const ConstIds& ids, const Tensor& output, Context& context) const {
  look_up(ids, output, context);
}

void Embedding::forward(const ConstIds32& ids, const Tensor& output, Context& context) const {
  look_up(ids, output, context);
}

void Embedding::forward(std::span<const std::int64_t> ids, const Tensor& output,
                        Context& context) const {
  look_up(ConstIds(ids.data(), {std::ssize(ids)}), output, context);
}

void Embedding::forward(std::span<const std::int32_t> ids, const Tensor& output,
                        Context& context) const {
  look_up(ConstIds32(ids.data(), {std::ssize(ids)}), output, context);
}

}  // namespace attn
