#include "attn/layers/embedding.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "elementwise.hpp"
#include "rows.hpp"
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

void Embedding::forward(const IdView& ids, const Tensor& output, Context& context) const {
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
  const std::int64_t length = ids.size(-1);
  const std::int64_t count = ids.rank() == 1 ? length : ids.size(0) * length;
  const auto id_of = [&](std::int64_t token) {
    return ids.rank() == 1 ? ids(token) : ids(token / length, token % length);
  };
  for (std::int64_t t = 0; t < count; ++t) {
    if (id_of(t) < 0 || id_of(t) >= options_.num_embeddings) {
      validation::fail_value("ids", id_of(t),
                             {"an index below the ", options_.num_embeddings, " embeddings"});
    }
  }

  runtime::Execution run(context);
  const float factor =
      options_.scale_by_sqrt_dim ? static_cast<float>(std::sqrt(static_cast<double>(width))) : 1.0F;
  const Tensor rows = with_batch(output);
  const std::int64_t per_task = std::max<std::int64_t>(1, kElementsPerTask / width);
  run.parallel_for((count + per_task - 1) / per_task, [&](std::int64_t task, int) noexcept {
    const std::int64_t end = std::min(count, (task + 1) * per_task);
    for (std::int64_t t = task * per_task; t < end; ++t) {
      const float* from = weight_.pointer(id_of(t), 0);
      float* to = rows.pointer(t / length, t % length, 0);
      const std::int64_t step = rows.stride(2);
      for (std::int64_t c = 0; c < width; ++c) to[c * step] = from[c] * factor;
    }
  });
}

}  // namespace attn
