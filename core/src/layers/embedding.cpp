#include "attn/layers/embedding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "elementwise.hpp"
#include "layers/packed_matrix.hpp"
#include "rows.hpp"
#include "runtime/execution.hpp"
#include "validation.hpp"

namespace attn {
Embedding::Embedding(const EmbeddingOptions& options) : options_(options) {
  validation::require_at_least("num_embeddings", options.num_embeddings, 1);
  validation::require_at_least("embedding_dim", options.embedding_dim, 1);
  if (options.padding_idx) {
    const std::int64_t index = *options.padding_idx;
    if (index < -options.num_embeddings || index >= options.num_embeddings) {
      validation::fail_value(
          "padding_idx", index,
          {"an index from ", -options.num_embeddings, " to ", options.num_embeddings - 1});
    }
  }
  const std::int64_t padding = padding_row();
  const auto shape = std::array{options.num_embeddings, options.embedding_dim};
  const Initialization normal =
      Initialization::normal(1, padding < 0 ? std::nullopt : std::optional(padding));
  if (options.weights.type == ElementType::kFloat32) {
    weight_ = add_parameter("weight", shape, normal);
  } else {
    packed_ = std::make_shared<PackedMatrix>(shape[0], shape[1], options.weights);
    add_kept_parameter("weight", shape, normal, make_keeper({packed_}));
  }
}

std::int64_t Embedding::padding_row() const noexcept {
  const std::int64_t row = options_.padding_idx.value_or(-1);
  return options_.padding_idx && row < 0 ? row + options_.num_embeddings : row;
}

float Embedding::factor() const noexcept {
  return options_.scale_by_sqrt_dim
             ? static_cast<float>(std::sqrt(static_cast<double>(options_.embedding_dim)))
             : 1.0F;
}

void Embedding::initialize_normal(const RandomStream& random, float deviation, Context& context) {
  const auto draw = [&](const Parameter& weight) {
    fill_normal(weight.values, random, 0, deviation, context);
    if (const std::int64_t row = padding_row(); row >= 0) {
      std::fill_n(weight.values.pointer(row, 0), options_.embedding_dim, 0.0F);
    }
  };
  update_parameters(draw, context);
}

void Embedding::forward(const IdView& ids, const AnyTensor& output, Context& context) const {
  const std::int64_t width = options_.embedding_dim;
  if (ids.rank() != 1 && ids.rank() != 2) {
    validation::fail_shape("ids", ids.shape(), {"rank 1 (N) or 2 (B, N)"});
  }
  if (ids.rank() == 1) {
    validation::require_shape("output", output.shape(), {ids.size(0), width});
  } else {
    validation::require_shape("output", output.shape(), {ids.size(0), ids.size(1), width});
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
      validation::fail_value("ids", id_of(t), {"an index from 0 to ", options_.num_embeddings - 1});
    }
  }

  runtime::Execution run(context);
  const float scale = factor();
  const AnyTensor rows = with_batch(output);
  const bool rounds = output.type() != ElementType::kFloat32;
  float* const unrounded =
      rounds ? run.floats(validation::product("output", {width, run.num_threads()}), "embedding")
             : nullptr;
  const std::int64_t per_task = std::max<std::int64_t>(1, kElementsPerTask / width);
  run.parallel_for(kernels::ceil_divide(count, per_task), [&](std::int64_t task,
                                                              int worker) noexcept {
    const std::int64_t end = std::min(count, (task + 1) * per_task);
    for (std::int64_t t = task * per_task; t < end; ++t) {
      const AnyTensor out = rows.select(0, t / length).slice(0, t % length, t % length + 1);
      const Tensor row = rounds ? Tensor(unrounded + worker * width, {1, width}) : out.as<float>();
      const std::int64_t step = row.stride(1);
      float* to = row.data();
      if (packed_) {
        packed_->unpack_block(row, id_of(t), 0);
        for (std::int64_t c = 0; c < width; ++c) to[c * step] *= scale;
      } else {
        const float* from = weight_.pointer(id_of(t), 0);
        for (std::int64_t c = 0; c < width; ++c) to[c * step] = from[c] * scale;
      }
      if (!rounds) continue;
      kernels::NarrowArgs args;
      args.rows = 1;
      args.cols = width;
      args.from = {to};
      args.type = out.type();
      args.to = out.data();
      args.to_col = out.stride(-1);
      run.kernels().narrow(args);
    }
  });
}

}  // namespace attn
