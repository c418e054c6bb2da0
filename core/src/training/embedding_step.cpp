#include <algorithm>

#include "attn/layers/embedding.hpp"
#include "layers/module_access.hpp"
#include "training/recording.hpp"
#include "validation.hpp"

namespace attn {
namespace {

using kernels::index;
using training::BackwardPass;
using training::Node;
using training::Recording;

/// Token positions grouped by id, in original order within each id (a counting sort).
struct Grouped {
  index* begin;   ///< (ids + 1): the index in `tokens` at which each id's tokens begin
  index* tokens;  ///< positions

  Grouped(const index* ids, index count, index num_ids, runtime::Execution& run)
      : begin(run.take<index>(validation::product("ids", {num_ids + 2}), "embedding")),
        tokens(run.take<index>(count, "embedding")) {
    // First, begin[id + 2] counts the tokens of an id. Then begin[id + 1] is the index in `tokens`
    // for the id's next token.
    std::fill_n(begin, num_ids + 2, index{0});
    for (index t = 0; t < count; ++t) {
      if (ids[t] >= 0) ++begin[ids[t] + 2];
    }
    for (index id = 2; id < num_ids + 2; ++id) begin[id] += begin[id - 1];
    for (index t = 0; t < count; ++t) {
      if (ids[t] >= 0) tokens[begin[ids[t] + 1]++] = t;
    }
  }
};

class EmbeddingStep final : public training::Step {
 public:
  EmbeddingStep(Node* table, const index* ids, index count, float factor)
      : table_(table), ids_(ids), count_(count), factor_(factor) {}

  void backward(BackwardPass& pass, const ConstTensor& output_gradient) override {
    pass.add_in_place(table_, [&](const Tensor& gradient, bool fresh) {
      const index num_ids = gradient.size(0), width = gradient.size(1);
      runtime::Execution run(pass.context());
      const Grouped grouped(ids_, count_, num_ids, run);
      const kernels::TrainingTable& kernels = pass.kernels();
      const index per_task = std::max<index>(1, kElementsPerTask / width);
      run.parallel_for(kernels::ceil_divide(num_ids, per_task), [&](index task, int) noexcept {
        for (index id = task * per_task; id < std::min(num_ids, (task + 1) * per_task); ++id) {
          kernels::ColumnSumsArgs args;
          args.rows = grouped.begin[id + 1] - grouped.begin[id];
          args.cols = width;
          args.x = output_gradient.data();
          args.x_row = width;
          args.which = grouped.tokens + grouped.begin[id];
          args.factor = factor_;
          args.more = !fresh;
          args.sums = gradient.pointer(id, 0);
          if (args.rows > 0) {
            kernels.column_sums(args);
          } else if (fresh) {
            std::fill_n(args.sums, width, 0.0F);
          }
        }
      });
    });
  }

 private:
  Node* table_;
  const index* ids_;  ///< id of each token; negative for padding
  index count_;
  float factor_;
};

}  // namespace

Variable Embedding::forward(Tape& tape, const IdView& ids) const {
  ModuleAccess::require_float32("weight", options_.weights.type);
  Recording record("Embedding", this, tape);
  const index width = options_.embedding_dim;
  const bool batched = ids.rank() == 2;
  const Tensor y = batched ? record.memory({ids.size(0), ids.size(1), width})
                           : record.memory({ids.rank() == 1 ? ids.size(0) : 0, width});
  forward(ids, y, record.context());
  const index length = ids.size(-1);
  const index count = batched ? ids.size(0) * length : length;
  auto* kept = record.take<index>(count);
  for (index t = 0; t < count; ++t) {
    const index id = batched ? ids(t / length, t % length) : ids(t);
    kept[t] = id == padding_row() ? -1 : id;
  }
  return record.finish(y, EmbeddingStep(record.parameter(*this, weight_), kept, count, factor()));
}

}  // namespace attn
